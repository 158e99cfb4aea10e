//! Exact ranks of given items, counted while all items are scored.

/// Items whose ranks to compute, with the number of candidates that come before each.
#[derive(Clone, Debug, Default)]
pub(super) struct TargetRanks {
    /// Score of each target; `None` if it is not a candidate.
    pub(super) scores: Vec<Option<f32>>,
    before: Vec<u32>,
}

impl TargetRanks {
    /// Takes the scores of the targets; NaN and −∞ are not candidates.
    pub(super) fn new(scores: impl Iterator<Item = f32>) -> Self {
        let scores: Vec<_> = scores
            .map(|score| (score > f32::NEG_INFINITY).then_some(score))
            .collect();
        let before = vec![0; scores.len()];
        Self { scores, before }
    }

    /// Counts the candidates of a strip that come before each target, excluded ones being −∞.
    pub(super) fn count(&mut self, targets: &[u32], items: &[u32], scores: &[f32]) {
        for (at, &target) in targets.iter().enumerate() {
            if let Some(score) = self.scores[at] {
                // Among equals the smaller id comes first.
                let (earlier, later) = scores.split_at(items.partition_point(|&i| i < target));
                self.before[at] += count(earlier, |s| s >= score) + count(later, |s| s > score);
            }
        }
    }

    /// Yields the 1-based rank of each target.
    pub(super) fn finish(self) -> Vec<Option<u32>> {
        let ranks = self.scores.iter().zip(&self.before);
        ranks
            .map(|(score, before)| score.map(|_| before + 1))
            .collect()
    }
}

fn count(scores: &[f32], counts: impl Fn(f32) -> bool) -> u32 {
    scores.iter().map(|&score| u32::from(counts(score))).sum()
}

/// The rank of one of `n` items by a score, from 1; of equal scores, the smaller item comes first. For one
/// item of one user, the scores of all are quicker than lists that are made for many users.
pub(crate) fn rank_among(n: u32, item: u32, score: impl Fn(u32) -> f32) -> u32 {
    let own = score(item);
    let is_before = |other: &u32| {
        let score = score(*other);
        score > own || (score >= own && *other < item)
    };
    1 + (0..n).filter(is_before).count() as u32
}
