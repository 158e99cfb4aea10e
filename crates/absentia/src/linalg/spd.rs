//! Small symmetric systems in `f64`, for single rows that must be exact.

/// Share of a diagonal entry, per unknown, below which a pivot is what rounding in `f32` left of it.
const ROUNDING: f64 = 1e-7;

/// Solves `h · solution = x` in place for a symmetric positive semidefinite `h` (n × n, full), or
/// yields `None` if `h` has a negative direction.
///
/// Directions without curvature get no component: the unknown stays 0. The unknown with the largest
/// share of its diagonal left goes first, so that what rounding left of one is not divided by.
pub(crate) fn solve(mut h: Vec<f64>, x: &mut [f64]) -> Option<()> {
    let n = x.len();
    let mut floors: Vec<f64> = (0..n)
        .map(|j| n as f64 * ROUNDING * h[j * n + j].abs())
        .collect();
    let mut order: Vec<usize> = (0..n).collect();
    let mut solved = 0;
    while let Some(next) = steepest(&h, &floors, solved) {
        exchange(&mut h, n, solved, next);
        floors.swap(solved, next);
        order.swap(solved, next);
        x.swap(solved, next);
        eliminate(&mut h, n, solved);
        solved += 1;
    }
    if (solved..n).any(|j| h[j * n + j] < -floors[j]) {
        return None;
    }
    let (known, flat) = x.split_at_mut(solved);
    flat.fill(0.0);
    for i in 0..solved {
        for k in 0..i {
            known[i] -= h[i * n + k] * known[k];
        }
    }
    for (i, slot) in known.iter_mut().enumerate() {
        *slot *= h[i * n + i];
    }
    for i in (0..solved).rev() {
        for k in 0..i {
            known[k] -= h[i * n + k] * known[i];
        }
    }
    let mut solution = vec![0.0; n];
    for (&at, value) in order.iter().zip(x.iter()) {
        solution[at] = *value;
    }
    x.copy_from_slice(&solution);
    Some(())
}

/// The unknown from `first` on whose pivot is furthest above its floor; none where no pivot is.
fn steepest(h: &[f64], floors: &[f64], first: usize) -> Option<usize> {
    let n = floors.len();
    let share = |j: usize| h[j * n + j] / floors[j];
    (first..n)
        .filter(|&j| h[j * n + j] > floors[j])
        .max_by(|&i, &j| share(i).total_cmp(&share(j)).then(j.cmp(&i)))
}

/// Exchanges unknowns `i ≤ j` in the lower triangle, factors of those before them included.
fn exchange(h: &mut [f64], n: usize, i: usize, j: usize) {
    if i == j {
        return;
    }
    for k in 0..i {
        h.swap(i * n + k, j * n + k);
    }
    for k in i + 1..j {
        h.swap(k * n + i, j * n + k);
    }
    for k in j + 1..n {
        h.swap(k * n + i, k * n + j);
    }
    h.swap(i * n + i, j * n + j);
}

/// Takes unknown `j` out of those after it: leaves its factors, and the reciprocal of its pivot.
fn eliminate(h: &mut [f64], n: usize, j: usize) {
    let inverse = 1.0 / h[j * n + j];
    let column: Vec<f64> = (j + 1..n).map(|i| h[i * n + j]).collect();
    for i in j + 1..n {
        let factor = column[i - j - 1] * inverse;
        for (slot, other) in h[i * n + j + 1..=i * n + i].iter_mut().zip(&column) {
            *slot -= factor * other;
        }
        h[i * n + j] = factor;
    }
    h[j * n + j] = inverse;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn solves_what_it_is_given() {
        let n = 9;
        let root: Vec<f64> = (0..n * n)
            .map(|at| ((at * 37 % 23) as f64 - 11.0) / 10.0)
            .collect();
        let mut h = vec![0.0; n * n];
        for i in 0..n {
            for j in 0..n {
                h[i * n + j] = (0..n)
                    .map(|k| root[i * n + k] * root[j * n + k])
                    .sum::<f64>()
                    + f64::from(u8::from(i == j));
            }
        }
        let want: Vec<f64> = (0..n).map(|at| at as f64 - 4.0).collect();
        let mut x: Vec<f64> = (0..n)
            .map(|i| (0..n).map(|j| h[i * n + j] * want[j]).sum())
            .collect();
        solve(h, &mut x).expect("positive definite");
        for (got, want) in x.iter().zip(want) {
            assert!((got - want).abs() < 1e-10);
        }
    }

    #[test]
    fn fewer_directions_than_unknowns_are_solved_whatever_their_order() {
        // Rank 3 in 8 unknowns of very different sizes, rounded as sums in f32 are.
        let n = 8;
        let root = |i: usize, k: usize| {
            let size = [0.01, 0.1, 1.0, 10.0][i % 4];
            size * (((i * 29 + k * 13) % 17) as f64 - 8.0)
        };
        let h: Vec<f64> = (0..n * n)
            .map(|at| {
                let exact: f64 = (0..3).map(|k| root(at / n, k) * root(at % n, k)).sum();
                f64::from(exact as f32)
            })
            .collect();
        let right: Vec<f64> = (0..n).map(|i| root(i, 0) - 2.0 * root(i, 2)).collect();
        let mut x = right.clone();
        solve(h.clone(), &mut x).expect("semidefinite");
        assert!(x.iter().filter(|x| **x != 0.0).count() <= 3);
        for i in 0..n {
            let got: f64 = (0..n).map(|j| h[i * n + j] * x[j]).sum();
            assert!(
                (got - right[i]).abs() < 1e-4 * right[i].abs().max(1e-3),
                "{i}"
            );
        }
    }

    #[test]
    fn flat_directions_stay_where_they_are_and_negative_ones_are_refused() {
        let mut x = [2.0, 0.0];
        solve(vec![4.0, 0.0, 0.0, 0.0], &mut x).expect("semidefinite");
        assert!((x[0] - 0.5).abs() < 1e-15 && x[1].abs() < 1e-300);
        assert!(solve(vec![1.0, 0.0, 0.0, -1.0], &mut [1.0, 1.0]).is_none());
    }
}
