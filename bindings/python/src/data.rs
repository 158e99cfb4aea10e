//! Observed entries as arguments: compressed rows of scipy, or a data set that a job prepared.
//!
//! A call keeps what it was given alive ([`Data`], [`Csr`]), borrows it on the thread that works
//! ([`Borrowed`], [`BorrowedCsr`]) and looks at it without Python ([`Entries`], [`Rows`]).

use absentia::Interactions;
use absentia::data::{DataError, Duplicates, Triplets, Values};
use absentia::evaluate::TestSet;
use absentia::model::NewEntry;
use absentia::ranking::{SeenItems, UserItems};
use absentia::relations::Relations;
use absentia_job::TrainingData;
use numpy::{Element, PyArray, PyArray1, PyReadonlyArray, PyReadonlyArray1};
use pyo3::prelude::*;

use crate::dataset::Dataset;
use crate::error::OrRaise;

/// A column of numpy that a call keeps.
pub(crate) type Column<T> = Py<PyArray1<T>>;

/// Borrows an array for reading.
pub(crate) fn borrow<'py, T: Element, D: numpy::ndarray::Dimension>(
    py: Python<'py>,
    array: &Py<PyArray<T, D>>,
) -> PyResult<PyReadonlyArray<'py, T, D>> {
    use numpy::PyArrayMethods;
    Ok(array.bind(py).try_readonly()?)
}

/// Borrows an array where there is one.
pub(crate) fn borrow_some<'py, T: Element, D: numpy::ndarray::Dimension>(
    py: Python<'py>,
    array: Option<&Py<PyArray<T, D>>>,
) -> PyResult<Option<PyReadonlyArray<'py, T, D>>> {
    array.map(|array| borrow(py, array)).transpose()
}

/// The numbers of a column where there is one.
pub(crate) fn slice_some<'a, T: Element>(
    column: Option<&'a PyReadonlyArray1<'_, T>>,
) -> PyResult<Option<&'a [T]>> {
    Ok(column.map(PyReadonlyArray1::as_slice).transpose()?)
}

/// Compressed rows as scipy has them: number of columns, row offsets, column indices (`uint32` comes
/// in as the `int32` of the same bits, so that a negative one is a large one), and a value and a weight for each entry where there are any.
#[derive(FromPyObject)]
pub(crate) struct Csr(
    usize,
    Column<i64>,
    Column<i32>,
    Option<Column<f32>>,
    Option<Column<f32>>,
);

/// Observed entries in either form.
#[derive(FromPyObject)]
pub(crate) enum Data {
    /// Prepared by a job.
    Dataset(Py<Dataset>),
    /// Borrowed for the call.
    Csr(Csr),
}

/// What users have seen: rows of users and of items, or observed entries.
#[derive(FromPyObject)]
pub(crate) enum Seen {
    /// Pairs, in any order.
    Pairs(SeenPairs),
    /// Entries of all users.
    Data(Data),
}

/// Rows of users, and of items.
#[derive(FromPyObject)]
pub(crate) struct SeenPairs(Column<u32>, Column<u32>);

/// What users have seen, borrowed.
pub(crate) enum BorrowedSeen<'a, 'py> {
    Pairs(UserItems),
    Data(Borrowed<'a, 'py>),
}

impl Seen {
    pub(crate) fn borrow<'py>(&self, py: Python<'py>) -> PyResult<BorrowedSeen<'_, 'py>> {
        Ok(match self {
            Seen::Pairs(SeenPairs(users, items)) => {
                let (users, items) = (borrow(py, users)?, borrow(py, items)?);
                let pairs = UserItems::from_pairs(users.as_slice()?, items.as_slice()?);
                BorrowedSeen::Pairs(pairs.or_raise()?)
            }
            Seen::Data(data) => BorrowedSeen::Data(data.borrow(py)?),
        })
    }
}

/// Compressed rows, borrowed from numpy.
pub(crate) struct BorrowedCsr<'py>(
    usize,
    PyReadonlyArray1<'py, i64>,
    PyReadonlyArray1<'py, i32>,
    Option<PyReadonlyArray1<'py, f32>>,
    Option<PyReadonlyArray1<'py, f32>>,
);

