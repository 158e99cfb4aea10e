//! Rows in lanes against one pass of coordinate steps on each row's whole quadratic, in `f64`.

use super::*;

const K: usize = 32;
const FIXED: usize = 50;
const PENALTY: f32 = 0.5;

/// Some rows with entries, `per_row` lanes each, and weights of rank `z`.
struct LaneRows {
    per_row: usize,
    z: usize,
    fixed: Vec<f32>,
    /// `S_t`, symmetric and positive definite.
    missing: Vec<Vec<f32>>,
    weights: Vec<Vec<f32>>,
    /// Weights of the fixed side, z for each row.
    fixed_weights: Vec<f32>,
    factors: Vec<f32>,
    /// For each row: which rows of the fixed side, `c` and `r`.
    entries: Vec<(Vec<u32>, Vec<f32>, Vec<f32>)>,
    slots: usize,
}

impl LaneRows {
    fn new(rows: usize, per_row: usize, z: usize) -> Self {
        let slots = 5;
        let entries = |row: usize| {
            let len = if row == 1 {
                0
            } else {
                slots * per_row - row % slots
            };
            let picks = (0..len).map(|n| ((n * 7 + row * 3) % FIXED) as u32);
            let c = numbers(row as u32 + 40, len)
                .iter()
                .map(|c| 1.0 + 0.3 * c)
                .collect();
            (picks.collect(), c, numbers(row as u32 + 60, len))
        };
        let matrix = |t: usize| {
            let root = numbers(t as u32 + 20, K * K);
            let dot = |f: usize, g: usize| -> f32 {
                (0..K).map(|n| root[f * K + n] * root[g * K + n]).sum()
            };
            (0..K * K).map(|at| dot(at / K, at % K)).collect()
        };
        Self {
            per_row,
            z,
            fixed: numbers(1, FIXED * K),
            missing: (0..z).map(matrix).collect(),
            weights: (0..rows)
                .map(|row| {
                    numbers(row as u32 + 80, z)
                        .iter()
                        // Of many components none may outweigh the observed entries.
                        .map(|a| (0.2 + 0.1 * a) * (3.0 / z as f32).min(1.0))
                        .collect()
                })
                .collect(),
            fixed_weights: numbers(3, FIXED * z),
            factors: numbers(2, rows * K),
            entries: (0..rows).map(entries).collect(),
            slots,
        }
    }

    /// A value of each entry where the entry is stored, zeros elsewhere.
    fn in_slots<T: Copy + Default>(&self, values: impl Fn(usize) -> Vec<T>) -> Vec<T> {
        let mut slots = vec![T::default(); self.slots * LANES];
        for row in 0..self.entries.len() {
            for (n, value) in values(row).into_iter().enumerate() {
                let lane = row * self.per_row + n % self.per_row;
                slots[n / self.per_row * LANES + lane] = value;
            }
        }
        slots
    }

    /// `Σ_t a_ut S_t[f, g]` of a row.
    fn missing_at(&self, row: usize, f: usize, g: usize) -> f64 {
        let terms = self.weights[row].iter().zip(&self.missing);
        terms
            .map(|(a, s)| f64::from(*a) * f64::from(s[f * K + g]))
            .sum()
    }

    /// The weight of a row's entry if it were missing.
    fn weight(&self, row: usize, n: usize) -> f64 {
        let b = &self.fixed_weights[self.entries[row].0[n] as usize * self.z..];
        let terms = self.weights[row].iter().zip(b);
        terms.map(|(a, b)| f64::from(*a) * f64::from(*b)).sum()
    }

    /// What the entries of a row add to the objective: `Σ c (r − p·q)²` and `Σ (a·b) (p·q)²`.
    fn losses(&self, row: usize, predicted: &[f64]) -> [f64; 2] {
        let (_, c, r) = &self.entries[row];
        let mut losses = [0.0; 2];
        for (n, p) in predicted.iter().enumerate() {
            losses[0] += f64::from(c[n]) * (f64::from(r[n]) - p).powi(2);
            losses[1] += self.weight(row, n) * p * p;
        }
        losses
    }

