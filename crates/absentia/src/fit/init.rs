//! The initial factors of a run.

use std::ops::Range;

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rayon::prelude::*;

use crate::linalg::Dense;
use crate::model::Factors;

/// Factors a run starts from.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub enum Init {
    /// Independent Gaussians of mean 0, seeded.
    #[default]
    Gaussian,
    /// A random sketch of the data. Popularity, the first singular direction, is known and removed;
    /// the sketch approximates the directions that follow it. This saves early sweeps.
    Sketch {
        /// Products with the matrix, |R|K operations each; 4 did best on Gowalla's validation part
        /// (6 did worse), 0 is [`Gaussian`](Init::Gaussian).
        passes: usize,
    },
    /// Factors given by the caller, such as those of an earlier model.
    Given {
        /// One row per user.
        users: Factors,
        /// One row per item.
        items: Factors,
    },
}

impl Init {
    /// Yields factors with more columns: those of an earlier model, followed by the columns that
    /// a Gaussian start would have there. Columns beyond `factors` are left out.
    #[must_use]
    pub fn grown(users: &Factors, items: &Factors, factors: usize, std: f32, seed: u64) -> Self {
        let side = |known: &Factors, side| {
            let mut dense = gaussian(known.rows(), factors, std, seed, side);
            let known_columns = known.cols().min(factors);
            for row in 0..known.rows() {
                dense.row_mut(row)[..known_columns]
                    .copy_from_slice(&known.row(row)[..known_columns]);
            }
            Factors::from(dense)
        };
        Init::Given {
            users: side(users, 0),
            items: side(items, 1),
        }
    }
}

/// Rows that share a random stream: rows are drawn in parallel, and the bits do not depend on it.
const ROWS_PER_STREAM: usize = 256;

/// Yields a padded matrix of Gaussians of standard deviation `std`; `side` distinguishes the random streams of P from those of Q.
pub(super) fn gaussian(rows: usize, cols: usize, std: f32, seed: u64, side: u64) -> Dense {
    gaussian_part(0..rows, cols, std, seed, side)
}

/// Some rows of the same matrix, from a multiple of [`ROWS_PER_STREAM`] on.
pub(super) fn gaussian_part(
    rows: Range<usize>,
    cols: usize,
    std: f32,
    seed: u64,
    side: u64,
) -> Dense {
    let first = rows.start / ROWS_PER_STREAM;
    let mut dense = Dense::padded(rows.len(), cols);
    let stride = dense.stride();
    dense
        .as_mut_slice()
        .par_chunks_mut(ROWS_PER_STREAM * stride)
        .enumerate()
        .for_each(|(chunk, part)| {
            let mut random = ChaCha8Rng::seed_from_u64(seed);
            random.set_stream(2 * (first + chunk) as u64 + side);
            for row in part.chunks_exact_mut(stride) {
                fill_normal(&mut row[..cols], std, &mut random);
            }
        });
    dense
}

/// Draws the start of one row from a seed of its own.
pub(crate) fn start_row(row: &mut [f32], std: f32, seed: u64) {
    fill_normal(row, std, &mut ChaCha8Rng::seed_from_u64(seed));
}

/// Fills a row by the Box-Muller transform, two numbers at a time.
fn fill_normal(row: &mut [f32], std: f32, random: &mut impl Rng) {
    for pair in row.chunks_mut(2) {
        let radius = (-2.0 * open_unit(random).ln()).sqrt();
        let angle = std::f64::consts::TAU * open_unit(random);
        pair[0] = std * (radius * angle.cos()) as f32;
        if let Some(second) = pair.get_mut(1) {
            *second = std * (radius * angle.sin()) as f32;
        }
    }
}

/// A number in (0, 1].
fn open_unit(random: &mut impl Rng) -> f64 {
    ((random.next_u64() >> 11) + 1) as f64 / (1_u64 << 53) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn grown_factors_keep_what_was_known_and_are_random_behind_it() {
        let known = Factors::from(gaussian(30, 4, 1.0, 1, 0));
        let Init::Given { users, items } = Init::grown(&known, &known, 6, 0.1, 9) else {
            panic!("factors are given");
        };
        let fresh = gaussian(30, 6, 0.1, 9, 0);
        for row in 0..30 {
            assert_eq!(users.row(row)[..4], *known.row(row));
            assert_eq!(users.row(row)[4..], fresh.row(row)[4..]);
            assert_ne!(users.row(row)[4..], items.row(row)[4..]);
        }
    }

    #[test]
    fn a_part_of_the_start_has_the_numbers_of_the_whole() {
        let whole = gaussian(5000, 7, 0.5, 7, 1);
        let part = gaussian_part(2048..5000, 7, 0.5, 7, 1);
        assert!((0..part.rows()).all(|row| part.row(row) == whole.row(2048 + row)));
    }

    #[test]
    fn the_start_has_the_stated_spread_and_repeats_with_its_seed() {
        let dense = gaussian(2000, 20, 0.5, 7, 0);
        let squares: f64 = (0..2000)
            .flat_map(|row| dense.row(row).to_vec())
            .map(|x| f64::from(x).powi(2))
            .sum();
        assert!((squares / 40_000.0 - 0.25).abs() < 0.01);
        assert_eq!(dense, gaussian(2000, 20, 0.5, 7, 0));
        assert_ne!(dense, gaussian(2000, 20, 0.5, 7, 1));
        assert_ne!(dense, gaussian(2000, 20, 0.5, 8, 0));
        assert!(dense.padded_row(3)[20..].iter().all(|&x| x == 0.0));
    }
}
