//! What relations cost: a sweep beside that of a plain run on the stacked matrix of the same rank, and what features
//! add to a sweep beside the matrix products that they are.
//!
//! `cargo run --release -p absentia --example relations_speed [K] [COLUMNS] [ROUNDS]`, on one thread, in seconds of the
//! processor, the least of several rounds. The data is generated in the shape of `CiteULike` with its tags.
#![allow(clippy::print_stdout)]

use absentia::data::{Confidence, Duplicates, Interactions, Targets, Triplets};
use absentia::fit::backend::Cpu;
use absentia::fit::{Control, MemoryPlan, Observer, Run, Sweep, fit, fit_related};
use absentia::relations::{
    Arrangement, Content, Features, Relation, RelationEntries, Relations, Scaling, TypePair,
};
use absentia::weights::Scheme;
use absentia::{CheckedParams, Dense, Params, Solver};

type Failure = Box<dyn std::error::Error>;

const USERS: usize = 5_551;
const ITEMS: usize = 16_980;
const TAGS: usize = 7_386;
const ROWS: usize = 204_986;
const TAGGED: usize = 181_665;
const SWEEPS: usize = 6;

/// Processor seconds of a sweep, without the first.
#[derive(Default)]
struct Seconds {
    first: f64,
    now: f64,
    sweeps: usize,
}

impl Seconds {
    fn of_sweep(&self) -> f64 {
        (self.now - self.first) / (self.sweeps - 1) as f64
    }
}

/// Processor seconds of the process, in hundredths; 0 where the system does not tell.
fn processor() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let fields = stat.rsplit(')').next().unwrap_or_default();
    let ticks = fields.split_whitespace().nth(11);
    ticks.and_then(|ticks| ticks.parse().ok()).unwrap_or(0.0) / 100.0
}

impl Observer for Seconds {
    fn started(&mut self, _: &MemoryPlan) {}

    fn swept(&mut self, _: &Sweep) -> Control {
        self.now = processor();
        if self.sweeps == 0 {
            self.first = self.now;
        }
        self.sweeps += 1;
        Control::Continue
    }
}

/// Pairs of which some rows and columns have many, the same at every run.
fn pairs(rows: usize, columns: usize, n: usize, mut state: u64) -> Vec<(u32, u32)> {
    let mut unit = || {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as f64 / (1_u64 << 31) as f64
    };
    let mut place = |size: usize| ((unit().powi(2)) * size as f64) as u32;
    let mut found: Vec<(u32, u32)> = (0..n).map(|_| (place(rows), place(columns))).collect();
    found.sort_unstable();
    found.dedup();
    found
}

fn matrix(pairs: &[(u32, u32)], shape: (usize, usize)) -> Result<Interactions<'static>, Failure> {
    let (rows, columns): (Vec<u32>, Vec<u32>) = pairs.iter().copied().unzip();
    let triplets = Triplets::new(&rows, &columns);
    Ok(triplets.build(shape.0, shape.1, Duplicates::Error)?)
}

/// The same matrix with tags as further rows, and weights of rank two that are those of each block.
fn stacked(
    main: &[(u32, u32)],
    tags: &[(u32, u32)],
    strength: f32,
) -> Result<(Interactions<'static>, Scheme), Failure> {
    let below = tags.iter().map(|&(item, tag)| (USERS as u32 + tag, item));
    let (rows, columns): (Vec<u32>, Vec<u32>) = main.iter().copied().chain(below).unzip();
    let weight = |at: usize| if at < main.len() { 1.0 } else { strength };
    let weights: Vec<f32> = (0..rows.len()).map(weight).collect();
    let values = vec![1.0; rows.len()];
    let triplets = Triplets::new(&rows, &columns);
    let triplets = triplets.values(&values).weights(&weights);
    let data = triplets.build(USERS + TAGS, ITEMS, Duplicates::Error)?;
    let a = Dense::from_fn(USERS + TAGS, 2, |row, t| match (row < USERS, t) {
        (true, 0) => 0.02,
        (false, 1) => 0.02 * strength,
        _ => 0.0,
    });
    let b = Dense::from_fn(ITEMS, 2, |_, _| 1.0);
    Ok((data, Scheme::low_rank(a, b)))
}

fn relations(
    content: Content<'static>,
    second: &str,
    count: usize,
) -> Result<Relations<'static>, Failure> {
    let types = TypePair {
        first: "items".to_owned(),
        second: second.to_owned(),
        context: false,
    };
    let mut entities = Arrangement::of(&[types])?.entities;
    for (entity, count) in entities.iter_mut().zip([USERS, ITEMS, count]) {
        entity.count = count;
    }
    Ok(Relations {
        entities,
        relations: vec![Relation {
            first: 1,
            second: 2,
            content,
            strength: 0.5,
        }],
        weighs_empty: true,
    })
}

