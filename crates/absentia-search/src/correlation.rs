//! How well two lists of scores agree on an order.

/// Spearman's rank correlation, equal values sharing their mean rank; nothing for fewer than two
/// pairs, or where one side does not vary.
pub(crate) fn spearman(a: &[f64], b: &[f64]) -> Option<f64> {
    if a.len() != b.len() || a.len() < 2 {
        return None;
    }
    let (a, b) = (ranks(a), ranks(b));
    let mean = f64::midpoint(a.len() as f64, 1.0);
    let product = |x: &[f64], y: &[f64]| -> f64 {
        let pairs = x.iter().zip(y);
        pairs.map(|(x, y)| (x - mean) * (y - mean)).sum()
    };
    let spread = (product(&a, &a) * product(&b, &b)).sqrt();
    (spread > 0.0).then(|| product(&a, &b) / spread)
}

fn ranks(values: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by(|&x, &y| values[x].total_cmp(&values[y]));
    let mut ranks = vec![0.0; values.len()];
    let mut first = 0;
    for group in order.chunk_by(|&x, &y| values[x].total_cmp(&values[y]).is_eq()) {
        let shared = first as f64 + f64::midpoint(group.len() as f64, 1.0);
        for &at in group {
            ranks[at] = shared;
        }
        first += group.len();
    }
    ranks
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_textbook_cases_hold() {
        let close = |got: Option<f64>, expected: f64| (got.unwrap() - expected).abs() < 1e-12;
        assert!(close(spearman(&[1.0, 2.0, 3.0], &[10.0, 20.0, 90.0]), 1.0));
        assert!(close(spearman(&[1.0, 2.0, 3.0], &[3.0, 2.0, 1.0]), -1.0));
        // Ranks 1, 2.5, 2.5, 4 against 1, 3, 2, 4.
        let tied = spearman(&[1.0, 5.0, 5.0, 9.0], &[1.0, 3.0, 2.0, 4.0]);
        assert!(close(tied, 4.5 / (4.5_f64 * 5.0).sqrt()));
        assert_eq!(spearman(&[1.0], &[1.0]), None);
        assert_eq!(spearman(&[1.0, 1.0], &[1.0, 2.0]), None);
    }
}
