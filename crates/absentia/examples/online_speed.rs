//! How many events a second an online model learns, beside the seconds of a half-sweep, and by how much
//! its memory grows.
//!
//! `cargo run --release -p absentia --example online_speed [TRAIN.tsv.gz] [K]`, with two threads. Without a
//! file it takes Gowalla's training rows if they are beside the repository, and generated rows of that
//! shape otherwise.
#![allow(clippy::print_stdout)]

use std::io::Read;
use std::time::Instant;

use absentia::data::{Duplicates, Interactions, Triplets};
use absentia::fit::backend::{Backend, Cpu, Device, Problem, ProblemParts};
use absentia::fit::{Cancel, Run, fit};
use absentia::online::{Event, Online, Operation, Options, Settings, WeightMode};
use absentia::weights::{Scheme, Strength};
use absentia::{Axis, Model, Params, Sides, Solver};
use absentia_lab::generate::{Generator, GeneratorParams};

type Failure = Box<dyn std::error::Error>;

/// Events that are taken out of the rows and learned.
const EVENTS: usize = 20_000;
/// Half-sweeps that are measured.
const SWEEPS: usize = 5;

fn pairs(path: Option<&str>) -> Result<Vec<(u32, u32)>, Failure> {
    let beside = absentia_testing::shared_data("gowalla-lightgcn/train.tsv.gz");
    let Some(path) = path.map(Into::into).or(beside) else {
        println!("generated rows of the shape of Gowalla");
        let generator = Generator::new(GeneratorParams::new(29_858, 40_981, 810_128))?;
        let liked = (0..29_858).map(|user| (user, generator.user(user).feedback().liked));
        let pairs = liked.flat_map(|(user, items)| items.into_iter().map(move |item| (user, item)));
        return Ok(pairs.collect());
    };
    let mut text = String::new();
    flate2::read::GzDecoder::new(std::fs::File::open(path)?).read_to_string(&mut text)?;
    let mut pairs = Vec::new();
    for line in text.lines() {
        let mut words = line.split('\t').map(str::parse);
        if let (Some(user), Some(item)) = (words.next(), words.next()) {
            pairs.push((user?, item?));
        }
    }
    Ok(pairs)
}

/// Users and items of interactions.
type Pairs = Vec<(u32, u32)>;

/// Takes pairs out of the rows, evenly, in an order that has nothing to do with theirs.
fn divided(mut pairs: Pairs) -> (Pairs, Pairs) {
    let mut state = 1_u64;
    let mut stream = Vec::with_capacity(EVENTS);
    while stream.len() < EVENTS && pairs.len() > 1 {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        let at = (state >> 33) as usize % pairs.len();
        stream.push(pairs.swap_remove(at));
    }
    (pairs, stream)
}

/// Seconds that passed, and seconds that all threads of the process spent on processors meanwhile, where the
/// system tells: on a machine that does other work as well, the first are longer than they would be.
#[derive(Clone, Copy)]
struct Spent {
    passed: f64,
    on_processors: Option<f64>,
}

/// Seconds on processors since the process began, in hundredths.
fn on_processors() -> Option<f64> {
    let text = std::fs::read_to_string("/proc/self/stat").ok()?;
    // The name of the program, in brackets, may have spaces.
    let fields: Vec<&str> = text.rsplit_once(')')?.1.split_whitespace().collect();
    let ticks: f64 = fields.get(11)?.parse::<f64>().ok()? + fields.get(12)?.parse::<f64>().ok()?;
    Some(ticks / 100.0)
}

fn measured<T>(work: impl FnOnce() -> Result<T, Failure>) -> Result<Spent, Failure> {
    let (before, start) = (on_processors(), Instant::now());
    work()?;
    let passed = start.elapsed().as_secs_f64();
    let after = on_processors();
    Ok(Spent {
        passed,
        on_processors: before.zip(after).map(|(before, after)| after - before),
    })
}

