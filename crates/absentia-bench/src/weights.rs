//! What the rank of the weights on missing entries costs: seconds = a + b·Z.

use anyhow::Result;
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

/// A line fitted by least squares, with the standard errors of its two numbers.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub(crate) struct Line {
    pub(crate) start: f64,
    pub(crate) slope: f64,
    pub(crate) start_error: f64,
    pub(crate) slope_error: f64,
    /// Largest distance of a point from the line, as a share of the point.
    pub(crate) worst: f64,
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
        line: Line::through(&points),
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

impl Line {
    /// Fits `y = start + slope·x`; errors need three points or more.
    fn through(points: &[(f64, f64)]) -> Self {
        let n = points.len() as f64;
        let mean_x = points.iter().map(|point| point.0).sum::<f64>() / n;
        let mean_y = points.iter().map(|point| point.1).sum::<f64>() / n;
        let spread: f64 = points.iter().map(|point| (point.0 - mean_x).powi(2)).sum();
        let joint: f64 = points
            .iter()
            .map(|(x, y)| (x - mean_x) * (y - mean_y))
            .sum();
        let slope = joint / spread;
        let start = mean_y - slope * mean_x;
        let left = |(x, y): &(f64, f64)| y - start - slope * x;
        let variance = points.iter().map(|point| left(point).powi(2)).sum::<f64>() / (n - 2.0);
        Self {
            start,
            slope,
            start_error: (variance * (1.0 / n + mean_x * mean_x / spread)).sqrt(),
            slope_error: (variance / spread).sqrt(),
            worst: points
                .iter()
                .map(|point| left(point).abs() / point.1)
                .fold(0.0, f64::max),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_component_is_a_product_with_a_matrix_and_a_share_of_its_lower_blocks() {
        // Two blocks of sixteen: three of four blocks are summed.
        assert!((component(10, 32) - f64::from(10 * (1024 + 768))).abs() < 1e-9);
    }

    #[test]
    fn a_line_is_found_with_its_errors() {
        let exact = Line::through(&[(1.0, 3.0), (2.0, 5.0), (4.0, 9.0)]);
        assert!((exact.start - 1.0).abs() < 1e-12 && (exact.slope - 2.0).abs() < 1e-12);
        assert!(exact.slope_error < 1e-6 && exact.worst < 1e-12);
        // By hand: slope 1, start 1/3, residuals (-1/3, 2/3, -1/3), variance 2/3 over 1 degree.
        let noisy = Line::through(&[(0.0, 0.0), (1.0, 2.0), (2.0, 2.0)]);
        assert!((noisy.slope - 1.0).abs() < 1e-12 && (noisy.start - 1.0 / 3.0).abs() < 1e-12);
        assert!((noisy.slope_error - (1.0_f64 / 3.0).sqrt()).abs() < 1e-12);
        assert!((noisy.start_error - (5.0_f64 / 9.0).sqrt()).abs() < 1e-12);
    }
}
