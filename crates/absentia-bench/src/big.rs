//! Data of any size, generated, built without holding triplets, and swept.

use std::time::Instant;

use absentia::fit::{MemoryPlan, Sizes};
use absentia::{Run, fit};
use absentia_lab::generate::{ExposureModel, Generator, GeneratorParams};
use anyhow::{Context, Result};
use serde::Serialize;

use crate::process;
use crate::request::{Answer, BigAnswer, Request, Task};
use crate::runner::Runner;
use crate::worker::{Seconds, settings};

/// Latent dimension of all sizes.
const FACTORS: usize = 32;

/// What one size took.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct BigRow {
    #[serde(flatten)]
    pub(crate) built: BigAnswer,
    /// Best of the sweeps.
    pub(crate) sweep_seconds: f64,
    pub(crate) peak_bytes: u64,
}

/// Measures every size in a process of its own.
pub(crate) fn run(runner: &Runner, sizes: &[u64], iterations: usize) -> Result<Vec<BigRow>> {
    let mut rows = Vec::new();
    for &entries in sizes {
        eprintln!("big: {entries} entries");
        let request = Request {
            entries,
            solver: "eals".to_owned(),
            factors: FACTORS,
            iterations,
            ..Request::new(Task::Big, "absentia", runner.threads)
        };
        let answer = runner.run(&request)?;
        rows.push(BigRow {
            sweep_seconds: answer.best(),
            peak_bytes: answer.own_bytes(),
            built: answer.big.context("no answer about size")?,
        });
    }
    Ok(rows)
}

/// Shape of generated data with this many entries: 100 for each user, 1000 for each item.
///
/// Nearly everything shown is liked: a popularity law and a law of activity are what speed and
/// memory depend on, and taste only makes the generator draw more often than it keeps.
fn shape(entries: u64) -> GeneratorParams {
    let (users, items) = ((entries / 100).max(1), (entries / 1000).max(1));
    GeneratorParams {
        rank: 1,
        like_rate: 0.9,
        taste: 0.0,
        noise: 0.0,
        exposure: ExposureModel::Popularity,
        ..GeneratorParams::new(users as usize, items as usize, entries)
    }
}

/// Builds and sweeps data of one size.
pub(crate) fn measure(request: &Request) -> Result<Answer> {
    let (scheme, params) = settings(request)?;
    let shape = shape(request.entries);
    let (users, items) = (shape.users, shape.items);
    let sizes = Sizes {
        feature_rows: 0,
        users,
        items,
        entries: request.entries as usize,
        longest_row: request.entries as usize / items.max(1),
        // Indices of both orientations, and where their rows start.
        data: 8 * request.entries + 8 * (users + items + 2) as u64,
        vary: (false, false),
        exposed: false,
        rank: 1,
        rank_to_estimate: 0,
        orders_times: false,
        keeps_best: false,
        neighbours: 0,
    };
    let estimate_bytes = MemoryPlan::new(&sizes, &params).total();
    let start = Instant::now();
    let data = Generator::new(shape)?.interactions()?;
    let build_seconds = start.elapsed().as_secs_f64();
    let processor = process::processor_seconds();
    eprintln!("built in {build_seconds:.1} s, {processor:.1} s of processor time");
    let mut seconds = Seconds {
        printed: true,
        ..Seconds::default()
    };
    let run = Run {
        observer: Some(&mut seconds),
        ..Run::default()
    };
    fit(&data, &scheme, &params.check()?, run)?;
    Ok(Answer {
        seconds: seconds.all,
        big: Some(BigAnswer {
            users,
            items,
            entries: data.len() as u64,
            factors: request.factors,
            build_seconds,
            estimate_bytes,
        }),
        ..Answer::default()
    })
}
