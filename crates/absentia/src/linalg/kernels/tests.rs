//! Every variant the machine can run against plain sums in `f64`.

use super::*;

const LANES: usize = crate::linalg::LANES;

fn numbers(seed: u32, len: usize) -> Vec<f32> {
    let mut state = seed.wrapping_mul(2_654_435_761).wrapping_add(12345);
    (0..len)
        .map(|_| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 8) as f32 / (1 << 23) as f32 - 1.0
        })
        .collect()
}

fn assert_close(got: &[f32], want: &[f64], what: &str) {
    for (n, (got, want)) in got.iter().zip(want).enumerate() {
        assert!(
            (f64::from(*got) - want).abs() < 1e-4 * (1.0 + want.abs()),
            "{what} at {n}: {got} instead of {want}"
        );
    }
}

/// Runs a check on every variant, the scalar one among them.
fn on_every_set(check: impl Fn(Kernels)) {
    for set in InstructionSet::available() {
        check(Kernels::of(set).expect("an available set"));
    }
}

struct Problem {
    matrix: Vec<f32>,
    stride: usize,
    indices: Vec<u32>,
}

impl Problem {
    fn new(entries: usize, k: usize) -> Self {
        let indices = (0..entries as u32).map(|n| (n * 7 + 3) % 50).collect();
        Self {
            matrix: numbers(1, 50 * k),
            stride: k,
            indices,
        }
    }

    fn gathered(&self) -> Gathered<'_> {
        Gathered {
            matrix: &self.matrix,
            stride: self.stride,
            indices: &self.indices,
        }
    }

    fn at(&self, n: usize, f: usize) -> f64 {
        f64::from(self.matrix[self.indices[n] as usize * self.stride + f])
    }
}

#[test]
fn predictions_are_dot_products() {
    for (entries, k) in [(0, 16), (1, 16), (7, 48), (33, 128)] {
        let (problem, p) = (Problem::new(entries, k), numbers(2, k));
        let want: Vec<f64> = (0..entries)
            .map(|n| (0..k).map(|f| f64::from(p[f]) * problem.at(n, f)).sum())
            .collect();
        on_every_set(|kernels| {
            let mut out = vec![9.0; entries];
            kernels.predict(&p, problem.gathered(), &mut out);
            assert_close(&out, &want, "prediction");
        });
    }
}

#[test]
fn corrections_add_the_window() {
    let (problem, delta) = (Problem::new(21, 64), numbers(3, 32));
    let want: Vec<f64> = (0..21)
        .map(|n| {
            0.5 + (0..32)
                .map(|f| f64::from(delta[f]) * problem.at(n, 16 + f))
                .sum::<f64>()
        })
        .collect();
    on_every_set(|kernels| {
        let mut out = vec![0.5; 21];
        kernels.correct(&delta, 16, problem.gathered(), &mut out);
        assert_close(&out, &want, "correction");
    });
}

#[test]
fn combinations_sum_scaled_rows() {
    let (problem, coefficients) = (Problem::new(21, 64), numbers(4, 21));
    let want: Vec<f64> = (0..32)
        .map(|f| {
            1.0 + (0..21)
                .map(|n| f64::from(coefficients[n]) * problem.at(n, 32 + f))
                .sum::<f64>()
        })
        .collect();
    on_every_set(|kernels| {
        let mut out = vec![1.0; 32];
        kernels.combine(&coefficients, 32, problem.gathered(), &mut out);
        assert_close(&out, &want, "combination");
    });
}

#[test]
fn gram_blocks_sum_outer_products() {
    let (problem, d, pitch) = (Problem::new(19, 48), numbers(5, 19), 40);
    on_every_set(|kernels| {
        let mut h = vec![2.0; 15 * pitch + LANES];
        kernels.gram(&d, (32, 16), problem.gathered(), &mut h, pitch);
        for f in 0..LANES {
            let want: Vec<f64> = (0..LANES)
                .map(|g| {
                    2.0 + (0..19)
                        .map(|n| f64::from(d[n]) * problem.at(n, 32 + f) * problem.at(n, 16 + g))
                        .sum::<f64>()
                })
                .collect();
            assert_close(&h[f * pitch..f * pitch + LANES], &want, "gram row");
        }
    });
}

