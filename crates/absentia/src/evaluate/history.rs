//! What an evaluation needs to know about training.

use std::borrow::Cow;

use crate::data::Interactions;
use crate::ranking::SeenItems;

/// What an evaluation needs to know about training: who saw what, and how popular items were.
#[derive(Clone)]
pub struct History<'a> {
    pub(super) seen: &'a dyn SeenItems,
    pub(super) item_counts: Cow<'a, [u32]>,
}

impl<'a> History<'a> {
    /// Takes both from a training matrix whose rows are the scorer's users.
    #[must_use]
    pub fn of(train: &'a Interactions<'_>) -> Self {
        Self {
            seen: train,
            item_counts: Cow::Owned(train.item_counts()),
        }
    }

    /// Takes seen items and the number of training interactions `n_i` of each item apart.
    ///
    /// This is the way for strong generalisation: `seen` is what the users were folded in from,
    /// the counts are those of the training users.
    pub fn new(seen: &'a dyn SeenItems, item_counts: impl Into<Cow<'a, [u32]>>) -> Self {
        Self {
            seen,
            item_counts: item_counts.into(),
        }
    }
}
