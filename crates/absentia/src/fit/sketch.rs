//! Initial factors from the data: a random sketch of the normalised matrix.
//!
//! From a Gaussian start the first sweep learns little but popularity, whatever the solver. With
//! `R̃ = D_u^−½ R D_i^−½` (signs of the targets over the roots of the numbers of interactions) that
//! direction is known beforehand: `√n_u` and `√n_i` are its first singular vectors. A few products
//! of R̃ᵀ and R̃ with a Gaussian block, with popularity removed before each, turn Q towards the
//! singular vectors that follow, at a cost of |R|K each.

use std::ops::Range;

use rayon::prelude::*;

use super::init::gaussian;
use crate::data::{Entries, Interactions};
use crate::linalg::Dense;
use crate::linalg::kernels::Kernels;
use crate::params::Params;
use crate::row_sums::{sum_rows, sum_values};

/// Number of rows of a chunk that are summed in `f32`; these sums are added in `f64`.
const SINGLE_ROWS: usize = 256;

/// Standard deviation of the sketch, as a multiple of that of the Gaussian noise that is added to
/// it. The noise keeps factors different if the data has fewer directions than there are factors.
const OVER_NOISE: f32 = 10.0;

/// Yields P = 0, which the first half-sweep replaces, and Q as a sketch from `passes` products. With
/// `passes = 0` both are Gaussian.
pub(super) fn sketch(data: &Interactions<'_>, params: &Params, passes: usize) -> (Dense, Dense) {
    let draw = |rows, std, side| gaussian(rows, params.factors, std, params.seed, side);
    let (users, items, std) = (data.n_users(), data.n_items(), params.init_std);
    if passes == 0 {
        return (draw(users, std, 0), draw(items, std, 1));
    }
    let mut q = draw(items, 1.0, 1);
    let mut noise = q.clone();
    let values = noise.as_mut_slice().par_iter_mut();
    values.for_each(|x| *x *= std);
    let (user_roots, item_roots) = (roots(&data.user_counts()), roots(&data.item_counts()));
    // Products with R̃ᵀ and R̃ alternate so that the last one yields Q. The first one starts from
    // random numbers.
    let mut p = if passes.is_multiple_of(2) {
        Dense::padded(users, params.factors)
    } else {
        draw(users, 1.0, 0)
    };
    for pass in (0..passes).rev() {
        if pass % 2 == 0 {
            without_popularity(&mut p, &user_roots);
            multiply(data.by_item(), &item_roots, &p, &mut q);
        } else {
            without_popularity(&mut q, &item_roots);
            multiply(data.by_user(), &user_roots, &q, &mut p);
        }
    }
    without_popularity(&mut q, &item_roots);
    add_scaled(&mut q, &item_roots, OVER_NOISE * std, &noise);
    p.as_mut_slice().fill(0.0);
    (p, q)
}

fn roots(counts: &[u32]) -> Vec<f32> {
    counts.iter().map(|&n| (n as f32).sqrt()).collect()
}

/// Removes the direction of the roots from every column and divides rows by their roots, the first
/// half of the normalisation.
fn without_popularity(block: &mut Dense, roots: &[f32]) {
    let stride = block.stride();
    let squares: Vec<f64> = roots.iter().map(|&root| f64::from(root).powi(2)).collect();
    let total = sum_values(&squares);
    let of_chunk = |rows: Range<usize>| {
        let mut sums = vec![0.0; stride];
        for first in rows.clone().step_by(SINGLE_ROWS) {
            let mut single = vec![0.0; stride];
            let end = rows.end.min(first + SINGLE_ROWS);
            for (row, root) in (first..end).zip(&roots[first..end]) {
                Kernels::in_use().axpy(*root, block.padded_row(row), &mut single);
            }
            for (sum, more) in sums.iter_mut().zip(single) {
                *sum += f64::from(more) / total;
            }
        }
        sums
    };
    let mean = sum_rows(block.rows(), of_chunk).unwrap_or_default();
    let rows = block.as_mut_slice().par_chunks_exact_mut(stride);
    rows.zip(roots).for_each(|(row, &root)| {
        for (x, mean) in row.iter_mut().zip(&mean) {
            *x = if root > 0.0 {
                *x / root - *mean as f32
            } else {
                0.0
            };
        }
    });
}

