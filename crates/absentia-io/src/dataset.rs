//! Interactions in memory: columns of row numbers and what came with them.

use crate::bad_row::BadRows;
use crate::ids::IdMap;

/// Interactions in file order, one column a field.
///
/// A column the source does not have is `None`; those there are have one entry a row.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Dataset {
    /// The users' external ids.
    pub users: IdMap,
    /// The items' external ids.
    pub items: IdMap,
    /// The user of each row.
    pub user: Vec<u32>,
    /// The item of each row.
    pub item: Vec<u32>,
    /// The rating of each row.
    pub value: Option<Vec<f32>>,
    /// The time of each row, as given or in unix seconds.
    pub time: Option<Vec<i64>>,
    /// The weight of each row.
    pub weight: Option<Vec<f32>>,
    /// Rows that were left out because they could not be read.
    pub bad_rows: BadRows,
    /// Rows that were left out because their user or item is not known.
    pub unknown_rows: u64,
}

impl Dataset {
    /// How many rows there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.user.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.user.is_empty()
    }

    /// Bytes of the columns.
    #[must_use]
    pub fn column_bytes(&self) -> u64 {
        let floats = |column: &Option<Vec<f32>>| column.as_ref().map_or(0, |x| 4 * x.capacity());
        let ids = 4 * (self.user.capacity() + self.item.capacity());
        let times = self.time.as_ref().map_or(0, |x| 8 * x.capacity());
        (ids + floats(&self.value) + floats(&self.weight) + times) as u64
    }

    /// Bytes of the ids.
    #[must_use]
    pub fn id_bytes(&self) -> u64 {
        self.users.bytes() + self.items.bytes()
    }
}
