//! Recommending to all users at once, against `implicit`'s batch call on the same factors.

use std::path::Path;

use anyhow::{Result, ensure};
use serde::Serialize;

use crate::arrays;
use crate::contender::{Contender, contender, eals};
use crate::data::Matrix;
use crate::options::Options;
use crate::peak;
use crate::request::{Request, Task};
use crate::runner::Runner;

/// Latent dimension.
const FACTORS: usize = 128;

/// Seconds of recommending 20 unseen items to everyone.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Ranking {
    pub(crate) matrix: Matrix,
    pub(crate) factors: usize,
    pub(crate) ours: f64,
    pub(crate) implicit: Option<f64>,
    /// Share of recommendations in which both agree.
    pub(crate) agreement: Option<f64>,
    /// Fused multiply-adds a second of a large matrix product.
    pub(crate) peak: Option<f64>,
    /// Seconds that all scores would take at the peak.
    pub(crate) floor: Option<f64>,
}

/// Measures both once a round.
pub(crate) fn measure(
    runner: &Runner,
    options: &Options,
    matrix: &Matrix,
    folder: &Path,
) -> Result<Ranking> {
    std::fs::create_dir_all(folder)?;
    let request = |contender: &Contender| Request {
        data: matrix.folder.clone(),
        items: matrix.items,
        factors: FACTORS,
        iterations: 3,
        out: Some(folder.to_owned()),
        ..contender.request(Task::Recommend, runner.threads)
    };
    let (mut ours, mut implicit, mut peak) = (f64::INFINITY, None, None);
    let peer = contender("implicit", "cg", 0);
    for round in 0..options.rounds {
        ours = ours.min(runner.run(&request(&eals()))?.best());
        eprintln!(
            "recommend for all, round {}: absentia {ours:.3} s",
            round + 1
        );
        if runner.has(peer.package) {
            implicit = Some(least(implicit, runner.run(&request(&peer))?.best()));
        }
        peak = peak::higher(peak, peak::measure(runner)?);
    }
    let work = (matrix.users * matrix.items * FACTORS) as f64;
    Ok(Ranking {
        matrix: matrix.clone(),
        factors: FACTORS,
        ours,
        implicit,
        agreement: implicit.map(|_| agreement(folder)).transpose()?,
        peak,
        floor: peak.map(|peak| work / peak),
    })
}

fn least(best: Option<f64>, seconds: f64) -> f64 {
    best.map_or(seconds, |best| best.min(seconds))
}

fn agreement(folder: &Path) -> Result<f64> {
    let (ours_shape, ours) = arrays::read_u32(&folder.join("absentia-ids.npy"))?;
    let (shape, theirs) = arrays::read_u32(&folder.join("implicit-ids.npy"))?;
    ensure!(
        shape == ours_shape,
        "lists of different shapes: {shape:?}, {ours_shape:?}"
    );
    let same = ours
        .chunks_exact(shape[1])
        .zip(theirs.chunks_exact(shape[1]))
        .map(|(ours, theirs)| ours.iter().filter(|item| theirs.contains(item)).count());
    Ok(same.sum::<usize>() as f64 / ours.len() as f64)
}
