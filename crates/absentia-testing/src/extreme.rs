//! Random problems at the edge of what floating-point numbers hold, and their objective.
//!
//! Observed entries that weigh far less than missing ones, no regularization, more factors than the
//! matrix has rank, and targets and weights of any scale: sums of squares then cancel, and curvatures
//! vanish. [`Extreme::objective`] visits every entry in `f64` and shares no code with the engine.

use std::fmt::Write as _;

/// A generator of random numbers, so that problems repeat by seed.
struct Dice(u64);

impl Dice {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut x = self.0;
        x = (x ^ (x >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        x = (x ^ (x >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        x ^ (x >> 31)
    }

    fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1_u64 << 53) as f64
    }

    fn one_of<T: Copy>(&mut self, values: &[T]) -> T {
        values[(self.next() % values.len() as u64) as usize]
    }
}

/// The names of the solvers that every problem is for.
pub const SOLVERS: [&str; 7] = [
    "eals",
    "eals-vanilla",
    "subspace:4",
    "subspace:16",
    "als",
    "als-cg:2",
    "als-cg:7",
];

/// An observed entry.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Observed {
    /// Row of the user.
    pub user: u32,
    /// Row of the item.
    pub item: u32,
    /// Target r.
    pub r: f32,
    /// Weight c.
    pub c: f32,
}

/// A problem: what is minimised, and the factors that a run can start from.
#[derive(Clone, Debug)]
pub struct Extreme {
    /// Number of users.
    pub users: usize,
    /// Number of items.
    pub items: usize,
    /// Number of factors K.
    pub factors: usize,
    /// Rank Z of the weights on missing entries.
    pub rank: usize,
    /// Regularization λ, the same for every row.
    pub lambda: f32,
    /// Observed entries, by user and item.
    pub observed: Vec<Observed>,
    /// Weights of missing entries: a row of Z for each user.
    pub a: Vec<f32>,
    /// Weights of missing entries: a row of Z for each item.
    pub b: Vec<f32>,
    /// Initial factors: a row of K for each user.
    pub p: Vec<f32>,
    /// Initial factors: a row of K for each item.
    pub q: Vec<f32>,
    /// What was drawn, in a line.
    pub name: String,
}

impl Extreme {
    /// Yields the problem of a seed.
    #[must_use]
    pub fn of_seed(seed: u64) -> Self {
        let mut dice = Dice(seed.wrapping_mul(0xD1B5_4A32_D192_ED03));
        let (users, items) = dice.one_of(&[(40, 30), (17, 23), (60, 12), (8, 45)]);
        let factors = dice.one_of(&[1, 3, 8, 16, 20, 32, 48]);
        let rank = dice.one_of(&[1, 1, 2]);
        let density = dice.one_of(&[0.1, 0.5, 0.9, 0.98]);
        let lambda = dice.one_of(&[0.0, 0.0, 1e-9, 1e-6, 1e-2]);
        let c: f64 = dice.one_of(&[1e-12, 1e-9, 1e-6, 1e-2, 1.0, 1.0, 1e6, 1e12]);
        let w: f64 = dice.one_of(&[0.0, 1e-12, 1e-6, 1.0, 1.0, 1.0, 1e12]);
        let r: f64 = dice.one_of(&[1e-12, 1e-6, 1.0, 1.0, 1e6, 1e12]);
        // Targets of low rank are fitted up to rounding.
        let fits = dice.one_of(&[true, false]);
        let taste: Vec<[f64; 2]> = (0..users + items)
            .map(|_| [2.0 * dice.unit() - 1.0, 2.0 * dice.unit() - 1.0])
            .collect();
        let mut observed = Vec::new();
        for user in 0..users {
            for item in 0..items {
                if dice.unit() > density || (user % 7 == 3 && density < 0.5) {
                    continue;
                }
                let (x, y) = (taste[user], taste[users + item]);
                let noise = 5.0 * dice.unit() - 2.0;
                let target = if fits {
                    x[0] * y[0] + x[1] * y[1]
                } else {
                    noise
                };
                observed.push(Observed {
                    user: user as u32,
                    item: item as u32,
                    r: (r * target) as f32,
                    c: (c * (0.2 + 2.0 * dice.unit())) as f32,
                });
            }
        }
        if observed.is_empty() {
            let (user, item, r, c) = (0, 0, r as f32, c as f32);
            observed.push(Observed { user, item, r, c });
        }
        let mut numbers = |n: usize, low: f64, high: f64| -> Vec<f32> {
            let mut number = || (low + (high - low) * dice.unit()) as f32;
            (0..n).map(|_| number()).collect()
        };
        let root = w.sqrt();
        let a = numbers(users * rank, 0.3 * root, root);
        let b = numbers(items * rank, 0.3 * root, root);
        let start = 0.5 * r.sqrt();
        Self {
            users,
            items,
            factors,
            rank,
            lambda,
            observed,
            a,
            b,
            p: numbers(users * factors, -start, start),
            q: numbers(items * factors, -start, start),
            name: format!(
                "seed {seed}: {users} x {items}, {density} observed, K {factors}, Z {rank}, λ {lambda}, c {c}, \
                 w {w}, r {r}{}",
                if fits { ", targets of rank 2" } else { "" }
            ),
        }
    }

