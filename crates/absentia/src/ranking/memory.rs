//! The memory of ranking, beside the model and what users have seen.

use super::indexed_items::IndexedItems;
use super::lists::{ItemLists, UserItems};
use super::rank::BATCH;
use crate::linalg::Dense;

/// Bytes of ranking many users: the order of the items with their bounds, and the lists of the users
/// whose state is held at a time.
#[must_use]
pub fn ranking_bytes(n_users: usize, n_items: usize, top: usize) -> u64 {
    let users = n_users.min(BATCH) as u64;
    32 * n_items as u64 + users * (256 + 40 * top.min(n_items) as u64)
}

impl IndexedItems {
    /// Bytes of the items with their index: factors, their quantised form, order and bounds.
    #[must_use]
    pub fn bytes(n_items: usize, n_factors: usize) -> u64 {
        let row = 4 * Dense::padded(0, n_factors).stride() + n_factors + 32;
        (n_items * row) as u64
    }
}

impl ItemLists {
    /// Bytes of the lists.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        8 * self.rows() as u64 + 4 * self.len() as u64
    }
}

impl UserItems {
    /// Bytes of the lists.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        4 * self.users().len() as u64 + self.lists().bytes()
    }

    /// Bytes that gathering `pairs` pairs of `n_users` users takes beside them, the lists included.
    #[must_use]
    pub fn bytes_to_gather(pairs: usize, n_users: usize) -> u64 {
        12 * pairs as u64 + 12 * n_users.min(pairs) as u64
    }
}