/// The fastest half-sweep, and the mean time of one on processors.
fn half_sweep(model: &Model, rows: &Interactions<'_>) -> Result<Spent, Failure> {
    let params = model.params().clone();
    let problem = Problem::new(ProblemParts {
        data: rows.apply(&model.parts().transform)?,
        transform: model.parts().transform,
        weights: model.weights().clone(),
        dense: None,
        params,
    })?;
    let start = Sides {
        users: model.user_factors().to_padded(),
        items: model.item_factors().to_padded(),
    };
    let pool = rayon::ThreadPoolBuilder::new().num_threads(2).build()?;
    let mut backend = pool.install(|| Cpu.backend(&problem, Solver::Eals, start));
    let mut best = f64::INFINITY;
    let all = measured(|| {
        for _ in 0..SWEEPS {
            let start = Instant::now();
            pool.install(|| {
                backend.sum_caches(Axis::Item)?;
                backend.half_sweep(Axis::User, false, &Cancel::new())
            })
            .map_err(|halt| format!("{halt:?}"))?;
            best = best.min(start.elapsed().as_secs_f64());
        }
        Ok(())
    })?;
    Ok(Spent {
        passed: best,
        on_processors: all.on_processors.map(|seconds| seconds / SWEEPS as f64),
    })
}

fn learn(online: &mut Online, stream: &[(u32, u32)]) -> Result<Spent, Failure> {
    measured(|| {
        for &(user, item) in stream {
            online.apply(&Operation::Insert(Event::new(user, item)))?;
        }
        Ok(())
    })
}

fn main() -> Result<(), Failure> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let path = words.iter().find(|word| word.parse::<usize>().is_err());
    let factors = words
        .iter()
        .find_map(|word| word.parse().ok())
        .unwrap_or(128);
    let (rest, stream) = divided(pairs(path.map(String::as_str))?);
    let (users, items): (Vec<u32>, Vec<u32>) = rest.iter().copied().unzip();
    let most = |of: fn(&(u32, u32)) -> u32| rest.iter().chain(&stream).map(of).max().unwrap_or(0);
    let shape = (
        most(|pair| pair.0) as usize + 1,
        most(|pair| pair.1) as usize + 1,
    );
    let rows = Triplets::new(&users, &items).build(shape.0, shape.1, Duplicates::Last)?;
    let scheme = Scheme::popularity(Strength::Mean(0.1), 0.4);
    let params = Params::new()
        .factors(factors)
        .iterations(3)
        .threads(2)
        .check()?;
    let model = fit(&rows, &scheme, &params, Run::default())?.model;
    println!(
        "{} × {}, {} rows, K = {factors}",
        shape.0,
        shape.1,
        rows.len()
    );

    let half_sweep = half_sweep(&model, &rows)?;
    println!(
        "a half-sweep takes {:.1} ms with two threads{}",
        1e3 * half_sweep.passed,
        match half_sweep.on_processors {
            Some(seconds) => format!(", {:.1} ms of processors", 1e3 * seconds),
            None => String::new(),
        }
    );
    for (mode, steps) in [
        (WeightMode::Frozen, 0),
        (WeightMode::Frozen, 1),
        (WeightMode::Live, 1),
        (WeightMode::Frozen, 3),
    ] {
        let options = Options {
            scheme: Some(scheme.clone()),
            weights: mode,
            settings: Settings {
                steps,
                ..Settings::default()
            },
            ..Options::default()
        };
        let mut online = Online::new(&model, &rows, options)?;
        let (before, lengths) = (online.bytes(), mean_lengths(&online, &stream));
        let spent = learn(&mut online, &stream)?;
        let rate = |seconds: f64, sweep: f64| {
            format!(
                "{:.0} inserts a second, {:.1} µs each ({:.0} of them in a half-sweep)",
                EVENTS as f64 / seconds,
                1e6 * seconds / EVENTS as f64,
                sweep * EVENTS as f64 / seconds
            )
        };
        println!(
            "{mode:?} weights, {steps} steps: {}; rows of {:.0} and {:.0} entries, {:.1} bytes more an insert",
            rate(spent.passed, half_sweep.passed),
            lengths[0],
            lengths[1],
            (online.bytes() - before) as f64 / EVENTS as f64,
        );
        if let Some((own, sweep)) = spent.on_processors.zip(half_sweep.on_processors) {
            // An insert takes one thread, and a half-sweep two.
            println!("  by time on a processor: {}", rate(own, sweep / 2.0));
        }
    }
    Ok(())
}

/// Mean number of entries of the rows of an event.
fn mean_lengths(online: &Online, stream: &[(u32, u32)]) -> [f64; 2] {
    let mean = |axis: Axis, of: fn(&(u32, u32)) -> u32| {
        let lengths = stream
            .iter()
            .map(|pair| online.columns(axis, of(pair)).len());
        lengths.sum::<usize>() as f64 / stream.len().max(1) as f64
    };
    [
        mean(Axis::User, |pair| pair.0),
        mean(Axis::Item, |pair| pair.1),
    ]
}
