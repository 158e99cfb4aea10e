//! Every variant the machine can run against plain sums in `f64`.

#[path = "../../../tests/every_set/mod.rs"]
mod every_set;
mod lane_parallel;
mod quantised;
mod steps;

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
    assert_eq!(got.len(), want.len(), "{what}");
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

struct GatherProblem {
    matrix: Vec<f32>,
    stride: usize,
    indices: Vec<u32>,
}

impl GatherProblem {
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
        let (problem, p) = (GatherProblem::new(entries, k), numbers(2, k));
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

/// Columns of 32 entries that belong to three rows in turn.
struct TileColumns {
    rows: Vec<u32>,
    d: Vec<f32>,
    pull: Vec<f32>,
    predicted: Vec<f32>,
    error: Vec<f32>,
}

impl TileColumns {
    fn new() -> Self {
        Self {
            rows: (0..32).map(|n| n / 12).collect(),
            d: numbers(20, 32),
            pull: numbers(21, 32),
            predicted: vec![0.5; 32],
            error: vec![9.0; 32],
        }
    }

    fn columns(&mut self) -> Columns<'_> {
        Columns {
            rows: &self.rows,
            d: &self.d,
            pull: &self.pull,
            predicted: &mut self.predicted,
            error: &mut self.error,
        }
    }

    fn assert_predicted(&self, entries: usize, want: &[f64]) {
        assert_close(&self.predicted[..entries], want, "prediction");
        let errors: Vec<f64> = (0..entries)
            .map(|n| f64::from(self.pull[n]) - f64::from(self.d[n]) * want[n])
            .collect();
        assert_close(&self.error[..entries], &errors, "error");
    }
}

#[test]
fn packing_copies_rows_into_lines_and_predicts() {
    let (entries, k) = (29, 48);
    let (problem, factors) = (GatherProblem::new(entries + 3, k), numbers(2, 3 * k));
    on_every_set(|kernels| {
        let (mut tile, mut lines) = (TileColumns::new(), vec![0.0; 32 * k]);
        let rows = tile.rows.clone();
        kernels.pack(
            problem.gathered(),
            entries,
            &factors,
            &mut lines,
            &mut tile.columns(),
        );
        let want: Vec<f64> = (0..entries)
            .map(|n| {
                let p = &factors[rows[n] as usize * k..];
                (0..k).map(|f| f64::from(p[f]) * problem.at(n, f)).sum()
            })
            .collect();
        tile.assert_predicted(entries, &want);
        for (n, f) in [(0, 0), (28, 17), (11, 47)] {
            let line = (f / LANES) * 32 * LANES + n * LANES;
            assert_close(&lines[line + f % LANES..][..1], &[problem.at(n, f)], "line");
        }
        let mut picked = vec![0.0; (entries + 3) * LANES];
        kernels.pick(problem.gathered(), 16, &mut picked);
        assert_eq!(
            picked[..entries * LANES],
            lines[32 * LANES..][..entries * LANES]
        );
    });
}

#[test]
fn losses_and_squares_follow_their_formulas() {
    for entries in [0, 1, 16, 37] {
        let (c, r) = (numbers(22, entries), numbers(23, entries));
        let (predicted, missing) = (numbers(24, entries), numbers(25, entries));
        for (c, r) in [
            (&c[..], &r[..]),
            (&c[..], &[0.5]),
            (&[2.0], &r[..]),
            (&[2.0], &[0.5]),
        ] {
            let (mut observed, mut counted) = (0.0, 0.0);
            for n in 0..entries {
                let [c, r] = [c, r].map(|all| f64::from(*all.get(n).unwrap_or(&all[0])));
                let p = f64::from(predicted[n]);
                observed += c * (r - p).powi(2);
                counted += f64::from(missing[n]) * p * p;
            }
            on_every_set(|kernels| {
                let got = kernels.losses(c, r, &predicted, &missing);
                assert!(
                    (got[0] - observed).abs() < 1e-12 * (1.0 + observed.abs()),
                    "{entries}"
                );
                assert!(
                    (got[1] - counted).abs() < 1e-12 * (1.0 + counted.abs()),
                    "{entries}"
                );
            });
        }
    }
    let x = numbers(26, 7 * LANES);
    let want: f64 = x.iter().map(|x| f64::from(*x).powi(2)).sum();
    on_every_set(|kernels| assert_close(&[kernels.square(&x)], &[want], "square"));
}

