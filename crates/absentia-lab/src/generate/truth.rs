//! The truth as low-rank factors, in the form that weights on missing entries take.

use rayon::prelude::*;

use super::generator::Generator;
use absentia::Dense;

/// Expected number of times each item is shown to each user, `a_u · b_i`, exactly.
///
/// Z is the number of segments, or 1 where segments do not matter to what is shown.
#[derive(Clone, Debug, PartialEq)]
pub struct ExpectedExposures {
    /// A (M × Z): `n_u` in the column of the user's segment.
    pub users: Dense,
    /// B (N × Z): `π_g(i)`.
    pub items: Dense,
}

impl Generator {
    /// Yields the expected exposures; generates every user once to learn `n_u`.
    #[must_use]
    pub fn expected_exposures(&self) -> ExpectedExposures {
        let groups = self.showing.groups();
        let (n_users, n_items) = (self.params().users, self.params().items);
        let draws: Vec<u64> = self
            .feedback(0..n_users as u32)
            .map(|feedback| feedback.draws)
            .collect();
        let mut users = Dense::zeros(n_users, groups);
        users
            .as_mut_slice()
            .par_chunks_exact_mut(groups)
            .enumerate()
            .for_each(|(user, a_u)| {
                let segment = self.user(user as u32).segment();
                a_u[self.showing.group(segment)] = draws[user] as f32;
            });
        let items = Dense::from_fn(n_items, groups, |item, group| {
            self.showing
                .probability(group, item as u32, &self.catalogue) as f32
        });
        ExpectedExposures { users, items }
    }
}
