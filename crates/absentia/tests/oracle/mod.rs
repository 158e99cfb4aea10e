//! An independent dense `f64` reference: plain loops over every entry, sharing nothing with the engine.
#![allow(
    dead_code,
    missing_docs,
    unreachable_pub,
    clippy::unwrap_used,
    clippy::unused_self
)]

use absentia::Dense;
use absentia::data::{Duplicates, Interactions, Triplets};
use absentia::weights::Scheme;

/// A tiny generator of its own, so that problems repeat by seed.
pub struct Dice(u64);

impl Dice {
    pub fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ 0xD1B5_4A32_D192_ED03)
    }

    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut x = self.0;
        x = (x ^ (x >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        x = (x ^ (x >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        x ^ (x >> 31)
    }

    pub fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1_u64 << 53) as f64
    }

    pub fn below(&mut self, n: usize) -> usize {
        (self.next() % n as u64) as usize
    }
}

/// Shape of a random problem.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    pub users: usize,
    pub items: usize,
    pub k: usize,
    pub z: usize,
    pub density: f64,
    pub seed: u64,
    pub lambda: f64,
    pub nu: f64,
    pub exceptions: bool,
}

/// A problem held densely: target and weight of observed entries, weight of missing ones.
#[derive(Clone)]
pub struct Problem {
    pub shape: Shape,
    pub observed: Vec<Option<(f64, f64)>>,
    pub exposed: Vec<bool>,
    pub a: Vec<f64>,
    pub b: Vec<f64>,
    pub p: Vec<f64>,
    pub q: Vec<f64>,
}

/// Rounds to what the engine will see.
fn single(x: f64) -> f64 {
    f64::from(x as f32)
}

impl Problem {
    pub fn random(shape: Shape) -> Self {
        let mut dice = Dice::new(shape.seed);
        let cells = shape.users * shape.items;
        let mut observed = vec![None; cells];
        let mut exposed = vec![false; cells];
        for user in 0..shape.users {
            // Some rows and columns stay empty.
            if user % 7 == 3 {
                continue;
            }
            for item in 0..shape.items {
                let at = user * shape.items + item;
                if item % 11 == 5 || dice.unit() > shape.density {
                    continue;
                }
                if shape.exceptions && dice.unit() < 0.2 {
                    observed[at] = Some((0.0, single(0.1 + dice.unit())));
                    exposed[at] = true;
                } else {
                    observed[at] = Some((
                        single(dice.unit() * 5.0 - 2.0),
                        single(0.2 + 2.0 * dice.unit()),
                    ));
                }
            }
        }
        let mut numbers = |n: usize, low: f64, high: f64| -> Vec<f64> {
            (0..n)
                .map(|_| single(low + (high - low) * dice.unit()))
                .collect()
        };
        let a = numbers(shape.users * shape.z, 0.0, 0.6);
        let b = numbers(shape.items * shape.z, 0.0, 0.6);
        let p = numbers(shape.users * shape.k, -0.5, 0.5);
        let q = numbers(shape.items * shape.k, -0.5, 0.5);
        Self {
            shape,
            observed,
            exposed,
            a,
            b,
            p,
            q,
        }
    }

    pub fn weight(&self, user: usize, item: usize) -> f64 {
        let z = self.shape.z;
        (0..z)
            .map(|t| self.a[user * z + t] * self.b[item * z + t])
            .sum()
    }

    pub fn predict(&self, user: usize, item: usize) -> f64 {
        let k = self.shape.k;
        (0..k)
            .map(|f| self.p[user * k + f] * self.q[item * k + f])
            .sum()
    }

    /// Weight and target of any entry, observed or not.
    pub fn cell(&self, user: usize, item: usize) -> (f64, f64) {
        match self.observed[user * self.shape.items + item] {
            Some((r, c)) => (c, r),
            None => (self.weight(user, item), 0.0),
        }
    }

    pub fn user_lambda(&self, user: usize) -> f64 {
        let total: f64 = (0..self.shape.items)
            .map(|item| self.cell(user, item).0)
            .sum();
        self.shape.lambda * total.powf(self.shape.nu)
    }

    pub fn item_lambda(&self, item: usize) -> f64 {
        let total: f64 = (0..self.shape.users)
            .map(|user| self.cell(user, item).0)
            .sum();
        self.shape.lambda * total.powf(self.shape.nu)
    }

