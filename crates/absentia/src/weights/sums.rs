//! Every sum over rows or missing entries that weights are made with, each in one place.

use rayon::prelude::*;

use crate::data::Interactions;
use crate::linalg::Dense;

/// Users whose missing entries are added up by one task.
const USERS_PER_TASK: usize = 1024;

/// Number of missing entries.
pub(super) fn missing_entries(data: &Interactions<'_>) -> u64 {
    data.n_users() as u64 * data.n_items() as u64 - data.len() as u64
}

/// Yields the sum of one number for each user or item.
pub(super) fn sum(values: &[f64]) -> f64 {
    values.iter().sum()
}

/// Yields the sum of every column.
pub(super) fn column_sums(matrix: &Dense) -> Vec<f64> {
    let mut sums = vec![0.0; matrix.cols()];
    for row in 0..matrix.rows() {
        let values = matrix.row(row).iter();
        sums.iter_mut()
            .zip(values)
            .for_each(|(sum, &x)| *sum += f64::from(x));
    }
    sums
}

/// Yields the mean of every column, 0 of a matrix without rows.
pub(super) fn column_means(matrix: &Dense) -> Vec<f32> {
    let rows = matrix.rows().max(1) as f64;
    let sums = column_sums(matrix).into_iter();
    sums.map(|sum| (sum / rows) as f32).collect()
}

/// Yields `Σ x_u y_i` over missing entries: the sum over all entries less that over the observed ones.
pub(super) fn total_product_over_missing(data: &Interactions<'_>, x: &[f64], y: &[f64]) -> f64 {
    let all = sum(y);
    let rows = x.iter().enumerate().map(|(user, x_u)| {
        let items = data.by_user().row(user).indices.iter();
        x_u * (all - items.map(|&item| y[item as usize]).sum::<f64>())
    });
    rows.sum()
}

/// Yields the mean of `a_u · b_i` over missing entries in `O(|R| Z + (M + N) Z)`, 0 if there are none.
pub(super) fn mean_over_missing(data: &Interactions<'_>, a: &Dense, b: &Dense) -> f64 {
    let missing = missing_entries(data);
    if missing == 0 {
        return 0.0;
    }
    let b_sums = column_sums(b);
    let users: Vec<usize> = (0..a.rows()).collect();
    let totals: Vec<f64> = users
        .par_chunks(USERS_PER_TASK)
        .map(|users| {
            let totals = users.iter();
            totals
                .map(|&user| row_over_missing(data, user, a, b, &b_sums))
                .sum()
        })
        .collect();
    sum(&totals) / missing as f64
}

/// Yields the sum of `a_u · b_i` over the missing entries of a user.
fn row_over_missing(
    data: &Interactions<'_>,
    user: usize,
    a: &Dense,
    b: &Dense,
    b_sums: &[f64],
) -> f64 {
    let mut rest = b_sums.to_vec();
    for &item in data.by_user().row(user).indices {
        let row = b.row(item as usize);
        rest.iter_mut()
            .zip(row)
            .for_each(|(sum, &b)| *sum -= f64::from(b));
    }
    let pairs = a.row(user).iter().zip(&rest);
    pairs.map(|(&a, sum)| f64::from(a) * sum).sum()
}

/// Yields the weighted mean of squares whose sum and total weight `of_user` yields for each user.
pub(super) fn weighted_mean_square(
    n_users: usize,
    of_user: impl Fn(u32) -> (f64, f64) + Send + Sync,
) -> f64 {
    let rows: Vec<(f64, f64)> = (0..n_users as u32).into_par_iter().map(of_user).collect();
    let add = |sum: (f64, f64), row: &(f64, f64)| (sum.0 + row.0, sum.1 + row.1);
    let (squares, weight) = rows.iter().fold((0.0, 0.0), add);
    squares / weight.max(1.0)
}
