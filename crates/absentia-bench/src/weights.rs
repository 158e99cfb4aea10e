//! What the rank of the weights on missing entries costs: seconds = a + b·Z.

use absentia_lab::fits::{Line, line};
use anyhow::{Context, Result};
use serde::Serialize;

use crate::contender::eals;
use crate::data::Matrix;
use crate::options::Options;
use crate::peak;
use crate::request::{Request, Task};
use crate::runner::Runner;

/// Latent dimension of all ranks.
const FACTORS: usize = 64;

/// Seconds of a sweep by rank, and the line through them.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Weights {
    pub(crate) shape: String,
    pub(crate) matrix: Matrix,
    pub(crate) factors: usize,
    pub(crate) ranks: Vec<usize>,
    pub(crate) seconds: Vec<f64>,
    pub(crate) line: Line,
    /// Fused multiply-adds that a component adds to a sweep, without what its diagonal blocks take in
    /// the steps.
    pub(crate) component: f64,
    /// Fused multiply-adds a second of a large matrix product.
    pub(crate) peak: Option<f64>,
}

/// Measures every rank once a round.
pub(crate) fn measure(
    runner: &Runner,
    options: &Options,
    (shape, matrix): (&str, &Matrix),
) -> Result<Weights> {
    let ranks = if options.quick {
        vec![1, 4, 16]
    } else {
        vec![1, 2, 4, 8, 16, 32, 64]
    };
    let (mut seconds, mut peak) = (vec![f64::INFINITY; ranks.len()], None);
    for round in 0..options.rounds {
        for (best, &rank) in seconds.iter_mut().zip(&ranks) {
            let answer = runner.run(&Request {
                data: matrix.folder.clone(),
                items: matrix.items,
                factors: FACTORS,
                rank,
                iterations: options.iterations.min(3),
                ..eals().request(Task::Sweeps, runner.threads)
            })?;
            eprintln!(
                "{shape} Z={rank}, round {}: {:.3} s",
                round + 1,
                answer.best()
            );
            *best = best.min(answer.best());
        }
        peak = peak::higher(peak, peak::measure(runner)?);
    }
    let points: Vec<(f64, f64)> = ranks
        .iter()
        .map(|&z| z as f64)
        .zip(seconds.clone())
        .collect();
    Ok(Weights {
        shape: shape.to_owned(),
        matrix: matrix.clone(),
        factors: FACTORS,
        line: line(&points).context("too few ranks for a line")?,
        component: component(matrix.users + matrix.items, FACTORS),
        ranks,
        seconds,
        peak,
    })
}

/// Fused multiply-adds of a component in a sweep over rows of both sides: `S_t p` of every row, and its
/// share of `S_t`, which is summed on and below the diagonal in blocks of sixteen.
fn component(rows: usize, k: usize) -> f64 {
    (rows * (k * k + k * (k + 16) / 2)) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_component_is_a_product_with_a_matrix_and_a_share_of_its_lower_blocks() {
        // Two blocks of sixteen: three of four blocks are summed.
        assert!((component(10, 32) - f64::from(10 * (1024 + 768))).abs() < 1e-9);
    }
}
