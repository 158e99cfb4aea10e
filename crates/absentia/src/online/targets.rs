//! Targets and weights of entries, by what was frozen at the last refit.

use super::error::PairFault;
use super::pair::PairEntry;
use crate::data::FrozenTransform;
use crate::sides::Sides;

/// How targets and weights follow from raw values until the next refit.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct FrozenTargets {
    pub(super) transform: FrozenTransform,
    /// Interactions of each user and item at the last refit. Rows that had none have the median of the
    /// rows that had some: with a count of 0, they would have the largest targets until the next refit.
    pub(super) counts: Sides<Vec<u32>>,
    /// Those medians.
    pub(super) typical: Sides<u32>,
}

impl FrozenTargets {
    /// Freezes counts as they are now.
    pub(super) fn new(transform: FrozenTransform, counts: &Sides<Vec<u32>>) -> Self {
        let typical = counts.as_ref().map(|counts| median(counts));
        let side = |counts: &Vec<u32>, typical: u32| -> Vec<u32> {
            let or_typical = |&count: &u32| if count == 0 { typical } else { count };
            counts.iter().map(or_typical).collect()
        };
        Self {
            transform,
            counts: Sides {
                users: side(&counts.users, typical.users),
                items: side(&counts.items, typical.items),
            },
            typical,
        }
    }

    /// Target and weight of the entry that a pair is.
    pub(super) fn of_pair(
        &self,
        (user, item): (u32, u32),
        pair: PairEntry,
    ) -> Result<(f32, f32), PairFault> {
        let (value, r, c) = match pair {
            PairEntry::Exposed(weight) => (0.0, 0.0, weight),
            PairEntry::Taken(event) => {
                let (counts, typical) = (&self.counts, &self.typical);
                let n_u = counts.users.get(user as usize).unwrap_or(&typical.users);
                let n_i = counts.items.get(item as usize).unwrap_or(&typical.items);
                let r = self.transform.target(event.value, *n_u, *n_i);
                let c = self.transform.weight(event.value, event.weight, event.time);
                (event.value, r, c * event.boost)
            }
        };
        let wrong = |what, got, range| PairFault::Value {
            value,
            what,
            got,
            range,
        };
        for (what, got) in [("target", r), ("weight", c)] {
            if !got.is_finite() {
                return Err(wrong(what, got, "finite"));
            }
        }
        if c < 0.0 {
            return Err(wrong("weight", c, "at least 0"));
        }
        Ok((r, c))
    }
}

/// The middle of the counts that are not 0, the lower of two; 1 if there are none.
fn median(counts: &[u32]) -> u32 {
    let mut known: Vec<u32> = counts.iter().copied().filter(|&count| count > 0).collect();
    known.sort_unstable();
    known
        .get(known.len().saturating_sub(1) / 2)
        .copied()
        .unwrap_or(1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::{Confidence, Targets};
    use crate::online::pair::PairEvent;

    #[test]
    fn a_row_that_is_new_has_the_target_of_a_typical_one() {
        let transform = FrozenTransform {
            targets: Targets::Normalized {
                user: 0.5,
                item: 0.5,
            },
            confidence: Confidence::default(),
            scale: 6.0,
            now: 0,
        };
        let counts = Sides {
            users: vec![4, 0],
            items: vec![0, 9, 1, 9, 0],
        };
        let frozen = FrozenTargets::new(transform, &counts);
        let event = PairEvent {
            value: 1.0,
            weight: 1.0,
            time: 0,
            boost: 2.0,
        };
        let of = |pair| frozen.of_pair(pair, PairEntry::Taken(event)).unwrap();
        assert_eq!(of((0, 1)), of((1, 0)));
        assert!((of((0, 4)).0 - 1.0).abs() < 1e-6);
        assert!((of((0, 4)).1 - 2.0).abs() < 1e-6);
        assert_eq!(
            frozen.of_pair((0, 0), PairEntry::Exposed(0.5)),
            Ok((0.0, 0.5))
        );
        assert!(frozen.of_pair((0, 0), PairEntry::Exposed(-0.5)).is_err());
        assert!(
            frozen
                .of_pair((0, 0), PairEntry::Exposed(f32::NAN))
                .is_err()
        );
    }
}