/// Sets each row of `out` to the sum of the rows of `from` that its entries name, with the signs of
/// their targets, divided by its root.
fn multiply(entries: &Entries<'_>, roots: &[f32], from: &Dense, out: &mut Dense) {
    let stride = out.stride();
    let rows = out.as_mut_slice().par_chunks_exact_mut(stride).enumerate();
    let kernels = Kernels::in_use();
    rows.for_each(|(at, sum)| {
        let row = entries.row(at);
        sum.fill(0.0);
        for (n, &index) in row.indices.iter().enumerate() {
            let r = row.r.get(n);
            // Exposed entries have a target of 0 and do not count.
            if r != 0.0 {
                kernels.axpy(r.signum(), from.padded_row(index as usize), sum);
            }
        }
        if roots[at] > 0.0 {
            for x in sum {
                *x /= roots[at];
            }
        }
    });
}

/// Multiplies rows by their roots again, scales the result to the given standard deviation, and adds
/// the noise. If the sketch is zero, only the noise remains.
fn add_scaled(block: &mut Dense, roots: &[f32], std: f32, noise: &Dense) {
    let (stride, count) = (block.stride(), block.rows() * block.cols());
    let of_row = |row: usize| {
        let squares = block.row(row).iter().map(|x| x * x).sum::<f32>();
        f64::from(roots[row] * roots[row] * squares)
    };
    let square = sum_rows(block.rows(), |rows| rows.map(of_row).sum::<f64>()).unwrap_or(0.0);
    let scale = (f64::from(std) / (square / count as f64).sqrt()) as f32;
    let scale = if scale.is_finite() { scale } else { 0.0 };
    let rows = block.as_mut_slice().par_chunks_exact_mut(stride);
    rows.zip(roots).enumerate().for_each(|(at, (row, root))| {
        for (x, noise) in row.iter_mut().zip(noise.padded_row(at)) {
            *x = *x * root * scale + noise;
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::{Duplicates, Triplets};
    use crate::fit::{Init, Run, fit};
    use crate::weights::Scheme;

    fn generated() -> Interactions<'static> {
        crate::testing::generated(400, 300, 8000)
    }

    #[test]
    fn a_sketch_has_its_spread_no_popularity_and_the_same_bits_on_any_number_of_threads() {
        let data = generated();
        let params = Params::new().factors(20).init_std(0.001);
        let on = |threads| {
            let pool = rayon::ThreadPoolBuilder::new()
                .num_threads(threads)
                .build()
                .unwrap();
            pool.install(|| sketch(&data, &params, 4))
        };
        let (p, q) = on(1);
        assert_eq!((&p, &q), (&on(5).0, &on(5).1));
        let counts = data.item_counts();
        let values =
            || (0..300).flat_map(|item| q.row(item).iter().map(move |x| (item, f64::from(*x))));
        let spread = (values().map(|(_, x)| x * x).sum::<f64>() / 6000.0).sqrt();
        assert!((spread - 0.01).abs() < 0.001, "{spread}");
        for f in 0..20 {
            let along: f64 = (0..300)
                .map(|item| f64::from(counts[item]).sqrt() * f64::from(q.row(item)[f]))
                .sum::<f64>()
                / (data.len() as f64).sqrt();
            // The noise alone is left, of standard deviation 0.001.
            assert!(along.abs() < 0.005, "{along}");
        }
        assert!(q.padded_row(7)[20..].iter().all(|&x| x == 0.0));
    }

    #[test]
    fn the_first_sweep_gets_further_from_a_sketch() {
        let data = generated();
        let params = Params::new().factors(16).iterations(1).check().unwrap();
        let scheme = Scheme::uniform(0.1);
        let after = |init| {
            let run = Run {
                init,
                ..Run::default()
            };
            let fitted = fit(&data, &scheme, &params, run).unwrap();
            fitted.model.history()[0].objective.total()
        };
        let (gaussian, sketched) = (after(Init::Gaussian), after(Init::Sketch { passes: 4 }));
        assert!(
            sketched < 0.95 * gaussian,
            "{sketched} from a sketch, {gaussian} without"
        );
        let none = after(Init::Sketch { passes: 0 });
        assert!((none - gaussian).abs() < 1e-9 * gaussian);
    }

    #[test]
    fn data_of_a_single_direction_still_has_a_start() {
        let data = Triplets::new(&[0, 1], &[0, 0])
            .build(3, 2, Duplicates::Error)
            .unwrap();
        let (p, q) = sketch(&data, &Params::new().factors(3), 4);
        assert!(q.as_slice().iter().all(|x| x.is_finite()));
        assert!(q.row(0).iter().any(|&x| x != 0.0));
        // Users are solved first, from nothing.
        assert!(p.as_slice().iter().all(|&x| x == 0.0));
    }
}