/// Processor seconds of a sweep.
fn measure(
    main: (&Interactions<'_>, &Scheme),
    relations: Option<&Relations<'_>>,
    params: &CheckedParams,
) -> Result<f64, Failure> {
    let mut seconds = Seconds::default();
    let run = Run {
        observer: Some(&mut seconds),
        ..Run::default()
    };
    match relations {
        Some(_) => fit_related(&Cpu, main, relations, params, run)?,
        None => fit(main.0, main.1, params, run)?,
    };
    Ok(seconds.of_sweep())
}

/// Processor seconds of the two matrix products of a sweep, X Y and Xᵀ Q, by a library made for such products.
fn products(columns: usize, k: usize) -> f64 {
    let x = faer::Mat::<f32>::from_fn(ITEMS, columns, |i, j| ((i * 7 + j * 3) % 11) as f32);
    let y = faer::Mat::<f32>::from_fn(columns, k, |i, j| ((i + j * 5) % 7) as f32);
    let q = faer::Mat::<f32>::from_fn(ITEMS, k, |i, j| ((i * 3 + j) % 5) as f32);
    let rounds = 10;
    let started = processor();
    let mut sum = 0.0;
    for _ in 0..rounds {
        let (xy, xq) = (&x * &y, x.transpose() * &q);
        sum += xy[(0, 0)] + xq[(0, 0)];
    }
    std::hint::black_box(sum);
    (processor() - started) / f64::from(rounds)
}

fn main() -> Result<(), Failure> {
    faer::set_global_parallelism(faer::Par::Seq);
    let numbers: Result<Vec<usize>, _> = std::env::args().skip(1).map(|x| x.parse()).collect();
    let numbers = numbers?;
    let k = numbers.first().copied().unwrap_or(128);
    let columns = numbers.get(1).copied().unwrap_or(256);
    let rounds = numbers.get(2).copied().unwrap_or(3);
    let (main, tags) = (pairs(USERS, ITEMS, ROWS, 1), pairs(ITEMS, TAGS, TAGGED, 2));
    let data = matrix(&main, (USERS, ITEMS))?;
    let uniform = Scheme::uniform(0.02);
    let tagged = relations(
        Content::Entries(Box::new(RelationEntries {
            data: matrix(&tags, (ITEMS, TAGS))?,
            scheme: Scheme::uniform(0.02),
            targets: Targets::Binary,
            confidence: Confidence::default(),
        })),
        "tags",
        TAGS,
    )?;
    let numbers = Dense::from_fn(ITEMS, columns, |row, column| {
        ((row * 31 + column * 17) % 101) as f32
    });
    let features = Features::new(&numbers, vec![true; ITEMS], Scaling::Together)?;
    let described = relations(Content::Features(features), "vectors", columns)?;
    let (all, low_rank) = stacked(&main, &tags, 0.5)?;
    println!(
        "K = {k}, {columns} columns of features; processor milliseconds of a sweep, least of {rounds} rounds"
    );
    for solver in [Solver::Eals, Solver::Subspace { block: 16 }, Solver::Als] {
        let params = Params::new()
            .factors(k)
            .iterations(SWEEPS)
            .regularization(0.01);
        let params = params.threads(1).solver(solver);
        let raw = params
            .clone()
            .targets(Targets::Raw)
            .confidence(Confidence::Column);
        let (params, raw) = (params.check()?, raw.check()?);
        let mut least = [f64::INFINITY; 5];
        for _ in 0..rounds {
            let measured = [
                measure((&data, &uniform), None, &params)?,
                measure((&data, &uniform), Some(&tagged), &params)?,
                measure((&all, &low_rank), None, &raw)?,
                measure((&data, &uniform), Some(&described), &params)?,
                products(columns, k),
            ];
            for (least, seconds) in least.iter_mut().zip(measured) {
                *least = least.min(seconds);
            }
        }
        let [plain, related, stacked, dense, products] = least.map(|seconds| 1e3 * seconds);
        println!(
            "{solver:?}: without relations {plain:.0}; with tags {related:.0}, stacked by hand {stacked:.0}: ratio {:.3}; \
             features add {:.1}, their products take {products:.1}: ratio {:.2}",
            related / stacked,
            dense - plain,
            (dense - plain) / products
        );
    }
    Ok(())
}
