//! Lines through timings.

/// `y = offset + slope · x` by least squares.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Line {
    pub(super) offset: f64,
    pub(super) slope: f64,
    /// Standard error of the slope.
    pub(super) slope_error: f64,
    /// Share of the variance that the line explains.
    pub(super) explained: f64,
    /// Largest distance of a point from the line, as a share of the point.
    pub(super) worst: f64,
}

/// Fits a line; nothing if there are fewer than two different x.
pub(super) fn line(points: &[(f64, f64)]) -> Option<Line> {
    let n = points.len() as f64;
    let mean = |of: fn(&(f64, f64)) -> f64| points.iter().map(of).sum::<f64>() / n;
    let (mx, my) = (mean(|p| p.0), mean(|p| p.1));
    let spread: f64 = points.iter().map(|(x, _)| (x - mx).powi(2)).sum();
    if points.len() < 2 || spread <= 0.0 {
        return None;
    }
    let slope = points.iter().map(|(x, y)| (x - mx) * (y - my)).sum::<f64>() / spread;
    let offset = my - slope * mx;
    let off = |(x, y): &(f64, f64)| y - offset - slope * x;
    let left: f64 = points.iter().map(|p| off(p).powi(2)).sum();
    let total: f64 = points.iter().map(|(_, y)| (y - my).powi(2)).sum();
    let worst = points.iter().map(|p| (off(p) / p.1).abs());
    Some(Line {
        offset,
        slope,
        slope_error: (left / (n - 2.0).max(1.0) / spread).sqrt(),
        explained: if total > 0.0 { 1.0 - left / total } else { 1.0 },
        worst: worst.fold(0.0, f64::max),
    })
}

/// Fits `y = c · x^e`: the line through the logarithms, its slope the exponent.
pub(super) fn power(points: &[(f64, f64)]) -> Option<Line> {
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
        assert!((found.slope - 2.0).abs() < 1e-12 && (found.offset - 3.0).abs() < 1e-12);
        assert!(found.explained > 0.999_999 && found.worst < 1e-12);
        let squares: Vec<(f64, f64)> = [1.0, 2.0, 4.0].map(|x| (x, 5.0 * x * x)).to_vec();
        assert!((power(&squares).expect("two x").slope - 2.0).abs() < 1e-12);
        assert_eq!(line(&[(1.0, 2.0), (1.0, 3.0)]), None);
    }
}
