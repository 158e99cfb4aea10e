//! How long it takes to rank 41,000 items for 30,000 users: `cargo xtask bench ranking`.
#![allow(clippy::print_stdout)]

use std::time::Instant;

use absentia::evaluate::{FactorScorer, ItemLists, RankRequest, rank};
use absentia::linalg::Dense;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let (users, items, k) = (30_000, 41_000, 128);
    let value = |row: usize, col: usize| ((row * 131 + col * 71) as f64).sin() as f32;
    let p = Dense::from_fn(users, k, value);
    let q = Dense::from_fn(items, k, |row, col| value(row + 7_777, col));
    let scorer = FactorScorer::new(&p, &q)?;
    let seen: ItemLists = (0..users as u32)
        .map(|user| (0..27).map(|at| (user * 17 + at * 997) % 41_000).collect())
        .collect();
    let all: Vec<u32> = (0..users as u32).collect();
    let request = RankRequest {
        users: &all,
        top: 20,
        exclude: Some(&seen),
        ..RankRequest::default()
    };
    let start = Instant::now();
    let rankings = rank(&scorer, &request)?;
    let bulk = start.elapsed();
    let start = Instant::now();
    let one = RankRequest {
        users: &all[5..6],
        ..request
    };
    assert_eq!(rank(&scorer, &one)?[0], rankings[5]);
    println!(
        "top 20 of {users} × {items}, K = {k}: {bulk:.2?}; one user: {:.2?}",
        start.elapsed()
    );
    Ok(())
}
