//! One orientation of the observed matrix: compressed rows of `(index, r, c)`.

use super::storage::Storage;

/// A number per entry, stored only when it varies.
#[derive(Clone, Debug, PartialEq)]
pub enum Values<'a> {
    /// The same for every entry.
    Constant(f32),
    /// One per entry, in the order of the entries.
    Each(Storage<'a, f32>),
}

impl Values<'_> {
    /// The number at entry `at`.
    #[must_use]
    pub fn get(&self, at: usize) -> f32 {
        match self {
            Values::Constant(value) => *value,
            Values::Each(values) => values[at],
        }
    }

    /// The numbers of a range of entries.
    #[must_use]
    pub fn range(&self, range: std::ops::Range<usize>) -> ValuesRow<'_> {
        match self {
            Values::Constant(value) => ValuesRow::Constant(*value),
            Values::Each(values) => ValuesRow::Each(&values[range]),
        }
    }

    /// Bytes held for the entries.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        match self {
            Values::Constant(_) => 0,
            Values::Each(values) => 4 * values.len() as u64,
        }
    }

    /// Yields one number per entry, as a single number when all are equal.
    #[must_use]
    pub fn from_vec(values: Vec<f32>) -> Values<'static> {
        match values.first() {
            None => Values::Constant(1.0),
            Some(&first) if values.iter().all(|v| v.to_bits() == first.to_bits()) => {
                Values::Constant(first)
            }
            Some(_) => Values::Each(values.into()),
        }
    }

    fn into_owned(self) -> Values<'static> {
        match self {
            Values::Constant(value) => Values::Constant(value),
            Values::Each(values) => Values::Each(values.into_owned()),
        }
    }
}

/// The numbers of one row.
#[derive(Clone, Copy, Debug)]
pub enum ValuesRow<'a> {
    /// The same for every entry of the row.
    Constant(f32),
    /// One per entry of the row.
    Each(&'a [f32]),
}

impl<'a> ValuesRow<'a> {
    /// The number of the row's entry `at`.
    #[inline]
    #[must_use]
    pub fn get(&self, at: usize) -> f32 {
        match self {
            ValuesRow::Constant(value) => *value,
            ValuesRow::Each(values) => values[at],
        }
    }

    /// The numbers of the row's entries, or the one number of all of them.
    #[must_use]
    pub fn as_slice(&self) -> &[f32] {
        match self {
            ValuesRow::Constant(value) => std::slice::from_ref(value),
            ValuesRow::Each(values) => values,
        }
    }

    /// The numbers of some of the row's entries.
    #[must_use]
    pub fn range(&self, range: std::ops::Range<usize>) -> ValuesRow<'a> {
        match self {
            ValuesRow::Constant(value) => ValuesRow::Constant(*value),
            ValuesRow::Each(values) => ValuesRow::Each(&values[range]),
        }
    }
}

/// The entries of one row: `indices[n]` goes with `r.get(n)` and `c.get(n)`.
#[derive(Clone, Copy, Debug)]
pub struct Row<'a> {
    /// Column indices, rising strictly.
    pub indices: &'a [u32],
    /// Targets.
    pub r: ValuesRow<'a>,
    /// Weights.
    pub c: ValuesRow<'a>,
}

impl Row<'_> {
    /// Number of entries.
    #[must_use]
    pub fn len(&self) -> usize {
        self.indices.len()
    }

    /// Whether the row has no entry.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.indices.is_empty()
    }
}

/// A sparse matrix by rows, with a target and a weight at each entry.
///
/// The invariants (offsets that rise from 0 to the number of entries, indices that rise strictly
/// within a row and stay below `cols`) are checked wherever one is made.
#[derive(Clone, Debug, PartialEq)]
pub struct Entries<'a> {
    pub(super) cols: usize,
    pub(super) offsets: Storage<'a, u64>,
    pub(super) indices: Storage<'a, u32>,
    pub(super) r: Values<'a>,
    pub(super) c: Values<'a>,
}

impl<'a> Entries<'a> {
    /// Yields the entries of a single row; indices rise strictly and stay below `cols`.
    pub(crate) fn of_row(
        cols: usize,
        indices: impl Into<Storage<'a, u32>>,
        r: Values<'a>,
        c: Values<'a>,
    ) -> Self {
        let indices = indices.into();
        Self {
            cols,
            offsets: vec![0, indices.len() as u64].into(),
            indices,
            r,
            c,
        }
    }
}

impl Entries<'_> {
    /// Number of rows.
    #[must_use]
    pub fn rows(&self) -> usize {
        self.offsets.len() - 1
    }

    /// Number of columns.
    #[must_use]
    pub fn cols(&self) -> usize {
        self.cols
    }

    /// Number of entries.
    #[must_use]
    pub fn len(&self) -> usize {
        self.indices.len()
    }

    /// Whether there is no entry.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.indices.is_empty()
    }

    /// Positions of the entries of row `row`.
    #[must_use]
    pub fn range(&self, row: usize) -> std::ops::Range<usize> {
        self.offsets[row] as usize..self.offsets[row + 1] as usize
    }

    /// Entries of row `row`.
    #[must_use]
    pub fn row(&self, row: usize) -> Row<'_> {
        let range = self.range(row);
        Row {
            indices: &self.indices[range.clone()],
            r: self.r.range(range.clone()),
            c: self.c.range(range),
        }
    }

    /// Number of entries of row `row`.
    #[must_use]
    pub fn row_len(&self, row: usize) -> usize {
        self.range(row).len()
    }

    /// Where each row starts, and the number of entries at the end.
    #[must_use]
    pub fn offsets(&self) -> &[u64] {
        &self.offsets
    }

    /// Column index of every entry.
    #[must_use]
    pub fn indices(&self) -> &[u32] {
        &self.indices
    }

    /// Targets of the entries.
    #[must_use]
    pub fn targets(&self) -> &Values<'_> {
        &self.r
    }

    /// Weights of the entries.
    #[must_use]
    pub fn weights(&self) -> &Values<'_> {
        &self.c
    }

    /// Bytes of memory: offsets, indices, and targets and weights that vary.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        8 * self.offsets.len() as u64
            + 4 * self.indices.len() as u64
            + self.r.bytes()
            + self.c.bytes()
    }

    /// Yields entries that borrow nothing.
    #[must_use]
    pub fn into_owned(self) -> Entries<'static> {
        Entries {
            cols: self.cols,
            offsets: self.offsets.into_owned(),
            indices: self.indices.into_owned(),
            r: self.r.into_owned(),
            c: self.c.into_owned(),
        }
    }
}

/// Yields where each row starts, given how many entries each has.
pub(super) fn offsets_from_counts(counts: &[u64]) -> Vec<u64> {
    let mut offsets = Vec::with_capacity(counts.len() + 1);
    let mut total = 0;
    offsets.push(0);
    for count in counts {
        total += count;
        offsets.push(total);
    }
    offsets
}