    /// The observed, missing and regularization parts of the objective of factors in rows of K, entry by
    /// entry.
    ///
    /// # Panics
    /// If the factors do not have K numbers for each user and item.
    #[must_use]
    pub fn objective(&self, p: &[f32], q: &[f32]) -> [f64; 3] {
        let (k, z) = (self.factors, self.rank);
        assert_eq!((p.len(), q.len()), (self.users * k, self.items * k));
        let product = |x: &[f32], y: &[f32]| -> f64 {
            let pairs = x.iter().zip(y);
            pairs.map(|(x, y)| f64::from(*x) * f64::from(*y)).sum()
        };
        let [mut of_observed, mut of_missing] = [0.0, 0.0];
        let mut observed = self.observed.iter().peekable();
        for (user, p) in p.chunks_exact(k).enumerate() {
            for (item, q) in q.chunks_exact(k).enumerate() {
                let predicted = product(p, q);
                let is_this = |at: &&Observed| (at.user as usize, at.item as usize) == (user, item);
                if let Some(entry) = observed.next_if(is_this) {
                    of_observed += f64::from(entry.c) * (f64::from(entry.r) - predicted).powi(2);
                } else {
                    let weight = product(&self.a[user * z..][..z], &self.b[item * z..][..z]);
                    of_missing += weight * predicted * predicted;
                }
            }
        }
        let squares = product(p, p) + product(q, q);
        [of_observed, of_missing, f64::from(self.lambda) * squares]
    }

    /// The observed entries as a file for `--header true` with the columns user, item, rating and weight.
    #[must_use]
    pub fn csv(&self) -> String {
        let mut text = "user,item,rating,weight\n".to_owned();
        for Observed { user, item, r, c } in &self.observed {
            let _ = writeln!(text, "{user},{item},{r:e},{c:e}");
        }
        text
    }

    /// Rows of numbers as a table with an id in its first column, as `lowrank:` and `--init` read it.
    #[must_use]
    pub fn table(rows: &[f32], columns: usize) -> String {
        let mut text = String::from("id");
        for column in 0..columns {
            let _ = write!(text, ",x{column}");
        }
        for (id, row) in rows.chunks_exact(columns).enumerate() {
            let _ = write!(text, "\n{id}");
            for x in row {
                let _ = write!(text, ",{x:e}");
            }
        }
        text.push('\n');
        text
    }

    /// The flags of `absentia train` for the problem, except the data, the weights on missing entries
    /// and the solver.
    #[must_use]
    pub fn flags(&self) -> Vec<String> {
        let flags = [
            ("--targets", "raw".to_owned()),
            ("--confidence", "column".to_owned()),
            ("--factors", self.factors.to_string()),
            ("--regularization", self.lambda.to_string()),
            ("--reg-exponent", "0".to_owned()),
        ];
        let flags = flags.into_iter();
        flags
            .flat_map(|(flag, value)| [flag.to_owned(), value])
            .collect()
    }
}