    /// One pass of coordinate steps on a row: its factors and predictions after it.
    fn expected(&self, row: usize) -> (Vec<f64>, Vec<f64>) {
        let (picks, c, r) = &self.entries[row];
        let d: Vec<f64> = (0..picks.len())
            .map(|n| f64::from(c[n]) - self.weight(row, n))
            .collect();
        let pull = |n: usize| f64::from(c[n]) * f64::from(r[n]);
        let q = |n: usize, f: usize| f64::from(self.fixed[picks[n] as usize * K + f]);
        let mut p: Vec<f64> = (0..K)
            .map(|f| f64::from(self.factors[row * K + f]))
            .collect();
        let predict = |p: &[f64], n: usize| -> f64 { (0..K).map(|f| p[f] * q(n, f)).sum() };
        for f in 0..K {
            let mut gradient = -f64::from(PENALTY) * p[f];
            let mut curvature = f64::from(PENALTY) + self.missing_at(row, f, f);
            gradient -= (0..K)
                .map(|g| self.missing_at(row, f, g) * p[g])
                .sum::<f64>();
            for (n, d) in d.iter().enumerate() {
                gradient += (pull(n) - d * predict(&p, n)) * q(n, f);
                curvature += d * q(n, f) * q(n, f);
            }
            p[f] += gradient / curvature;
        }
        let predicted = (0..picks.len()).map(|n| predict(&p, n)).collect();
        (p, predicted)
    }

    /// `−Σ_t a_ut (S_t p_u)` on a block.
    fn gradients(&self, factors: &[f32], block: usize) -> Vec<f32> {
        let at = |row: usize, f: usize| -> f64 {
            let terms =
                (0..K).map(|g| self.missing_at(row, f, g) * f64::from(factors[row * K + g]));
            -terms.sum::<f64>()
        };
        (0..self.entries.len() * LANES)
            .map(|n| at(n / LANES, block * LANES + n % LANES) as f32)
            .collect()
    }

    /// The result of the kernels.
    fn stepped(&self, kernels: Kernels) -> Made {
        let (rows, floats) = (self.entries.len(), self.slots * LANES);
        let picks = self.in_slots(|row| self.entries[row].0.clone());
        let c = self.in_slots(|row| self.entries[row].1.clone());
        let r = self.in_slots(|row| self.entries[row].2.clone());
        let (mut left, mut missing) = (vec![9.0; floats], vec![9.0; floats]);
        let mut held = [0.0; LANES];
        let (mut weights, mut penalty) = (vec![0.0; self.z * LANES], vec![1.0; LANES]);
        for row in 0..rows {
            let lanes = row * self.per_row..(row + 1) * self.per_row;
            let len = self.entries[row].0.len();
            for (lane, held) in held[lanes.clone()].iter_mut().enumerate() {
                *held = (len as f32 - lane as f32) / self.per_row as f32;
            }
            penalty[lanes.clone()].fill(PENALTY);
            for (t, &a) in self.weights[row].iter().enumerate() {
                weights[t * LANES..][lanes.clone()].fill(a);
            }
        }
        let entry_weights = EntryWeights {
            a: &weights,
            b: &self.fixed_weights,
            c: &c,
            r: &r,
            held: &held,
        };
        let picked = Gathered {
            matrix: &self.fixed,
            stride: K,
            indices: &picks,
        };
        let mut factors = vec![9.0; rows * K];
        let (mut p, mut steps) = (vec![9.0; K * LANES], vec![9.0; K * LANES]);
        let (mut inverse, mut error) = (vec![9.0; floats], vec![9.0; floats]);
        let mut lines = vec![9.0; packed_floats(self.slots, K)];
        let backwards: Vec<usize> = (0..rows).rev().collect();
        let turned: Vec<f32> = (self.factors.chunks(K).rev()).flatten().copied().collect();
        let per_row = self.per_row;
        kernels.spread(&turned, K, &backwards, &mut factors, per_row, &mut p);
        assert_eq!(factors, self.factors);
        let mut slots = Slots {
            left: &mut left,
            error: &mut error,
            loss: Some(LossSlots {
                missing: &mut missing,
                inverse: &mut inverse,
            }),
        };
        let plain = kernels.pack_lanes(picked, &p, entry_weights, &mut lines, &mut slots);
        let mut negative = None;
        for block in 0..K / LANES {
            let g = self.gradients(&factors, block);
            let diagonals: Vec<f32> = (0..LANES * self.z * LANES)
                .map(|at| {
                    let (f, t, g) = (at / LANES / self.z, at / LANES % self.z, at % LANES);
                    self.missing[t][(block * LANES + f) * K + block * LANES + g]
                })
                .collect();
            let x = LaneBlock {
                block,
                per_row: self.per_row,
                lines: &lines,
                p: &p,
                next: picked,
                left: (!plain).then_some(&left),
                penalty: &penalty,
                weights: &weights,
                diagonals: &diagonals,
                g: &g,
            };
            let mut updates = LaneUpdates {
                steps: &mut steps,
                error: &mut error,
                factors: &mut factors,
            };
            negative = negative.or(kernels.descend_lanes(x, 1e-6, &mut updates));
        }
        let stepped = SteppedEntries {
            plain,
            lines: &lines,
            p: &p,
            steps: &steps,
            error: &error,
            missing: &missing,
            inverse: &inverse,
        };
        Made {
            factors,
            plain,
            losses: kernels.lane_losses(entry_weights, stepped),
            negative,
        }
    }
}