#[test]
fn corrections_add_the_steps_of_each_entry_s_row() {
    let (lines, delta, pitch) = (numbers(3, 32 * LANES), numbers(4, 3 * 20), 20);
    on_every_set(|kernels| {
        let mut tile = TileColumns::new();
        kernels.correct(&delta, pitch, &lines, &mut tile.columns());
        let want: Vec<f64> = (0..32)
            .map(|n| {
                let step = &delta[tile.rows[n] as usize * pitch..];
                let pairs = lines[n * LANES..(n + 1) * LANES].iter().zip(step);
                0.5 + pairs.map(|(x, y)| f64::from(x * y)).sum::<f64>()
            })
            .collect();
        tile.assert_predicted(32, &want);
    });
}

#[test]
fn combinations_sum_scaled_rows() {
    let (problem, coefficients) = (GatherProblem::new(21, 64), numbers(4, 21));
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

/// `Σ_n d_n left_n[f] right_n[g]`.
fn outer(d: impl Fn(usize) -> f64, left: &[f32], right: &[f32], f: usize, g: usize) -> f64 {
    let lines = left.chunks_exact(LANES).zip(right.chunks_exact(LANES));
    lines
        .enumerate()
        .map(|(n, (left, right))| d(n) * f64::from(left[f]) * f64::from(right[g]))
        .sum()
}

#[test]
fn gram_matrices_sum_outer_products_and_gradients_errors() {
    for entries in [0, 1, 19] {
        let (lines, base) = (numbers(5, entries * LANES), numbers(6, LANES * LANES));
        let (d, error, start) = (numbers(7, entries), numbers(8, entries), numbers(9, LANES));
        let others = GatherProblem::new(3, LANES);
        on_every_set(|kernels| {
            let ones = vec![1.0; lines.len()];
            let want: Vec<f64> = (0..LANES)
                .map(|f| f64::from(start[f]) + outer(|n| f64::from(error[n]), &lines, &ones, f, 0))
                .collect();
            for form in Form::ALL {
                let (mut h, mut g) = (vec![9.0; form.floats()], start.clone());
                let row = RowLines {
                    d: &d,
                    error: &error,
                    lines: &lines,
                    next: others.gathered(),
                    at: 0,
                };
                kernels.gram(form, row, 0.5, &base, &mut h, &mut g);
                assert_close(&g, &want, "gradient");
                for (at, found) in h.iter().enumerate() {
                    let (f, g) = form.entry(at);
                    let weight = |n: usize| f64::from(d[n]);
                    let want = 0.5 * f64::from(base[at]) + outer(weight, &lines, &lines, f, g);
                    if form == Form::Folded || f <= g {
                        assert_close(&[*found], &[want], "gram");
                    }
                }
            }
            let mut alone = start.clone();
            kernels.combine_lines(&error, &lines, &mut alone);
            assert_close(&alone, &want, "combination of lines");
        });
    }
}

#[test]
fn folded_matrices_have_every_pair_and_few_of_them_twice() {
    let mut times = [[0; LANES]; LANES];
    for at in 0..Form::Folded.floats() {
        let (f, g) = Form::Folded.entry(at);
        times[f.min(g)][f.max(g)] += 1;
    }
    for (f, times) in times.iter().enumerate() {
        for (g, &times) in times.iter().enumerate().skip(f) {
            let twice = f / 8 == g / 8 && g - f == 4;
            assert_eq!(times, 1 + i32::from(twice), "{f} and {g}");
        }
    }
}

#[test]
fn gram_matrices_of_a_tile_are_those_of_its_rows() {
    let (starts, entries) = ([0, 5, 5, 19], 19);
    let (lines, bases) = (numbers(5, entries * LANES), numbers(6, 3 * LANES * LANES));
    let (d, error, start) = (
        numbers(7, entries),
        numbers(8, entries),
        numbers(9, 3 * LANES),
    );
    let (scales, others) = (numbers(10, 3), GatherProblem::new(7, LANES));
    let row = |from: usize, to: usize| RowLines {
        d: &d[from..to],
        error: &error[from..to],
        lines: &lines[from * LANES..to * LANES],
        next: others.gathered(),
        at: 0,
    };
    let both = Form::ALL.map(|form| [(form, None), (form, Some(&scales[..]))]);
    on_every_set(|kernels| {
        for (form, scales) in both.into_iter().flatten() {
            let size = form.floats();
            let (mut h, mut g) = (vec![9.0; 3 * size], start.clone());
            let tile = TileLines {
                starts: &starts,
                entries: row(0, entries),
                scales,
                bases: &bases,
            };
            kernels.grams(form, tile, &mut h, &mut g);
            for at in 0..3 {
                let (mut alone, mut pull) = (vec![9.0; size], start[at * LANES..].to_vec());
                let own = &bases[if scales.is_some() { 0 } else { at * size }..];
                let scale = scales.map_or(1.0, |scales| -scales[at]);
                let row = row(starts[at], starts[at + 1]);
                kernels.gram(form, row, scale, own, &mut alone, &mut pull);
                assert_eq!(h[at * size..(at + 1) * size], alone);
                assert_eq!(g[at * LANES..(at + 1) * LANES], pull[..LANES]);
            }
        }
    });
}

#[test]
fn products_of_two_blocks_are_summed_whole() {
    let (left, right) = (numbers(5, 19 * LANES), numbers(6, 19 * LANES));
    let (d, pitch) = (numbers(7, 19), 40);
    on_every_set(|kernels| {
        for weights in [None, Some(&d[..])] {
            let mut h = vec![2.0; 15 * pitch + LANES];
            kernels.cross(weights, &left, &right, &mut h, pitch);
            let weight = |n: usize| weights.map_or(1.0, |d| f64::from(d[n]));
            for f in 0..LANES {
                let want: Vec<f64> = (0..LANES)
                    .map(|g| 2.0 + outer(weight, &left, &right, f, g))
                    .collect();
                assert_close(&h[f * pitch..f * pitch + LANES], &want, "block row");
            }
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
            StridedRows {
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
            let one = StridedRows {
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
fn rows_are_pulled_back_and_advanced_on_sixteen_coordinates() {
    let (rows, scales) = (3, numbers(11, 3));
    let (wide, narrow) = (Place { at: 16, stride: 48 }, Place { at: 0, stride: 20 });
    let x = numbers(12, rows * wide.stride);
    on_every_set(|kernels| {
        let mut out = vec![9.0; rows * narrow.stride];
        kernels.pull_back(&scales, &x, wide, &mut out, narrow);
        let mut moved = x.clone();
        kernels.advance(rows, &out, narrow, &mut moved, wide);
        for row in 0..rows {
            for f in 0..wide.stride {
                let before = x[row * wide.stride + f];
                let step = if (16..32).contains(&f) {
                    -scales[row] * before
                } else {
                    0.0
                };
                let after = moved[row * wide.stride + f];
                assert_close(&[after], &[f64::from(before) + f64::from(step)], "row");
            }
            assert_close(
                &out[row * narrow.stride + LANES..][..4],
                &[9.0; 4],
                "beside",
            );
        }
    });
}

#[test]
fn dots_of_packed_entries_are_those_of_their_rows() {
    let k = 48;
    let (lines, x) = (numbers(27, 33 * k), numbers(28, 3 * k));
    let rows = TileColumns::new().rows;
    on_every_set(|kernels| {
        let mut out = vec![9.0; 32];
        kernels.dots(&x, k, &rows, &lines, &mut out);
        let want: Vec<f64> = (0..32)
            .map(|n| {
                let at = |f: usize| (f / LANES) * 33 * LANES + n * LANES + f % LANES;
                let x = &x[rows[n] as usize * k..];
                (0..k)
                    .map(|f| f64::from(x[f]) * f64::from(lines[at(f)]))
                    .sum()
            })
            .collect();
        assert_close(&out, &want, "dot");
    });
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

/// Kernels are tested on every set above; these are the tests of what is built from them.
#[test]
fn solvers_and_rankings_hold_on_every_set() {
    let sets: Vec<String> = InstructionSet::available()
        .iter()
        .map(ToString::to_string)
        .collect();
    let users = ["solver::", "fit::", "baselines::", "model::", "ranking::"];
    every_set::run_again(&sets, &InstructionSet::in_use().to_string(), &users);
}
