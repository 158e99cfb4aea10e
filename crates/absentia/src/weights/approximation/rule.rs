//! Weights given as a rule rather than as numbers.

use std::ops::Range;
use std::sync::Arc;

use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

use crate::linalg::RowBlocks;

/// A rule that gives every pair of user and item a weight.
///
/// Any closure from `(user, item)` to a weight is one; implement the trait to fill whole blocks
/// faster than entry by entry.
pub trait WeightRule: Send + Sync {
    /// The weight of one pair: finite, at least 0.
    fn weight(&self, user: u32, item: u32) -> f32;

    /// Writes the weights of a block of pairs, row by row, into `out`.
    fn fill(&self, users: Range<u32>, items: Range<u32>, out: &mut [f32]) {
        let width = items.len().max(1);
        for (user, row) in users.zip(out.chunks_exact_mut(width)) {
            for (item, slot) in items.clone().zip(row) {
                *slot = self.weight(user, item);
            }
        }
    }
}

impl<F: Fn(u32, u32) -> f32 + Send + Sync> WeightRule for F {
    fn weight(&self, user: u32, item: u32) -> f32 {
        self(user, item)
    }
}

/// A shared [`WeightRule`]; it equals only itself and its clones.
#[derive(Clone)]
pub struct WeightFunction(Arc<dyn WeightRule>);

impl WeightFunction {
    /// Takes a rule, usually a closure `|user, item| weight`.
    #[must_use]
    pub fn new(rule: impl WeightRule + 'static) -> Self {
        Self(Arc::new(rule))
    }

    /// The rule.
    #[must_use]
    pub fn rule(&self) -> &dyn WeightRule {
        &*self.0
    }
}

impl PartialEq for WeightFunction {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl std::fmt::Debug for WeightFunction {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("WeightFunction")
    }
}

/// A rule over given numbers of users and items, row by row.
pub(super) struct RuleRows<'a> {
    pub(super) rule: &'a dyn WeightRule,
    pub(super) n_users: usize,
    pub(super) n_items: usize,
}

impl RowBlocks for RuleRows<'_> {
    fn rows(&self) -> usize {
        self.n_users
    }

    fn cols(&self) -> usize {
        self.n_items
    }

    fn fill(&self, rows: Range<usize>, out: &mut [f32]) {
        let users = rows.start as u32..rows.end as u32;
        self.rule.fill(users, 0..self.n_items as u32, out);
    }
}

/// A rule over some of the items, given by number.
pub(super) struct SampledColumns<'a> {
    pub(super) rule: &'a dyn WeightRule,
    pub(super) n_users: usize,
    pub(super) items: &'a [u32],
}

impl RowBlocks for SampledColumns<'_> {
    fn rows(&self) -> usize {
        self.n_users
    }

    fn cols(&self) -> usize {
        self.items.len()
    }

    fn fill(&self, rows: Range<usize>, out: &mut [f32]) {
        for (user, row) in rows.zip(out.chunks_exact_mut(self.items.len().max(1))) {
            for (&item, slot) in self.items.iter().zip(row) {
                *slot = self.rule.weight(user as u32, item);
            }
        }
    }
}

/// A rule over some of the users, given by number.
pub(super) struct SampledRows<'a> {
    pub(super) w: &'a RuleRows<'a>,
    pub(super) users: &'a [u32],
}

impl RowBlocks for SampledRows<'_> {
    fn rows(&self) -> usize {
        self.users.len()
    }

    fn cols(&self) -> usize {
        self.w.n_items
    }

    fn fill(&self, rows: Range<usize>, out: &mut [f32]) {
        for (at, row) in rows.zip(out.chunks_exact_mut(self.w.n_items.max(1))) {
            let user = self.users[at] as usize;
            self.w.fill(user..user + 1, row);
        }
    }
}

/// Yields `size` different numbers below `count` (all of them, if there are fewer), sorted.
pub(super) fn draw_indices(count: usize, size: usize, seed: u64) -> Vec<u32> {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let mut drawn = rand::seq::index::sample(&mut rng, count, size.min(count)).into_vec();
    drawn.sort_unstable();
    drawn.into_iter().map(|index| index as u32).collect()
}
