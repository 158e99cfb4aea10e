//! Formats that are matrices: MatrixMarket, scipy npz and adjacency lists.

use std::io::{self, Write};
use std::path::Path;

use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipWriter};

use super::sink::Sink;
use crate::atomic::AtomicFile;
use crate::dataset::Dataset;
use crate::error::{Error, shorten};
use crate::format::Format;
use crate::npy;

/// Writes coordinates in file order, counted from 1.
pub(super) fn write_market(data: &Dataset, sink: Sink) -> Result<(), Error> {
    let field = if data.value.is_some() {
        "real"
    } else {
        "pattern"
    };
    sink.fill(|out| {
        writeln!(out, "%%MatrixMarket matrix coordinate {field} general")?;
        writeln!(
            out,
            "{} {} {}",
            data.users.len(),
            data.items.len(),
            data.len()
        )?;
        for row in 0..data.len() {
            write!(
                out,
                "{} {}",
                u64::from(data.user[row]) + 1,
                u64::from(data.item[row]) + 1
            )?;
            match &data.value {
                Some(value) => writeln!(out, " {}", value[row])?,
                None => writeln!(out)?,
            }
        }
        Ok(())
    })
}

/// Writes every user with its items, users in row order; those without items too.
pub(super) fn write_adjacency(data: &Dataset, sink: Sink) -> Result<(), Error> {
    check_names(data)?;
    let (starts, order) = rows_by_user(data);
    sink.fill(|out| {
        for (user, id) in data.users.iter().enumerate() {
            out.write_all(id.as_bytes())?;
            for &row in &order[starts[user]..starts[user + 1]] {
                write!(
                    out,
                    " {}",
                    data.items.name(data.item[row as usize]).unwrap_or_default()
                )?;
            }
            out.write_all(b"\n")?;
        }
        Ok(())
    })
}

fn check_names(data: &Dataset) -> Result<(), Error> {
    let cut = |id: &str| id.bytes().any(|b| b.is_ascii_whitespace()) || id.starts_with('\u{feff}');
    match data
        .users
        .iter()
        .chain(data.items.iter())
        .find(|id| cut(id))
    {
        None => Ok(()),
        Some(id) => {
            let what = format!(
                "the id \"{}\", which has blanks or a byte-order mark in it",
                shorten(id.as_bytes())
            );
            Err(Error::Unrepresentable {
                format: Format::Adjacency,
                what,
            })
        }
    }
}

/// Writes CSR as scipy does; a data set without ratings becomes a matrix of truth values.
pub(super) fn write_npz(data: &Dataset, path: &Path) -> Result<(), Error> {
    let mut file = AtomicFile::create(path)?;
    write_archive(data, &mut file).map_err(Error::io(path))?;
    file.commit()
}

fn write_archive(data: &Dataset, file: &mut AtomicFile) -> io::Result<()> {
    let (starts, order) = rows_by_user(data);
    let starts: Vec<i64> = starts.into_iter().map(signed).collect();
    let items: Vec<i64> = order
        .iter()
        .map(|&row| i64::from(data.item[row as usize]))
        .collect();
    let mut archive = ZipWriter::new(file);
    let options = SimpleFileOptions::default()
        .compression_method(CompressionMethod::Deflated)
        .large_file(true);
    let mut entry =
        |name: &str, write: &dyn Fn(&mut Vec<u8>) -> io::Result<()>| -> io::Result<()> {
            let mut bytes = Vec::new();
            write(&mut bytes)?;
            archive.start_file(format!("{name}.npy"), options)?;
            archive.write_all(&bytes)
        };
    entry("indices", &|out| npy::write(out, &[items.len()], &items))?;
    entry("indptr", &|out| npy::write(out, &[starts.len()], &starts))?;
    entry("format", &|out| npy::write_bytes(out, b"csr"))?;
    let shape = [signed(data.users.len()), signed(data.items.len())];
    entry("shape", &|out| npy::write(out, &[2], &shape))?;
    entry("data", &|out| match &data.value {
        Some(value) => {
            let value: Vec<f32> = order.iter().map(|&row| value[row as usize]).collect();
            npy::write(out, &[value.len()], &value)
        }
        None => npy::write(out, &[data.len()], &vec![true; data.len()]),
    })?;
    archive.finish()?;
    Ok(())
}

/// scipy wants signed indices.
fn signed(count: usize) -> i64 {
    (count as u64).cast_signed()
}

/// Where each user's rows start, and all rows by user, in file order within each.
fn rows_by_user(data: &Dataset) -> (Vec<usize>, Vec<u32>) {
    let mut starts = vec![0; data.users.len() + 1];
    for &user in &data.user {
        starts[user as usize + 1] += 1;
    }
    for user in 0..data.users.len() {
        starts[user + 1] += starts[user];
    }
    let mut next = starts.clone();
    let mut order = vec![0; data.len()];
    for (row, &user) in (0_u32..).zip(&data.user) {
        order[next[user as usize]] = row;
        next[user as usize] += 1;
    }
    (starts, order)
}
