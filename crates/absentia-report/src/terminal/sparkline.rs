//! A curve in one line of text.

const LEVELS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// One block per value, from the lowest to the highest; values that are not finite leave a blank.
///
/// ```
/// assert_eq!(absentia_report::terminal::sparkline(&[9.0, 5.0, 3.0, 2.0]), "█▄▂▁");
/// ```
#[must_use]
pub fn sparkline(values: &[f64]) -> String {
    let finite = values.iter().copied().filter(|v| v.is_finite());
    let low = finite.clone().fold(f64::INFINITY, f64::min);
    let high = finite.fold(f64::NEG_INFINITY, f64::max);
    values
        .iter()
        .map(|&v| level(v, low, high).map_or(' ', |n| LEVELS[n]))
        .collect()
}

fn level(v: f64, low: f64, high: f64) -> Option<usize> {
    if !v.is_finite() {
        return None;
    }
    let top = LEVELS.len() - 1;
    if high <= low {
        return Some(top / 2);
    }
    Some(((v - low) / (high - low) * top as f64).round() as usize)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_all_levels() {
        let values: Vec<f64> = (0..8).map(f64::from).collect();
        assert_eq!(sparkline(&values), "▁▂▃▄▅▆▇█");
    }

    #[test]
    fn constant_and_broken_values_are_drawn_calmly() {
        assert_eq!(sparkline(&[2.0, f64::NAN, 2.0]), "▄ ▄");
        assert_eq!(sparkline(&[]), "");
    }
}