    /// Observed, missing and regularisation parts of the objective, entry by entry.
    pub fn objective(&self) -> (f64, f64, f64) {
        let (mut observed, mut missing) = (0.0, 0.0);
        for user in 0..self.shape.users {
            for item in 0..self.shape.items {
                let (w, r) = self.cell(user, item);
                let loss = w * (r - self.predict(user, item)).powi(2);
                if self.observed[user * self.shape.items + item].is_some() {
                    observed += loss;
                } else {
                    missing += loss;
                }
            }
        }
        let k = self.shape.k;
        let square = |row: &[f64]| row.iter().map(|x| x * x).sum::<f64>();
        let users: f64 = self
            .p
            .chunks(k)
            .enumerate()
            .map(|(user, row)| self.user_lambda(user) * square(row))
            .sum();
        let items: f64 = self
            .q
            .chunks(k)
            .enumerate()
            .map(|(item, row)| self.item_lambda(item) * square(row))
            .sum();
        (observed, missing, users + items)
    }

    /// One sweep of coordinate descent, straight from the paper's equations for `p_uf` and `q_if`.
    pub fn sweep(&mut self) {
        let Shape {
            users, items, k, ..
        } = self.shape;
        for user in 0..users {
            let lambda = self.user_lambda(user);
            for f in 0..k {
                let (mut above, mut below) = (0.0, lambda);
                for item in 0..items {
                    let (w, r) = self.cell(user, item);
                    let q = self.q[item * k + f];
                    above += w * (r - (self.predict(user, item) - self.p[user * k + f] * q)) * q;
                    below += w * q * q;
                }
                if below > 0.0 {
                    self.p[user * k + f] = above / below;
                }
            }
        }
        for item in 0..items {
            let lambda = self.item_lambda(item);
            for f in 0..k {
                let (mut above, mut below) = (0.0, lambda);
                for user in 0..users {
                    let (w, r) = self.cell(user, item);
                    let p = self.p[user * k + f];
                    above += w * (r - (self.predict(user, item) - self.q[item * k + f] * p)) * p;
                    below += w * p * p;
                }
                if below > 0.0 {
                    self.q[item * k + f] = above / below;
                }
            }
        }
    }

    /// The same problem as the engine takes it.
    pub fn interactions(&self) -> Interactions<'static> {
        let (mut users, mut items, mut values, mut weights) = (vec![], vec![], vec![], vec![]);
        let (mut shown_users, mut shown_items, mut shown_weights) = (vec![], vec![], vec![]);
        for (at, entry) in self.observed.iter().enumerate() {
            let (user, item) = (
                (at / self.shape.items) as u32,
                (at % self.shape.items) as u32,
            );
            match entry {
                Some((_, c)) if self.exposed[at] => {
                    shown_users.push(user);
                    shown_items.push(item);
                    shown_weights.push(*c as f32);
                }
                Some((r, c)) => {
                    users.push(user);
                    items.push(item);
                    values.push(*r as f32);
                    weights.push(*c as f32);
                }
                None => {}
            }
        }
        let data = Triplets::new(&users, &items)
            .values(&values)
            .weights(&weights)
            .build(self.shape.users, self.shape.items, Duplicates::Error)
            .unwrap();
        if shown_users.is_empty() {
            data
        } else {
            data.with_exposed(&shown_users, &shown_items, &shown_weights)
                .unwrap()
        }
    }

    pub fn scheme(&self) -> Scheme {
        let single = |values: &[f64]| values.iter().map(|x| *x as f32).collect::<Vec<_>>();
        Scheme::low_rank(
            Dense::from_slice(self.shape.users, self.shape.z, &single(&self.a)).unwrap(),
            Dense::from_slice(self.shape.items, self.shape.z, &single(&self.b)).unwrap(),
        )
    }

    pub fn dense(&self, values: &[f64], rows: usize) -> Dense {
        let single: Vec<f32> = values.iter().map(|x| *x as f32).collect();
        Dense::from_slice(rows, values.len() / rows, &single).unwrap()
    }
}

/// `|x − y| / |y|`.
pub fn relative_distance(x: impl Iterator<Item = f64>, y: impl Iterator<Item = f64>) -> f64 {
    let (mut difference, mut norm) = (0.0, 0.0);
    for (x, y) in x.zip(y) {
        difference += (x - y) * (x - y);
        norm += y * y;
    }
    (difference / norm.max(1e-30)).sqrt()
}
