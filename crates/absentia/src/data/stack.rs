//! Matrices placed side by side in a larger one.

use super::entries::{Entries, Values};
use super::error::DataError;
use super::interactions::{self, Interactions};

/// A matrix with its place in a larger one.
pub(crate) struct Placed<'b, 'a> {
    /// The matrix, with its final targets and weights.
    pub(crate) data: &'b Interactions<'a>,
    /// The row of the larger matrix that is its first.
    pub(crate) first_row: usize,
    /// The column of the larger matrix that is its first.
    pub(crate) first_column: usize,
    /// What its weights are multiplied by.
    pub(crate) strength: f32,
}

impl Interactions<'static> {
    /// Yields the matrix of `rows` × `columns` that has these blocks and no other entries. Blocks do not overlap.
    ///
    /// # Errors
    /// Sizes beyond the largest index, and weights that are not finite once they are multiplied.
    pub(crate) fn stacked(
        rows: usize,
        columns: usize,
        blocks: &[Placed<'_, '_>],
    ) -> Result<Self, DataError> {
        interactions::check_shape(rows, columns)?;
        let mut in_order: Vec<&Placed<'_, '_>> = blocks.iter().collect();
        in_order.sort_by_key(|block| block.first_column);
        let entries: usize = blocks.iter().map(|block| block.data.len()).sum();
        let mut offsets = Vec::with_capacity(rows + 1);
        let mut indices = Vec::with_capacity(entries);
        let (mut r, mut c) = (Vec::with_capacity(entries), Vec::with_capacity(entries));
        offsets.push(0);
        for row in 0..rows {
            for block in &in_order {
                let Some(own) = row.checked_sub(block.first_row) else {
                    continue;
                };
                if own >= block.data.n_users() {
                    continue;
                }
                let entries = block.data.by_user().row(own);
                let first = block.first_column as u32;
                indices.extend(entries.indices.iter().map(|column| first + column));
                r.extend((0..entries.len()).map(|at| entries.r.get(at)));
                c.extend((0..entries.len()).map(|at| block.strength * entries.c.get(at)));
            }
            offsets.push(indices.len() as u64);
        }
        interactions::check_weights(&c)?;
        let by_user = Entries {
            cols: columns,
            offsets: offsets.into(),
            indices: indices.into(),
            r: Values::from_vec(r),
            c: Values::from_vec(c),
        };
        Ok(Self::from_rows(by_user, None))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::{Duplicates, Triplets};

    #[test]
    fn blocks_keep_their_entries_at_their_place() -> Result<(), DataError> {
        let main = Triplets::new(&[0, 1, 1], &[2, 0, 1]).build(2, 3, Duplicates::Error)?;
        let below = Triplets::new(&[0, 1], &[1, 2]).build(2, 3, Duplicates::Error)?;
        let beside = Triplets::new(&[0, 1], &[1, 0]).build(2, 2, Duplicates::Error)?;
        let placed = |data, first_row, first_column, strength| Placed {
            data,
            first_row,
            first_column,
            strength,
        };
        let blocks = [
            placed(&beside, 0, 3, 0.5),
            placed(&main, 0, 0, 1.0),
            placed(&below, 2, 0, 0.25),
        ];
        let whole = Interactions::stacked(4, 5, &blocks)?;
        let rows: Vec<Vec<u32>> = (0..4)
            .map(|row| whole.by_user().row(row).indices.to_vec())
            .collect();
        assert_eq!(rows, [vec![2, 4], vec![0, 1, 3], vec![1], vec![2]]);
        let weights = |row: usize| {
            let row = whole.by_user().row(row);
            (0..row.len()).map(|at| row.c.get(at)).collect::<Vec<f32>>()
        };
        assert_eq!(weights(1), [1.0, 1.0, 0.5]);
        assert_eq!(weights(3), [0.25]);
        assert_eq!(whole.by_item().row(1).indices, [1, 2]);
        Ok(())
    }
}