#[test]
fn panel_products_are_matrix_products_and_do_not_depend_on_neighbours() {
    let (k, stride, rows, pitch) = (37, 48, 21, 20);
    let (x, panel, scale) = (
        numbers(6, rows * stride),
        numbers(7, k * LANES),
        numbers(8, rows),
    );
    on_every_set(|kernels| {
        let mut out = vec![1.0; rows * pitch];
        kernels.panel_product(
            Panel {
                values: &x,
                stride,
                rows,
                k,
            },
            &panel,
            Some(&scale),
            &mut out,
            pitch,
        );
        for row in 0..rows {
            let want: Vec<f64> = (0..LANES)
                .map(|g| {
                    let sum: f64 = (0..k)
                        .map(|f| f64::from(x[row * stride + f]) * f64::from(panel[f * LANES + g]))
                        .sum();
                    1.0 + f64::from(scale[row]) * sum
                })
                .collect();
            assert_close(&out[row * pitch..row * pitch + LANES], &want, "product");
            let mut alone = vec![1.0; LANES];
            let one = Panel {
                values: &x[row * stride..],
                stride,
                rows: 1,
                k,
            };
            kernels.panel_product(one, &panel, Some(&scale[row..]), &mut alone, LANES);
            assert_eq!(alone, out[row * pitch..row * pitch + LANES]);
        }
    });
}

#[test]
fn descending_is_one_gauss_seidel_pass() {
    for rows in [1, 4, 6] {
        let (h, start) = (numbers(9, rows * LANES * LANES), numbers(10, rows * LANES));
        let mut inverse = numbers(11, rows * LANES);
        inverse[5] = 0.0;
        on_every_set(|kernels| {
            let (mut g, mut delta) = (start.clone(), vec![0.0; rows * LANES]);
            kernels.descend(&h, &inverse, &mut g, &mut delta);
            for row in 0..rows {
                let mut gradient: Vec<f64> = start[row * LANES..][..LANES]
                    .iter()
                    .map(|&x| f64::from(x))
                    .collect();
                let mut want = Vec::new();
                for f in 0..LANES {
                    let step = gradient[f] * f64::from(inverse[row * LANES + f]);
                    want.push(step);
                    for (other, slot) in gradient.iter_mut().enumerate() {
                        *slot -= f64::from(h[(row * LANES + f) * LANES + other]) * step;
                    }
                }
                assert_close(&delta[row * LANES..], &want, "step");
            }
            assert_eq!(delta[5].to_bits(), 0.0_f32.to_bits());
        });
    }
}

#[test]
fn semidefinite_systems_are_solved_and_flat_directions_left_alone() {
    let n = 21;
    let root = numbers(12, n * n);
    let at = |i: usize, j: usize| -> f64 {
        (0..n)
            .map(|k| f64::from(root[i * n + k]) * f64::from(root[j * n + k]))
            .sum()
    };
    on_every_set(|kernels| {
        let pitch = n + 3;
        let mut h = vec![0.0; n * pitch];
        for i in 0..n {
            for j in 0..=i {
                h[i * pitch + j] = if i == 5 || j == 5 {
                    0.0
                } else {
                    (at(i, j) + f64::from(u8::from(i == j))) as f32
                };
            }
        }
        let want: Vec<f64> = (0..n)
            .map(|i| if i == 5 { 0.0 } else { i as f64 / 10.0 - 1.0 })
            .collect();
        let full = |i: usize, j: usize| f64::from(h[i.max(j) * pitch + i.min(j)]);
        let mut x: Vec<f32> = (0..n)
            .map(|i| (0..n).map(|j| full(i, j) * want[j]).sum::<f64>() as f32)
            .collect();
        let negative =
            kernels.solve_semidefinite(&mut h, pitch, &vec![1e-6; n], &mut x, &mut vec![0.0; n]);
        assert_eq!(negative, None);
        for (got, want) in x.iter().zip(&want) {
            assert!(
                (f64::from(*got) - want).abs() < 1e-3,
                "{got} instead of {want}"
            );
        }
        let found = kernels.solve_semidefinite(&mut [-1.0], 1, &[1e-6], &mut [1.0], &mut [0.0]);
        assert_eq!(found, Some(-1.0));
    });
}

#[test]
fn sums_of_scaled_rows_and_scores_follow_their_formulas() {
    let (x, y) = (numbers(13, 37), numbers(14, 37));
    on_every_set(|kernels| {
        let mut sum = y.clone();
        kernels.axpy(0.5, &x, &mut sum);
        let want: Vec<f64> = x
            .iter()
            .zip(&y)
            .map(|(x, y)| f64::from(*y) + 0.5 * f64::from(*x))
            .collect();
        assert_close(&sum, &want, "sum");
        let want: f64 = x
            .iter()
            .zip(&y)
            .map(|(x, y)| f64::from(*x) * f64::from(*y) * 0.25)
            .sum();
        assert_close(&[kernels.score(&x, &y, 0.25)], &[want], "score");
    });
}