/// Observed entries in either form, borrowed.
pub(crate) enum Borrowed<'a, 'py> {
    Dataset(&'a Dataset),
    Csr(BorrowedCsr<'py>),
}

impl Csr {
    pub(crate) fn borrow<'py>(&self, py: Python<'py>) -> PyResult<BorrowedCsr<'py>> {
        let Csr(n_items, offsets, indices, values, weights) = self;
        Ok(BorrowedCsr(
            *n_items,
            borrow(py, offsets)?,
            borrow(py, indices)?,
            borrow_some(py, values.as_ref())?,
            borrow_some(py, weights.as_ref())?,
        ))
    }
}

impl Data {
    pub(crate) fn borrow<'py>(&self, py: Python<'py>) -> PyResult<Borrowed<'_, 'py>> {
        Ok(match self {
            Data::Dataset(dataset) => Borrowed::Dataset(dataset.get()),
            Data::Csr(csr) => Borrowed::Csr(csr.borrow(py)?),
        })
    }
}

/// Compressed rows, borrowed; only the offsets were converted.
pub(crate) struct Rows<'a> {
    n_items: usize,
    offsets: Vec<u64>,
    indices: &'a [u32],
    values: Option<&'a [f32]>,
    weights: Option<&'a [f32]>,
}

impl BorrowedCsr<'_> {
    pub(crate) fn rows(&self) -> PyResult<Rows<'_>> {
        let BorrowedCsr(n_items, offsets, indices, values, weights) = self;
        let convert = |(row, &offset): (usize, &i64)| {
            u64::try_from(offset).map_err(|_| DataError::Offsets { row: row as u64 })
        };
        let offsets: Result<Vec<u64>, DataError> = offsets
            .as_slice()?
            .iter()
            .enumerate()
            .map(convert)
            .collect();
        Ok(Rows {
            n_items: *n_items,
            offsets: offsets.or_raise()?,
            indices: bytemuck::cast_slice(indices.as_slice()?),
            values: slice_some(values.as_ref())?,
            weights: slice_some(weights.as_ref())?,
        })
    }
}

impl<'a> Rows<'a> {
    /// Yields the matrix: borrowed where rows are sorted, rebuilt where they are not.
    pub(crate) fn interactions(&self) -> Result<Interactions<'a>, DataError> {
        let values = || {
            self.values
                .map_or(Values::Constant(1.0), |each| Values::Each(each.into()))
        };
        match Interactions::from_csr(self.n_items, self.offsets.clone(), self.indices, values()) {
            Err(DataError::Unsorted { .. }) => self.sorted(),
            Ok(data) => match self.weights {
                Some(weights) => data.with_weights(Values::Each(weights.into())),
                None => Ok(data),
            },
            Err(error) => Err(error),
        }
    }

    /// Sorts rows and adds up repeats, as scipy would.
    fn sorted(&self) -> Result<Interactions<'static>, DataError> {
        let mut users = Vec::with_capacity(self.indices.len());
        for (user, ends) in self.offsets.windows(2).enumerate() {
            users.extend((ends[0]..ends[1]).map(|_| user as u32));
        }
        let mut triplets = Triplets::new(&users, self.indices);
        if let Some(values) = self.values {
            triplets = triplets.values(values);
        }
        if let Some(weights) = self.weights {
            triplets = triplets.weights(weights);
        }
        triplets.build(self.offsets.len() - 1, self.n_items, Duplicates::Sum)
    }

    pub(crate) fn len(&self) -> usize {
        self.offsets.len().saturating_sub(1)
    }

    /// The positions of a row's entries; none for a row that does not exist.
    fn range(&self, row: usize) -> std::ops::Range<usize> {
        match (self.offsets.get(row), self.offsets.get(row + 1)) {
            (Some(&start), Some(&end)) if start <= end && end <= self.indices.len() as u64 => {
                start as usize..end as usize
            }
            _ => 0..0,
        }
    }

    pub(crate) fn entries(&self, row: usize) -> Vec<NewEntry> {
        let entry = |at: usize| NewEntry {
            index: self.indices[at],
            value: self.values.map_or(1.0, |values| values[at]),
            weight: self.weights.map_or(1.0, |weights| weights[at]),
            time: None,
            exposed: false,
        };
        self.range(row).map(entry).collect()
    }
}

