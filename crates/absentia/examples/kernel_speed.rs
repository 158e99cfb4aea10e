//! What share of the machine's peak each inner loop reaches, on one thread.
//!
//! `cargo run --release -p absentia --example kernel_speed -- [K[,K…]] [ROWS]`: one line per kernel
//! with its fused multiply-adds a second, their share of what registers alone reach, its bytes a
//! second and their share of what a large copy reaches; and what the entry part of `eals` takes
//! against its roofline. ROWS is the height of the fixed side that entries are gathered from.
#![allow(clippy::print_stdout)]

use std::time::{Duration, Instant};

use absentia::InstructionSet;
use absentia::internals::bench::{
    ENTRY_PART, KernelCase, LANE_ENTRIES, PACK_FMAS, STEP_FMAS, cases, copy, peak,
};

/// Seconds of one call, the best of several short runs.
fn seconds(case: &mut KernelCase) -> f64 {
    let mut calls = 1_u32;
    let mut best = f64::INFINITY;
    for _ in 0..12 {
        let start = Instant::now();
        for _ in 0..calls {
            case.run();
        }
        let took = start.elapsed();
        if took < Duration::from_millis(10) {
            calls = calls.saturating_mul(2);
        } else {
            best = best.min(took.as_secs_f64() / f64::from(calls));
        }
    }
    for _ in 0..8 {
        let start = Instant::now();
        for _ in 0..calls {
            case.run();
        }
        best = best.min(start.elapsed().as_secs_f64() / f64::from(calls));
    }
    best
}

/// What one entry takes in a half-sweep of `eals`, and the least it could take: its multiply-adds at
/// the rate of registers, or its row of the fixed side at the rate of a copy, whichever is more.
fn print_roofline(k: usize, took: f64, fma_peak: f64, copy_peak: f64) {
    let blocks = k.div_ceil(16);
    let (fmas, bytes) = (blocks * (PACK_FMAS + STEP_FMAS), 64 * blocks);
    let (arithmetic, memory) = (fmas as f64 / fma_peak, bytes as f64 / copy_peak);
    println!(
        "    {took:.1} ns an entry: {blocks} x ({PACK_FMAS} + {STEP_FMAS}) FMA take {arithmetic:.1} ns, \
         {bytes} bytes {memory:.1} ns; {:.2} x its roofline",
        took / arithmetic.max(memory)
    );
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let factors = arguments.next().unwrap_or_else(|| "64,128,256".to_owned());
    let rows = arguments.next().map_or(Ok(25_000), |rows| rows.parse())?;
    let (mut registers, mut memory) = (peak(), copy());
    let fma_peak = registers.fmas as f64 / seconds(&mut registers) / 1e9;
    let copy_peak = memory.bytes as f64 / seconds(&mut memory) / 1e9;
    println!(
        "{}: {fma_peak:.1} GFMA/s on registers, {copy_peak:.1} GB/s copied, one thread",
        InstructionSet::in_use()
    );
    println!("kernel                 K    GFMA/s  of peak    GB/s  of copy");
    for k in factors.split(',') {
        let k: usize = k.parse()?;
        for mut case in cases(k, rows) {
            let seconds = seconds(&mut case);
            let fma = case.fmas as f64 / seconds / 1e9;
            let bytes = case.bytes as f64 / seconds / 1e9;
            println!(
                "{:<18} {k:>5} {fma:>9.1} {:>7.0}% {bytes:>7.1} {:>7.0}%",
                case.name,
                100.0 * fma / fma_peak,
                100.0 * bytes / copy_peak
            );
            if case.name == ENTRY_PART {
                print_roofline(k, seconds / LANE_ENTRIES as f64 * 1e9, fma_peak, copy_peak);
            }
        }
    }
    Ok(())
}
