//! The best items of one user, from scores that come in any order.

use std::cmp::Ordering;

use crate::linalg::LANES;

/// An item and its score.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Scored {
    /// The item.
    pub item: u32,
    /// Its score.
    pub score: f32,
}

/// Larger scores first, equal ones by item id.
#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "the signature that sorting wants"
)]
fn order(a: &Scored, b: &Scored) -> Ordering {
    b.score
        .partial_cmp(&a.score)
        .unwrap_or(Ordering::Equal)
        .then(a.item.cmp(&b.item))
}

/// Keeps the `limit` best items in a buffer of twice that size, which is cut when it is full.
#[derive(Clone, Debug)]
pub(super) struct Top {
    limit: usize,
    /// Score and item of the worst that was kept when the buffer was last cut.
    threshold: f32,
    worst: u32,
    kept: Vec<Scored>,
}

impl Top {
    pub(super) fn new(limit: usize) -> Self {
        Self {
            limit,
            threshold: if limit == 0 {
                f32::INFINITY
            } else {
                f32::NEG_INFINITY
            },
            worst: 0,
            kept: Vec::new(),
        }
    }

    /// Number of items that are kept.
    pub(super) fn limit(&self) -> usize {
        self.limit
    }

    /// Takes the items of another list.
    pub(super) fn take(&mut self, other: Self) {
        for scored in other.kept {
            self.offer_each(&[scored.item], &[scored.score]);
        }
    }

    /// Score below which items are no longer kept.
    pub(super) fn threshold(&self) -> f32 {
        self.threshold
    }

    /// Offers scores of `items`; NaN and −∞ are never kept.
    pub(super) fn offer(&mut self, items: &[u32], scores: &[f32]) {
        let (panels, rest) = scores.as_chunks::<LANES>();
        for (panel, items) in panels.iter().zip(items.chunks(LANES)) {
            let threshold = self.threshold;
            // Sixteen at once: in a long catalogue, nearly all panels have no better score.
            let better = panel.iter().fold(0, |n, &s| n + i32::from(s >= threshold));
            if better > 0 {
                self.offer_each(items, panel);
            }
        }
        self.offer_each(&items[items.len() - rest.len()..], rest);
    }

    fn offer_each(&mut self, items: &[u32], scores: &[f32]) {
        for (&item, &score) in items.iter().zip(scores) {
            // Among equal scores the smaller id comes first. Before the first cut, no score equals the threshold.
            let ties = score >= self.threshold && item < self.worst;
            if score > self.threshold || ties {
                self.kept.push(Scored { item, score });
                if self.kept.len() >= self.limit.saturating_mul(2).max(LANES) {
                    self.cut();
                }
            }
        }
    }

    fn cut(&mut self) {
        if self.kept.len() > self.limit {
            self.kept.select_nth_unstable_by(self.limit - 1, order);
            self.kept.truncate(self.limit);
        }
        if self.kept.len() == self.limit {
            let worst = self.kept.iter().copied().max_by(order);
            if let Some(worst) = worst {
                (self.threshold, self.worst) = (worst.score, worst.item);
            }
        }
    }

    /// Yields the best, in order.
    pub(super) fn finish(mut self) -> Vec<Scored> {
        self.kept.sort_unstable_by(order);
        self.kept.truncate(self.limit);
        self.kept.shrink_to_fit();
        self.kept
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ties_go_to_the_smaller_id_and_nan_is_never_kept() {
        let scores = [1.0, f32::NAN, 2.0, 1.0, 2.0, f32::NEG_INFINITY, 1.0];
        let items: Vec<u32> = (10..17).collect();
        let mut top = Top::new(4);
        top.offer(&items, &scores);
        let best: Vec<u32> = top.finish().iter().map(|scored| scored.item).collect();
        assert_eq!(best, [12, 14, 10, 13]);
    }

    #[test]
    fn the_order_of_offers_does_not_matter() {
        let items: Vec<u32> = (0..500).collect();
        let scores: Vec<f32> = items.iter().map(|i| (i * 7919 % 13) as f32).collect();
        let best = |order: &dyn Fn(usize) -> usize| {
            let mut top = Top::new(7);
            for at in 0..500 {
                top.offer(
                    &items[order(at)..=order(at)],
                    &scores[order(at)..=order(at)],
                );
            }
            top.finish()
        };
        let rising = best(&|at| at);
        assert_eq!(rising, best(&|at| 499 - at));
        assert_eq!(rising, best(&|at| at * 77 % 500));
        assert!(
            rising
                .windows(2)
                .all(|pair| order(&pair[0], &pair[1]).is_lt())
        );
    }

    #[test]
    fn a_limit_of_zero_keeps_nothing() {
        let mut top = Top::new(0);
        top.offer(&[0, 1], &[1.0, f32::INFINITY]);
        assert!(top.finish().is_empty());
    }
}