/// Rows as a source of seen items.
impl SeenItems for Rows<'_> {
    fn append_seen(&self, user: u32, into: &mut Vec<u32>) {
        let known = |item: &u32| (*item as usize) < self.n_items;
        let row = &self.indices[self.range(user as usize)];
        into.extend(row.iter().copied().filter(known));
    }
}

/// Either form, borrowed for as long as the arguments live.
pub(crate) enum Entries<'a> {
    Dataset(&'a TrainingData),
    Rows(Rows<'a>),
}

impl Borrowed<'_, '_> {
    pub(crate) fn view(&self) -> PyResult<Entries<'_>> {
        Ok(match self {
            Borrowed::Dataset(dataset) => Entries::Dataset(&dataset.0),
            Borrowed::Csr(csr) => Entries::Rows(csr.rows()?),
        })
    }
}

/// A matrix with its transpose: that of a data set, or one built of rows.
pub(crate) enum Transposed<'a> {
    Borrowed(&'a Interactions<'static>),
    Built(Box<Interactions<'a>>),
}

impl<'a> Transposed<'a> {
    pub(crate) fn matrix(&self) -> &Interactions<'a> {
        match self {
            Transposed::Borrowed(matrix) => matrix,
            Transposed::Built(matrix) => matrix,
        }
    }
}

impl<'a> Entries<'a> {
    pub(crate) fn transposed(&self) -> Result<Transposed<'a>, DataError> {
        Ok(match self {
            Entries::Dataset(dataset) => Transposed::Borrowed(&dataset.data),
            Entries::Rows(rows) => Transposed::Built(Box::new(rows.interactions()?)),
        })
    }
}

impl Entries<'_> {
    pub(crate) fn seen(&self) -> &dyn SeenItems {
        match self {
            Entries::Dataset(dataset) => &dataset.data,
            Entries::Rows(rows) => rows,
        }
    }

    pub(crate) fn len(&self) -> usize {
        match self {
            Entries::Dataset(dataset) => dataset.data.n_users(),
            Entries::Rows(rows) => rows.len(),
        }
    }

    /// The entries of a row, for folding it in or explaining it.
    pub(crate) fn row(&self, row: usize) -> Vec<NewEntry> {
        match self {
            Entries::Rows(rows) => rows.entries(row),
            Entries::Dataset(dataset) => matrix_entries(&dataset.data, row),
        }
    }

    /// The times of entries, where they have any.
    pub(crate) fn times(&self) -> Option<&[i64]> {
        match self {
            Entries::Dataset(dataset) => dataset.data.times(),
            Entries::Rows(_) => None,
        }
    }

    pub(crate) fn has_ratings(&self) -> bool {
        match self {
            Entries::Dataset(dataset) => dataset.has_ratings,
            Entries::Rows(rows) => rows.values.is_some(),
        }
    }

    pub(crate) fn has_weights(&self) -> bool {
        match self {
            Entries::Dataset(dataset) => dataset.has_weights,
            Entries::Rows(rows) => rows.weights.is_some(),
        }
    }

    /// Rows that were held out of the data.
    pub(crate) fn held_out(&self) -> Option<&TestSet> {
        match self {
            Entries::Dataset(dataset) => dataset.held_out.as_ref(),
            Entries::Rows(_) => None,
        }
    }

    /// Relations that are trained with the data.
    pub(crate) fn related(&self) -> Option<&Relations<'static>> {
        match self {
            Entries::Dataset(dataset) => dataset.related.as_ref(),
            Entries::Rows(_) => None,
        }
    }

    /// How repeated pairs were merged.
    pub(crate) fn duplicates(&self) -> Duplicates {
        match self {
            Entries::Dataset(dataset) => dataset.duplicates,
            Entries::Rows(_) => Duplicates::Sum,
        }
    }
}

fn matrix_entries(matrix: &Interactions<'_>, row: usize) -> Vec<NewEntry> {
    if row >= matrix.n_users() {
        return Vec::new();
    }
    let entries = matrix.by_user();
    let start = entries.offsets()[row] as usize;
    let row = entries.row(row);
    let entry = |at: usize| NewEntry {
        index: row.indices[at],
        value: row.r.get(at),
        weight: row.c.get(at),
        time: matrix.times().map(|times| times[start + at]),
        exposed: matrix.is_exposed(start + at),
    };
    (0..row.len()).map(entry).collect()
}
