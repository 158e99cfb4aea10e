//! Lines through timings.

/// `y = start + slope · x` by least squares.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize)]
pub struct Line {
    /// Value at `x = 0`.
    pub start: f64,
    /// Growth of `y` with `x`.
    pub slope: f64,
    /// Standard error of the start.
    pub start_error: f64,
    /// Standard error of the slope.
    pub slope_error: f64,
    /// Share of the variance that the line explains.
    pub explained: f64,
    /// Largest distance of a point from the line, as a share of the point.
    pub worst: f64,
}

/// Fits a line; `None` if there are fewer than two different x.
#[must_use]
pub fn line(points: &[(f64, f64)]) -> Option<Line> {
    let n = points.len() as f64;
    let mean = |of: fn(&(f64, f64)) -> f64| points.iter().map(of).sum::<f64>() / n;
    let (mx, my) = (mean(|p| p.0), mean(|p| p.1));
    let spread: f64 = points.iter().map(|(x, _)| (x - mx).powi(2)).sum();
    if points.len() < 2 || spread <= 0.0 {
        return None;
    }
    let slope = points.iter().map(|(x, y)| (x - mx) * (y - my)).sum::<f64>() / spread;
    let start = my - slope * mx;
    let off = |(x, y): &(f64, f64)| y - start - slope * x;
    let left: f64 = points.iter().map(|p| off(p).powi(2)).sum();
    let total: f64 = points.iter().map(|(_, y)| (y - my).powi(2)).sum();
    let worst = points.iter().map(|p| (off(p) / p.1).abs());
    let variance = left / (n - 2.0).max(1.0);
    Some(Line {
        start,
        slope,
        start_error: (variance * (1.0 / n + mx * mx / spread)).sqrt(),
        slope_error: (variance / spread).sqrt(),
        explained: if total > 0.0 { 1.0 - left / total } else { 1.0 },
        worst: worst.fold(0.0, f64::max),
    })
}

/// Fits `y = c · x^e`: the line through the logarithms, its slope the exponent.
#[must_use]
pub fn power(points: &[(f64, f64)]) -> Option<Line> {
    let logs: Vec<(f64, f64)> = points
        .iter()
        .filter(|(x, y)| *x > 0.0 && *y > 0.0)
        .map(|(x, y)| (x.ln(), y.ln()))
        .collect();
    line(&logs)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_lines_are_found() {
        let points: Vec<(f64, f64)> = [1.0, 2.0, 4.0, 8.0].map(|x| (x, 3.0 + 2.0 * x)).to_vec();
        let found = line(&points).expect("two x");
        assert!((found.slope - 2.0).abs() < 1e-12 && (found.start - 3.0).abs() < 1e-12);
        assert!(found.explained > 0.999_999 && found.worst < 1e-12);
        let squares: Vec<(f64, f64)> = [1.0, 2.0, 4.0].map(|x| (x, 5.0 * x * x)).to_vec();
        assert!((power(&squares).expect("two x").slope - 2.0).abs() < 1e-12);
        assert_eq!(line(&[(1.0, 2.0), (1.0, 3.0)]), None);
        // By hand: slope 1, start 1/3, residuals (-1/3, 2/3, -1/3), variance 2/3 over 1 degree.
        let noisy = line(&[(0.0, 0.0), (1.0, 2.0), (2.0, 2.0)]).expect("three x");
        assert!((noisy.slope - 1.0).abs() < 1e-12 && (noisy.start - 1.0 / 3.0).abs() < 1e-12);
        assert!((noisy.slope_error - (1.0_f64 / 3.0).sqrt()).abs() < 1e-12);
        assert!((noisy.start_error - (5.0_f64 / 9.0).sqrt()).abs() < 1e-12);
    }
}
