//! Coordinate steps and exact solves of small quadratics.

use super::*;

/// Quadratics of some rows: well conditioned, but row 0 flat along coordinate 5.
struct StepCase {
    h: Vec<f32>,
    base: Vec<f32>,
    penalty: Vec<f32>,
    g: Vec<f32>,
}

impl StepCase {
    fn new(rows: usize) -> Self {
        let mut steps = Self {
            h: numbers(9, rows.next_multiple_of(LANES) * LANES * LANES),
            base: vec![-1.0; rows.next_multiple_of(LANES) * LANES],
            penalty: vec![0.25; rows],
            g: numbers(10, rows.next_multiple_of(LANES) * LANES),
        };
        for row in 0..rows {
            for f in 0..LANES {
                steps.h[(row * LANES + f) * LANES + f] = 8.0 + f as f32;
                // Nothing below the diagonal blocks of eight is ever read.
                steps.h[(row * LANES + f) * LANES..][..f / 8 * 8].fill(f32::NAN);
            }
        }
        steps.h[5 * LANES..6 * LANES].fill(0.0);
        for f in 0..5 {
            steps.h[f * LANES + 5] = 0.0;
        }
        steps.h[5 * LANES + 5] = -0.25;
        steps
    }

    /// The matrices folded; of the upper triangles alone.
    fn folded(&self) -> Vec<f32> {
        let squares = self.h.chunks_exact(LANES * LANES);
        let folded = squares.flat_map(|square| {
            (0..Form::Folded.floats()).map(|at| {
                let (f, g) = Form::Folded.entry(at);
                square[f.min(g) * LANES + f.max(g)]
            })
        });
        folded.collect()
    }

    fn quadratics<'s>(&'s self, h: &'s [f32]) -> Quadratics<'s> {
        Quadratics {
            h,
            base: &self.base,
            penalty: &self.penalty,
            g: &self.g,
        }
    }

    /// Entry `(f, g)` of a row's matrix, its penalty included.
    fn at(&self, row: usize, f: usize, g: usize) -> f64 {
        let value = self.h[(row * LANES + f.min(g)) * LANES + f.max(g)];
        f64::from(value) + f64::from(u8::from(f == g)) * f64::from(self.penalty[row])
    }

    fn gradient(&self, row: usize) -> Vec<f64> {
        let line = &self.g[row * LANES..(row + 1) * LANES];
        line.iter().map(|&x| f64::from(x)).collect()
    }
}

#[test]
fn descending_is_one_gauss_seidel_pass() {
    for rows in [1, 4, 6] {
        let mut steps = StepCase::new(rows);
        on_every_set(|kernels| {
            let mut delta = vec![9.0; rows * LANES];
            assert_eq!(
                kernels.descend(&steps.quadratics(&steps.h), 1e-6, &mut delta),
                None
            );
            for row in 0..rows {
                let mut gradient = steps.gradient(row);
                let mut want = Vec::new();
                for f in 0..LANES {
                    let flat = row == 0 && f == 5;
                    let step = if flat {
                        0.0
                    } else {
                        gradient[f] / steps.at(row, f, f)
                    };
                    want.push(step);
                    for (other, slot) in gradient.iter_mut().enumerate() {
                        *slot -= steps.at(row, f, other) * step;
                    }
                }
                assert_close(&delta[row * LANES..][..LANES], &want, "step");
            }
            assert_eq!(delta[5].to_bits(), 0.0_f32.to_bits());
        });
        steps.h[((rows - 1) * LANES + 7) * LANES + 7] = -1.0;
        on_every_set(|kernels| {
            let mut delta = vec![9.0; rows * LANES];
            let negative = kernels.descend(&steps.quadratics(&steps.h), 1e-6, &mut delta);
            assert_eq!(negative, Some((rows - 1, -0.75)));
        });
    }
}

#[test]
fn sixteen_quadratics_at_once_are_solved_as_each_alone() {
    let rows = 21;
    let mut steps = StepCase::new(rows);
    let h = steps.folded();
    on_every_set(|kernels| {
        let (mut delta, mut work) = (vec![9.0; 32 * LANES], Solving::default());
        for first in [0, 16] {
            let solved = kernels.solve(&steps.quadratics(&h), first, 1e-6, &mut work, &mut delta);
            assert_eq!(solved, Solved::default());
        }
        for row in 0..rows {
            let step = &delta[row * LANES..(row + 1) * LANES];
            for (f, gradient) in steps.gradient(row).into_iter().enumerate() {
                let image: f64 = (0..LANES)
                    .map(|g| steps.at(row, f, g) * f64::from(step[g]))
                    .sum();
                let flat = row == 0 && f == 5;
                assert!(flat || (image - gradient).abs() < 1e-4, "row {row} at {f}");
            }
        }
        assert_eq!(delta[5].to_bits(), 0.0_f32.to_bits());
    });
    steps.h[(18 * LANES + 7) * LANES + 7] = -9.0;
    let h = steps.folded();
    on_every_set(|kernels| {
        let (mut delta, mut work) = (vec![9.0; 32 * LANES], Solving::default());
        let solved = kernels.solve(&steps.quadratics(&h), 16, 1e-6, &mut work, &mut delta);
        assert!(matches!(solved.negative, Some((18, pivot)) if pivot < -5.0));
    });
}

#[test]
fn a_step_that_cannot_be_judged_is_left_to_others() {
    let mut steps = StepCase::new(21);
    // A row of the first sixteen, and one that is none.
    steps.h[3 * LANES * LANES] = f32::NAN;
    steps.h[25 * LANES * LANES] = f32::NAN;
    let h = steps.folded();
    on_every_set(|kernels| {
        let (mut delta, mut work) = (vec![9.0; 32 * LANES], Solving::default());
        for (first, unsure) in [(0, 1 << 3), (16, 0)] {
            let solved = kernels.solve(&steps.quadratics(&h), first, 1e-6, &mut work, &mut delta);
            assert_eq!((solved.unsure, solved.negative), (unsure, None));
        }
    });
}
