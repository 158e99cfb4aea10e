//! R as an operator on vectors: its targets `r_ui`, zero wherever there is no entry.

use rayon::prelude::*;

use super::entries::Entries;
use super::interactions::Interactions;
use crate::linalg::{LinearOperator, TallMatrix};

/// Rows of the result computed by one task.
const TASK_ROWS: usize = 128;

impl LinearOperator for Interactions<'_> {
    fn rows(&self) -> usize {
        self.n_users()
    }

    fn cols(&self) -> usize {
        self.n_items()
    }

    fn apply(&self, x: &TallMatrix) -> TallMatrix {
        product(&self.by_user, x)
    }

    fn apply_transposed(&self, y: &TallMatrix) -> TallMatrix {
        product(&self.by_item, y)
    }

    fn squared_norm(&self) -> f64 {
        let of_user = |user: usize| {
            let row = self.by_user.row(user);
            let squares = (0..row.indices.len()).map(|n| f64::from(row.r.get(n)).powi(2));
            squares.sum()
        };
        self.sum_over_users(of_user)
    }
}

/// Each row of the result is a sum over one row of entries, so tasks do not interact.
fn product(entries: &Entries<'_>, x: &TallMatrix) -> TallMatrix {
    let k = x.cols();
    let mut y = TallMatrix::zeros(entries.rows(), k);
    y.values_mut()
        .par_chunks_mut(TASK_ROWS * k.max(1))
        .enumerate()
        .for_each(|(task, out)| {
            for (at, sum) in out.chunks_exact_mut(k.max(1)).enumerate() {
                let row = entries.row(task * TASK_ROWS + at);
                for (n, &index) in row.indices.iter().enumerate() {
                    let r = f64::from(row.r.get(n));
                    let pairs = sum.iter_mut().zip(x.row(index as usize));
                    pairs.for_each(|(sum, x)| *sum += r * x);
                }
            }
        });
    y
}