/// The results of kernels for rows.
struct Made {
    factors: Vec<f32>,
    plain: bool,
    losses: [f64; 2],
    /// A row without a minimum, and its curvature.
    negative: Option<(usize, f32)>,
}

#[test]
fn rows_side_by_side_are_stepped_as_each_alone() {
    for (rows, per_row, z) in [
        (16, 1, 1),
        (13, 1, 3),
        (7, 2, 1),
        (4, 4, 2),
        (2, 8, 1),
        (1, 16, 1),
        (13, 1, 19),
        (4, 4, 32),
    ] {
        let mut problem = LaneRows::new(rows, per_row, z);
        problem.check(true);
        // Entries that weigh little more than if they were missing, as much, and less.
        let weighs = problem.weight(0, 2).max(0.0) as f32;
        for (n, c) in problem.entries[0].1.iter_mut().take(3).enumerate() {
            *c = [0.01, 0.0, weighs][n];
        }
        problem.check(false);
    }
}

impl LaneRows {
    /// Every row is stepped as if it were alone.
    fn check(&self, plain: bool) {
        on_every_set(|kernels| {
            let found = self.stepped(kernels);
            assert_eq!((found.negative, found.plain), (None, plain));
            let mut losses = [0.0; 2];
            for row in 0..self.entries.len() {
                let (p, wanted) = self.expected(row);
                assert_close(&found.factors[row * K..(row + 1) * K], &p, "factor");
                let own = self.losses(row, &wanted);
                losses = [losses[0] + own[0], losses[1] + own[1]];
            }
            for (found, wanted) in found.losses.iter().zip(losses) {
                let off = (found - wanted).abs();
                assert!(off < 1e-5 * losses[0], "{found} instead of {wanted}");
            }
        });
    }
}

#[test]
fn a_row_without_a_minimum_is_named() {
    for (rows, per_row) in [(13, 1), (4, 4)] {
        let mut problem = LaneRows::new(rows, per_row, 1);
        problem.weights[1] = vec![-0.5];
        on_every_set(|kernels| {
            let negative = problem.stepped(kernels).negative;
            assert!(
                matches!(negative, Some((1, curvature)) if curvature < 0.0),
                "{negative:?}"
            );
        });
    }
}
