//! Where the rows of each type are in the stacked matrix.

use std::ops::Range;

use super::Entity;
use crate::error::Axis;
use crate::sides::Sides;

/// The rows that each type has on its side: users and items first, then the others in their order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layout {
    ranges: Vec<Range<usize>>,
    totals: Sides<usize>,
}

impl Layout {
    /// The layout of some types.
    #[must_use]
    pub fn of(entities: &[Entity]) -> Self {
        let mut totals = Sides::default();
        let ranges = entities
            .iter()
            .map(|entity| {
                let total: &mut usize = &mut totals[entity.axis];
                let start = *total;
                *total += entity.count;
                start..*total
            })
            .collect();
        Self { ranges, totals }
    }

    /// The rows of a type on its side.
    ///
    /// # Panics
    /// If there is no such type.
    #[must_use]
    pub fn rows(&self, entity: usize) -> Range<usize> {
        self.ranges[entity].clone()
    }

    /// Number of rows of a side.
    #[must_use]
    pub fn total(&self, axis: Axis) -> usize {
        self.totals[axis]
    }
}
