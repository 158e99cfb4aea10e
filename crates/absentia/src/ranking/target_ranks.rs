//! Exact ranks of given items, counted while all items are scored.

use super::factors::FactorScorer;
use super::scorer::Scorer as _;

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
                self.before[at] += before_among(items, scores, (target, score));
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

/// Items that [`rank_by_factors`] scores at a time.
const STRIP: u32 = 1024;

/// The rank of an item for one user, as [`rank_among`] gives it for the scores of all items.
pub(crate) fn rank_by_factors(scorer: &FactorScorer<'_>, user: u32, item: u32) -> u32 {
    let score = scorer.score_items(user, &[item], &mut Vec::new())[0];
    items_before(scorer, user, (item, score), &[]) + 1
}

/// Number of items that come before one with some score, without those of `leave_out`, which rise. Scores are made
/// strip by strip, sixteen at a time.
pub(super) fn items_before(
    scorer: &FactorScorer<'_>,
    user: u32,
    target: (u32, f32),
    leave_out: &[u32],
) -> u32 {
    let (mut scores, mut items) = (Vec::new(), Vec::with_capacity(STRIP as usize));
    let (mut before, n) = (0, scorer.n_items() as u32);
    for start in (0..n).step_by(STRIP as usize) {
        let is_left = |item: &u32| leave_out.binary_search(item).is_err();
        items.clear();
        items.extend((start..n.min(start + STRIP)).filter(is_left));
        let scores = scorer.score_items(user, &items, &mut scores);
        before += before_among(&items, scores, target);
    }
    before
}

/// Number of items, which rise, that come before one with some score: among equals the smaller id comes first.
pub(super) fn before_among(items: &[u32], scores: &[f32], (item, score): (u32, f32)) -> u32 {
    let (earlier, later) = scores.split_at(items.partition_point(|&other| other < item));
    count(earlier, |other| other >= score) + count(later, |other| other > score)
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linalg::Dense;

    /// Items in pairs of equal rows, so that many scores are equal; some have no number as their score.
    #[test]
    fn ranks_by_factors_are_those_of_pairs_scored_alone() {
        let (users, items, k) = (3, 2 * STRIP as usize + 77, 19);
        let p = Dense::from_fn(users, k, |u, f| ((u * 31 + f * 7) as f32 * 0.3).sin());
        let q = Dense::from_fn(items, k, |i, f| ((i / 2 * 17 + f * 5) as f32 * 0.1).cos());
        let mut scale: Vec<f32> = (0..items).map(|item| 1.0 + (item / 2 % 5) as f32).collect();
        for is_broken in [false, true] {
            if is_broken {
                scale[5] = f32::NAN;
                scale[STRIP as usize] = f32::INFINITY;
            }
            for scale in [None, Some(&scale[..])] {
                let scorer = FactorScorer::of_model((&p).into(), (&q).into(), scale);
                for user in 0..users as u32 {
                    let score = |item: u32| {
                        let mut out = Vec::new();
                        scorer.score_items(user, &[item], &mut out)[0]
                    };
                    for item in (0..items as u32).step_by(61).chain([5, STRIP - 1, STRIP]) {
                        assert_eq!(
                            rank_by_factors(&scorer, user, item),
                            rank_among(items as u32, item, score),
                            "{user} {item}"
                        );
                    }
                }
            }
        }
    }
}
