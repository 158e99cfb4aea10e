//! What no sweep through `fit` shows: how much of a sweep goes into the objective, and how the entries
//! of one very long row are shared among threads.
//!
//! `cargo run --release -p absentia --example backend_speed`
#![allow(clippy::print_stdout)]

use std::time::Instant;

use absentia::Dense;
use absentia::data::{Duplicates, Interactions, Triplets};
use absentia::fit::Cancel;
use absentia::fit::backend::{Backend, Cpu, CpuBackend, Device, Precision, Problem, ProblemParts};
use absentia::weights::Scheme;
use absentia::{Axis, Params, Sides, Solver};
use absentia_lab::generate::{Generator, GeneratorParams as Generated};

type Failure = Box<dyn std::error::Error>;

fn problem<'a>(data: &Interactions<'a>, params: &Params) -> Result<Problem<'a>, Failure> {
    let transform = data.freeze(params.targets, params.confidence)?;
    let data = data.apply(&transform)?;
    Ok(Problem::new(ProblemParts {
        weights: Scheme::uniform(0.01).resolve(&data)?,
        data,
        transform,
        dense: None,
        params: params.clone(),
    })?)
}

fn backend<'p>(problem: &'p Problem<'p>, solver: Solver) -> CpuBackend<'p> {
    let factors = problem.params().factors;
    let start = Sides::from_fn(|axis| {
        let rows = problem.entries(axis).rows();
        let value = |row: usize, f: usize| 0.01 * ((row * 31 + f * 17) % 13) as f32 - 0.06;
        Dense::from_fn(rows, factors, value).into_padded()
    });
    let mut backend = Cpu.backend(problem, solver, start);
    // The processor does not fail.
    let _ = backend.sum_caches(Axis::Item);
    backend
}

/// Seconds of a sweep on one thread, with its objective or without: the best of many, because noise only
/// ever adds.
fn objective_share() -> Result<(), Failure> {
    let data = Generator::new(Generated::new(1_500, 1_200, 40_000))?.interactions()?;
    let problem = problem(&data, &Params::new())?;
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build()?;
    let mut backend = pool.install(|| backend(&problem, Solver::Eals));
    let mut best = [f64::INFINITY; 2];
    for round in 0..200 {
        let measured = round % 2 == 1;
        let start = Instant::now();
        for axis in [Axis::User, Axis::Item] {
            let measured = measured && axis == Axis::Item;
            let made = pool.install(|| backend.half_sweep(axis, measured, &Cancel::new()));
            made.map_err(|halt| format!("{halt:?}"))?;
            let summed = pool.install(|| backend.sum_caches(axis));
            summed.map_err(|halt| format!("{halt:?}"))?;
        }
        if measured {
            let sums = pool.install(|| backend.objective_sums(Precision::Fast));
            sums.map_err(|halt| format!("{halt:?}"))?;
        }
        let seconds = start.elapsed().as_secs_f64();
        best[usize::from(measured)] = best[usize::from(measured)].min(seconds);
    }
    let [without, with] = best;
    let share = 100.0 * (with / without - 1.0);
    println!("a sweep takes {without:.5} s, {with:.5} s with its objective: {share:.1} % more");
    Ok(())
}

/// Nanoseconds that the calling thread has been on a processor, where the system says so.
fn time_on_processor() -> u64 {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let first = text.split_whitespace().next();
    first.and_then(|text| text.parse().ok()).unwrap_or(0)
}

/// Processor time of two threads while they solve a single user with 200,000 entries.
fn long_row_shares() -> Result<(), Failure> {
    let (users, items): (Vec<u32>, Vec<u32>) = (0..200_000).map(|item| (0, item)).unzip();
    let data = Triplets::new(&users, &items).build(1, 200_000, Duplicates::Error)?;
    for solver in [
        Solver::Eals,
        Solver::Subspace { block: 16 },
        Solver::Als,
        Solver::AlsCg { steps: 3 },
    ] {
        let problem = problem(&data, &Params::new().factors(32).solver(solver))?;
        let pool = rayon::ThreadPoolBuilder::new().num_threads(2).build()?;
        let mut backend = pool.install(|| backend(&problem, solver));
        let before = pool.broadcast(|_| time_on_processor());
        for _ in 0..20 {
            pool.install(|| backend.half_sweep(Axis::User, false, &Cancel::new()))
                .map_err(|halt| format!("{halt:?}"))?;
        }
        let after = pool.broadcast(|_| time_on_processor());
        let taken: Vec<u64> = after.iter().zip(before).map(|(a, b)| a - b).collect();
        println!("{solver:?}: two threads were busy for {taken:?} ns");
    }
    Ok(())
}

fn main() -> Result<(), Failure> {
    objective_share()?;
    long_row_shares()
}
