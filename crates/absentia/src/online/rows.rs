//! Observed entries of one side that can grow, row by row.

use crate::data::{Entries, Values};

/// Makes room for one more element. Growing by an eighth copies each element eight times in the long run,
/// and leaves less room unused than doubling: most rows grow by a few entries only.
pub(super) fn make_room<T>(elements: &mut Vec<T>) {
    if elements.len() == elements.capacity() {
        elements.reserve_exact((elements.len() / 8).max(4));
    }
}

/// A number for each entry of a row, stored only if it varies.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Column {
    /// The same for every entry.
    Constant(f32),
    /// One for each entry.
    Each(Vec<f32>),
}

impl Column {
    /// Yields the column of these numbers.
    pub(super) fn new(values: Vec<f32>) -> Self {
        match values.first() {
            None => Column::Constant(1.0),
            Some(&first) if values.iter().all(|x| x.to_bits() == first.to_bits()) => {
                Column::Constant(first)
            }
            Some(_) => Column::Each(values),
        }
    }

    /// The number of entry `at`.
    pub(super) fn get(&self, at: usize) -> f32 {
        match self {
            Column::Constant(value) => *value,
            Column::Each(values) => values[at],
        }
    }

    /// Adds a number before entry `at` of a row that had `len` entries.
    pub(super) fn insert(&mut self, at: usize, len: usize, value: f32) {
        match self {
            Column::Constant(same) if len == 0 || same.to_bits() == value.to_bits() => {
                *same = value;
            }
            Column::Constant(same) => {
                let mut values = vec![*same; len];
                make_room(&mut values);
                values.insert(at, value);
                *self = Column::Each(values);
            }
            Column::Each(values) => {
                make_room(values);
                values.insert(at, value);
            }
        }
    }

    /// Changes the number of entry `at` of a row that has `len` entries.
    pub(super) fn set(&mut self, at: usize, len: usize, value: f32) {
        if self.get(at).to_bits() == value.to_bits() {
            return;
        }
        let mut values = match self {
            Column::Constant(same) => vec![*same; len],
            Column::Each(values) => std::mem::take(values),
        };
        values[at] = value;
        *self = Column::new(values);
    }

    /// Removes the number of entry `at`.
    pub(super) fn remove(&mut self, at: usize) {
        if let Column::Each(values) = self {
            let mut values = std::mem::take(values);
            values.remove(at);
            *self = Column::new(values);
        }
    }

    /// Bytes that it takes beside itself.
    pub(super) fn bytes(&self) -> usize {
        match self {
            Column::Constant(_) => 0,
            Column::Each(values) => 4 * values.capacity(),
        }
    }

    fn values(&self) -> Values<'_> {
        match self {
            Column::Constant(value) => Values::Constant(*value),
            Column::Each(values) => Values::Each(values[..].into()),
        }
    }
}

/// The observed entries of one user or item, as they are trained on.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct GrowingRow {
    indices: Vec<u32>,
    r: Column,
    c: Column,
}

impl Default for GrowingRow {
    fn default() -> Self {
        Self {
            indices: Vec::new(),
            r: Column::Constant(1.0),
            c: Column::Constant(1.0),
        }
    }
}

impl GrowingRow {
    /// Takes entries whose indices rise strictly.
    pub(super) fn new(indices: Vec<u32>, r: Vec<f32>, c: Vec<f32>) -> Self {
        Self {
            indices,
            r: Column::new(r),
            c: Column::new(c),
        }
    }

    /// Number of entries.
    pub(super) fn len(&self) -> usize {
        self.indices.len()
    }

    /// Columns of the entries, rising strictly.
    pub(super) fn indices(&self) -> &[u32] {
        &self.indices
    }

    /// Target and weight of entry `at`.
    pub(super) fn get(&self, at: usize) -> (f32, f32) {
        (self.r.get(at), self.c.get(at))
    }

    /// Where the entry of a column is, or where it would be.
    pub(super) fn position(&self, column: u32) -> Result<usize, usize> {
        self.indices.binary_search(&column)
    }

    /// Adds an entry, or changes it if the row has it.
    pub(super) fn put(&mut self, column: u32, (r, c): (f32, f32)) {
        let len = self.len();
        match self.position(column) {
            Ok(at) => {
                self.r.set(at, len, r);
                self.c.set(at, len, c);
            }
            Err(at) => {
                make_room(&mut self.indices);
                self.indices.insert(at, column);
                self.r.insert(at, len, r);
                self.c.insert(at, len, c);
            }
        }
    }

    /// Removes an entry, if the row has it.
    pub(super) fn remove(&mut self, column: u32) {
        if let Ok(at) = self.position(column) {
            self.indices.remove(at);
            self.r.remove(at);
            self.c.remove(at);
        }
    }

    /// The row as the solvers read it, one of a matrix with this many columns.
    pub(super) fn entries(&self, columns: usize) -> Entries<'_> {
        let indices = &self.indices[..];
        Entries::of_row(columns, indices, self.r.values(), self.c.values())
    }

    /// Bytes that it takes beside itself.
    pub(super) fn bytes(&self) -> usize {
        4 * self.indices.capacity() + self.r.bytes() + self.c.bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_seldom_moves_when_it_grows() {
        let (mut row, mut moves) = (GrowingRow::default(), 0);
        for column in 0..20_000 {
            let before = row.indices.capacity();
            row.put(column, (1.0, 1.0));
            moves += usize::from(row.indices.capacity() != before);
        }
        assert!(moves < 120, "{moves}");
        assert!(row.bytes() <= 4 * (20_000 * 9 / 8 + 4));
    }

    #[test]
    fn a_row_is_the_same_however_it_came_about() {
        let mut row = GrowingRow::default();
        for (column, r, c) in [(5, 1.0, 1.0), (2, 1.0, 1.0), (9, 1.0, 4.0), (7, 2.0, 1.0)] {
            row.put(column, (r, c));
        }
        let all = GrowingRow::new(
            vec![2, 5, 7, 9],
            vec![1.0, 1.0, 2.0, 1.0],
            vec![1.0, 1.0, 1.0, 4.0],
        );
        assert_eq!(row, all);
        assert_eq!(row.entries(10).row(0).c.get(3).to_bits(), 4.0_f32.to_bits());
        row.remove(7);
        row.put(9, (1.0, 1.0));
        row.remove(3);
        // What varied is constant again, and takes no memory.
        assert_eq!(
            row,
            GrowingRow::new(vec![2, 5, 9], vec![1.0; 3], vec![1.0; 3])
        );
        assert_eq!(row.r.bytes() + row.c.bytes(), 0);
    }
}
