//! Reads a file, maps its ids and builds the matrix; prints seconds and peak memory per entry.
//!
//! `cargo xtask bench reading` runs it on ten million generated rows.
#![allow(clippy::print_stdout)]

use std::path::PathBuf;
use std::time::Instant;

use absentia::data::{Duplicates, Triplets};
use absentia_io::{NoProgress, ReadOptions, read};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let path = PathBuf::from(std::env::args().nth(1).ok_or("usage: read_speed FILE")?);
    let before = peak_memory();
    let start = Instant::now();
    let data = read(&[path], &ReadOptions::default(), &NoProgress)?;
    let reading = start.elapsed().as_secs_f64();
    let rows = data.user.len();
    let mut triplets = Triplets::new(&data.user, &data.item);
    if let Some(values) = &data.value {
        triplets = triplets.values(values);
    }
    let matrix = triplets.build(data.users.len(), data.items.len(), Duplicates::Last)?;
    let total = start.elapsed().as_secs_f64();
    println!(
        "{rows} rows, {} users, {} items, {} entries",
        data.users.len(),
        data.items.len(),
        matrix.len()
    );
    println!("read and mapped in {reading:.2} s, with the matrix built in {total:.2} s");
    match (before, peak_memory()) {
        (Some(before), Some(peak)) => {
            println!(
                "peak memory {:.1} bytes a row above the start",
                (peak - before) as f64 / rows as f64
            );
        }
        _ => println!("peak memory is not known on this system"),
    }
    Ok(())
}

/// Largest resident size of this process so far, in bytes (Linux).
fn peak_memory() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:"))?;
    let kilobytes: u64 = line.split_whitespace().nth(1)?.parse().ok()?;
    Some(kilobytes * 1024)
}
