//! The objective and its sweeps, entry by entry in `f64`: plain loops that share nothing with the engine.
#![allow(clippy::needless_range_loop, reason = "several arrays share an index")]

use crate::dice::Dice;

/// Weight and target of every entry, observed or not.
pub(super) struct Oracle {
    pub(super) users: usize,
    pub(super) items: usize,
    pub(super) factors: usize,
    /// Weight of an entry as it counts: `c` of an observed one, `w` of a missing one.
    pub(super) weight: Vec<f64>,
    /// Weight that an entry would have if it were missing.
    pub(super) missing: Vec<f64>,
    /// Targets; 0 for missing entries.
    pub(super) target: Vec<f64>,
    pub(super) lambda: f64,
    pub(super) exponent: f64,
}

/// Factors of both sides, row by row.
#[derive(Clone)]
pub(super) struct Factors {
    pub(super) p: Vec<f64>,
    pub(super) q: Vec<f64>,
}

impl Factors {
    pub(super) fn random(
        dice: &mut Dice,
        rows: usize,
        columns: usize,
        k: usize,
        size: f64,
    ) -> Self {
        let mut numbers = |n: usize| -> Vec<f64> {
            let number = |_| f64::from((size * (2.0 * dice.unit() - 1.0)) as f32);
            (0..n).map(number).collect()
        };
        Self {
            p: numbers(rows * k),
            q: numbers(columns * k),
        }
    }
}

impl Oracle {
    fn predict(&self, factors: &Factors, user: usize, item: usize) -> f64 {
        let k = self.factors;
        let (p, q) = (&factors.p[user * k..][..k], &factors.q[item * k..][..k]);
        p.iter().zip(q).map(|(p, q)| p * q).sum()
    }

    /// `λ m^ν` of every user and every item.
    fn penalties(&self) -> (Vec<f64>, Vec<f64>) {
        let (mut users, mut items) = (vec![0.0; self.users], vec![0.0; self.items]);
        for (at, weight) in self.weight.iter().enumerate() {
            users[at / self.items] += weight;
            items[at % self.items] += weight;
        }
        let penalty = |total: &mut f64| *total = self.lambda * total.powf(self.exponent);
        users.iter_mut().for_each(penalty);
        items.iter_mut().for_each(penalty);
        (users, items)
    }

    pub(super) fn objective(&self, factors: &Factors) -> f64 {
        let mut sum = 0.0;
        for (at, (weight, target)) in self.weight.iter().zip(&self.target).enumerate() {
            let error = target - self.predict(factors, at / self.items, at % self.items);
            sum += weight * error * error;
        }
        let (users, items) = self.penalties();
        let squares = |penalties: &[f64], rows: &[f64]| -> f64 {
            let rows = rows.chunks(self.factors).zip(penalties);
            rows.map(|(row, penalty)| penalty * row.iter().map(|x| x * x).sum::<f64>())
                .sum()
        };
        sum + squares(&users, &factors.p) + squares(&items, &factors.q)
    }

    /// What the objective would be without factors.
    pub(super) fn at_zero(&self) -> f64 {
        self.weight
            .iter()
            .zip(&self.target)
            .map(|(c, r)| c * r * r)
            .sum()
    }

    /// The largest numbers that a computation by caches adds and subtracts.
    pub(super) fn size(&self, factors: &Factors) -> f64 {
        let mut sum = self.at_zero();
        for (at, weight) in self.missing.iter().enumerate() {
            sum += weight
                * self
                    .predict(factors, at / self.items, at % self.items)
                    .powi(2);
        }
        sum
    }

    /// Improves users, then items, by exact steps over blocks of coordinates.
    pub(super) fn sweep(&self, factors: &mut Factors, block: usize) {
        let (users, items) = self.penalties();
        for (user, penalty) in users.iter().enumerate() {
            let entries: Vec<(usize, usize)> = (0..self.items)
                .map(|item| (user * self.items + item, item))
                .collect();
            let Factors { p, q } = factors;
            self.improve(
                &mut p[user * self.factors..][..self.factors],
                q,
                &entries,
                *penalty,
                block,
            );
        }
        for (item, penalty) in items.iter().enumerate() {
            let entries: Vec<(usize, usize)> = (0..self.users)
                .map(|user| (user * self.items + item, user))
                .collect();
            let Factors { p, q } = factors;
            self.improve(
                &mut q[item * self.factors..][..self.factors],
                p,
                &entries,
                *penalty,
                block,
            );
        }
    }

    fn improve(
        &self,
        row: &mut [f64],
        fixed: &[f64],
        entries: &[(usize, usize)],
        penalty: f64,
        block: usize,
    ) {
        let k = self.factors;
        for first in (0..k).step_by(block) {
            let size = block.min(k - first);
            let (mut h, mut g) = (vec![0.0; size * size], vec![0.0; size]);
            for &(at, other) in entries {
                let other = &fixed[other * k..][..k];
                let predicted: f64 = row.iter().zip(other).map(|(p, q)| p * q).sum();
                for f in 0..size {
                    let wq = self.weight[at] * other[first + f];
                    g[f] += wq * (self.target[at] - predicted);
                    for e in 0..size {
                        h[f * size + e] += wq * other[first + e];
                    }
                }
            }
            for f in 0..size {
                g[f] -= penalty * row[first + f];
                h[f * size + f] += penalty;
            }
            for (f, step) in solved(h, g).into_iter().enumerate() {
                row[first + f] += step;
            }
        }
    }
}

/// The solution of `h x = g` by Gauss-Jordan elimination; 0 in directions without curvature.
fn solved(mut h: Vec<f64>, mut g: Vec<f64>) -> Vec<f64> {
    let n = g.len();
    let scale = (0..n).map(|f| h[f * n + f]).fold(0.0, f64::max);
    let mut is_free = vec![true; n];
    for f in 0..n {
        let pivot = h[f * n + f];
        if pivot <= 1e-13 * scale {
            is_free[f] = false;
            continue;
        }
        for row in (0..n).filter(|&row| row != f) {
            let share = h[row * n + f] / pivot;
            for column in 0..n {
                h[row * n + column] -= share * h[f * n + column];
            }
            g[row] -= share * g[f];
        }
    }
    (0..n)
        .map(|f| if is_free[f] { g[f] / h[f * n + f] } else { 0.0 })
        .collect()
}
