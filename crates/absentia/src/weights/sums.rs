//! Every sum over rows or missing entries that weights are made with, each in one place.

use std::ops::Range;

use crate::data::Interactions;
use crate::linalg::Dense;
pub(super) use crate::row_sums::sum_values as sum;
use crate::row_sums::{Summand, sum_rows};

/// Number of missing entries.
pub(super) fn missing_entries(data: &Interactions<'_>) -> u64 {
    data.n_users() as u64 * data.n_items() as u64 - data.whole_len() as u64
}

/// Yields the mean of every column, 0 of a matrix without rows.
pub(super) fn column_means(matrix: &Dense) -> Vec<f32> {
    let rows = matrix.rows().max(1) as f64;
    let sums = matrix.column_sums().into_iter();
    sums.map(|sum| (sum / rows) as f32).collect()
}

/// Yields `Σ x_u y_i` over missing entries: the sum over all entries less that over the observed ones.
pub(super) fn total_product_over_missing(data: &Interactions<'_>, x: &[f64], y: &[f64]) -> f64 {
    let all = sum(y);
    let of_user = |user: usize| {
        let items = data.by_user().row(user).indices.iter();
        x[user] * (all - items.map(|&item| y[item as usize]).sum::<f64>())
    };
    data.sum_over_users(of_user)
}

/// Yields the mean of `a_u · b_i` over missing entries in `O(|R| Z + (M + N) Z)`, 0 if there are none.
pub(super) fn mean_over_missing(data: &Interactions<'_>, a: &Dense, b: &Dense) -> f64 {
    match missing_entries(data) {
        0 => 0.0,
        missing => total_over_missing(data, a, b) / missing as f64,
    }
}

/// Yields the sum of `a_u · b_i` over missing entries in `O(|R| Z + (M + N) Z)`.
pub(super) fn total_over_missing(data: &Interactions<'_>, a: &Dense, b: &Dense) -> f64 {
    let b_sums = b.column_sums();
    let of_user = |user| row_over_missing(data, user, a, b, &b_sums);
    data.sum_over_users(of_user)
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
    let of_chunk = |users: Range<usize>| {
        let mut sums = [0.0, 0.0];
        for user in users {
            let (squares, weight) = of_user(user as u32);
            sums.add([squares, weight]);
        }
        sums
    };
    let [squares, weight] = sum_rows(n_users, of_chunk).unwrap_or_default();
    squares / weight.max(1.0)
}
