//! Small symmetric systems in `f64`, for single rows that must be exact.

/// Share of a diagonal entry, per unknown, below which a pivot is what rounding in `f32` left of it.
const ROUNDING: f64 = 1e-7;

/// Solves `h · solution = x` in place for a symmetric positive semidefinite `h` (n × n, full), or
/// yields `None` if `h` has a negative direction.
///
/// Directions without curvature get no component: the unknown stays 0.
pub(crate) fn solve(mut h: Vec<f64>, x: &mut [f64]) -> Option<()> {
    let n = x.len();
    let floors: Vec<f64> = (0..n)
        .map(|j| n as f64 * ROUNDING * h[j * n + j].abs())
        .collect();
    for j in 0..n {
        let pivot = h[j * n + j];
        if pivot < -floors[j] {
            return None;
        }
        let inverse = if pivot > floors[j] { 1.0 / pivot } else { 0.0 };
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
    for i in 0..n {
        for k in 0..i {
            x[i] -= h[i * n + k] * x[k];
        }
    }
    for (i, slot) in x.iter_mut().enumerate() {
        *slot *= h[i * n + i];
    }
    for i in (0..n).rev() {
        for k in 0..i {
            x[k] -= h[i * n + k] * x[i];
        }
    }
    Some(())
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
    fn flat_directions_stay_where_they_are_and_negative_ones_are_refused() {
        let mut x = [2.0, 0.0];
        solve(vec![4.0, 0.0, 0.0, 0.0], &mut x).expect("semidefinite");
        assert!((x[0] - 0.5).abs() < 1e-15 && x[1].abs() < 1e-300);
        assert!(solve(vec![1.0, 0.0, 0.0, -1.0], &mut [1.0, 1.0]).is_none());
    }
}
