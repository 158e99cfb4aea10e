//! Seconds of one sweep on generated data with the shapes of the paper's two data sets.
//!
//! `cargo run --release -p absentia --example sweep_speed -- SHAPE K[,K…] Z THREADS SWEEPS SOLVER[,…]`
//! with SHAPE one of `yelp`, `amazon`, `small` and SOLVER one of `eals`, `subspace-N`, `als`, `als-cg`.
#![allow(clippy::print_stdout)]

use absentia::Dense;
use absentia::data::Interactions;
use absentia::fit::{Control, MemoryPlan, Observer, Run, Sweep, fit};
use absentia::weights::{Scheme, Strength};
use absentia::{Params, Solver};
use absentia_lab::generate::{Generator, GeneratorParams};

type Failure = Box<dyn std::error::Error>;

/// Processor seconds of all threads since the first sweep began: on a busy machine, what a sweep
/// would take alone. Zero where the system does not tell.
#[derive(Default)]
struct Processor {
    start: f64,
    now: f64,
}

impl Processor {
    fn seconds() -> f64 {
        let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
        let fields = stat.rsplit(')').next().unwrap_or_default();
        let ticks = fields.split_whitespace().nth(11);
        ticks.and_then(|ticks| ticks.parse().ok()).unwrap_or(0.0) / 100.0
    }
}

impl Observer for Processor {
    fn started(&mut self, _: &MemoryPlan) {
        self.start = Self::seconds();
    }

    fn swept(&mut self, _: &Sweep) -> Control {
        self.now = Self::seconds();
        Control::Continue
    }
}

fn solver(name: &str) -> Result<Solver, Failure> {
    Ok(match name {
        "eals" => Solver::Eals,
        "als" => Solver::Als,
        "als-cg" => Solver::AlsCg { steps: 3 },
        _ => Solver::Subspace {
            block: name
                .strip_prefix("subspace-")
                .ok_or("unknown solver")?
                .parse()?,
        },
    })
}

/// Popularity for rank one; otherwise positive numbers of the requested rank.
fn scheme(data: &Interactions<'_>, rank: usize) -> Scheme {
    if rank == 1 {
        return Scheme::popularity(Strength::Mean(0.05), 0.4);
    }
    let weights = |rows, step| {
        Dense::from_fn(rows, rank, |row, t| {
            0.01 + ((row * step + t) % 13) as f32 * 0.001
        })
    };
    Scheme::low_rank(weights(data.n_users(), 7), weights(data.n_items(), 5))
}

fn main() -> Result<(), Failure> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [shape, ks, rank, threads, sweeps, solvers] = &arguments[..] else {
        return Err("SHAPE K[,K…] Z THREADS SWEEPS SOLVER[,SOLVER…]".into());
    };
    let generated = match shape.as_str() {
        "yelp" => GeneratorParams::yelp_shape(),
        "amazon" => GeneratorParams::amazon_shape(),
        _ => GeneratorParams::new(2_000, 1_500, 60_000),
    };
    let data = Generator::new(generated)?.interactions()?;
    let (rank, threads): (usize, usize) = (rank.parse()?, threads.parse()?);
    let sweeps: usize = sweeps.parse()?;
    let scheme = scheme(&data, rank);
    for k in ks.split(',') {
        for name in solvers.split(',') {
            let params = Params::new()
                .factors(k.parse()?)
                .iterations(sweeps)
                .solver(solver(name)?)
                .threads(threads)
                .check()?;
            let mut processor = Processor::default();
            let run = Run {
                observer: Some(&mut processor),
                ..Run::default()
            };
            let fitted = fit(&data, &scheme, &params, run)?;
            let busy = (processor.now - processor.start) / sweeps as f64;
            let history = fitted.model.history();
            let best = history.iter().map(|sweep| sweep.seconds);
            let best = best.fold(f64::INFINITY, f64::min);
            let end = history.last().map_or(f64::NAN, |s| s.objective.total());
            println!(
                "{shape} {name} K={k} Z={rank} threads={threads}: {best:.4} s, \
                 {busy:.4} s of processor time, J = {end:.7e}"
            );
        }
    }
    Ok(())
}
