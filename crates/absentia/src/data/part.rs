//! Some rows of a matrix, with the columns that they name alone.

use std::ops::Range;

use super::entries::{Entries, Values};

impl Values<'_> {
    /// The numbers of a range, which borrow nothing.
    pub(crate) fn part(&self, range: Range<usize>) -> Values<'static> {
        match self {
            Values::Constant(value) => Values::Constant(*value),
            Values::Each(values) => Values::Each(values[range].to_vec().into()),
        }
    }
}

impl Entries<'_> {
    /// Yields some rows with the columns that they name, numbered in their order, and these columns.
    pub(crate) fn part(&self, rows: Range<usize>) -> (Entries<'static>, Vec<u32>) {
        let start = self.offsets[rows.start];
        let range = start as usize..self.offsets[rows.end] as usize;
        let mut places = vec![u32::MAX; self.cols];
        for column in &self.indices[range.clone()] {
            places[*column as usize] = 0;
        }
        let mut columns = Vec::new();
        for (column, place) in (0_u32..).zip(&mut places) {
            if *place == 0 {
                *place = columns.len() as u32;
                columns.push(column);
            }
        }
        let indices = self.indices[range.clone()].iter();
        let indices: Vec<u32> = indices.map(|column| places[*column as usize]).collect();
        let offsets = self.offsets[rows.start..=rows.end].iter();
        let offsets: Vec<u64> = offsets.map(|offset| offset - start).collect();
        let part = Entries {
            cols: columns.len(),
            offsets: offsets.into(),
            indices: indices.into(),
            r: self.r.part(range.clone()),
            c: self.c.part(range),
        };
        (part, columns)
    }

    /// The row of an entry.
    pub(crate) fn row_of(&self, at: usize) -> usize {
        let after = |offset: &u64| *offset <= at as u64;
        self.offsets.partition_point(after) - 1
    }

    /// Undoes the numbering of columns in a [part](Self::part) of a matrix with `cols` columns.
    pub(crate) fn with_columns(&self, columns: &[u32], cols: usize) -> Entries<'static> {
        let indices = self.indices.iter();
        let indices: Vec<u32> = indices.map(|place| columns[*place as usize]).collect();
        Entries {
            cols,
            offsets: self.offsets.to_vec().into(),
            indices: indices.into(),
            r: self.r.part(0..self.indices.len()),
            c: self.c.part(0..self.indices.len()),
        }
    }
}
