//! Ranked lists as tables.

use absentia::fit::Cancel;
use absentia::ranking::Scored;
use numpy::{PyArray1, PyArray2, PyArrayMethods};
use pyo3::prelude::*;

use crate::pool::batch;

/// Lists as two tables, short ones padded.
pub(crate) struct Padded {
    ids: Vec<i64>,
    scores: Vec<f32>,
    n: usize,
    padding: f32,
}

pub(crate) type Lists<'py> = (Bound<'py, PyArray2<i64>>, Bound<'py, PyArray2<f32>>);

impl Padded {
    pub(crate) fn new(n: usize, padding: f32) -> Self {
        let (ids, scores) = (Vec::new(), Vec::new());
        Self {
            ids,
            scores,
            n,
            padding,
        }
    }

    fn push(&mut self, list: &[Scored]) {
        let end = self.ids.len() + self.n;
        self.ids
            .extend(list.iter().map(|scored| i64::from(scored.item)));
        self.scores.extend(list.iter().map(|scored| scored.score));
        self.ids.resize(end, -1);
        self.scores.resize(end, self.padding);
    }

    pub(crate) fn push_all(&mut self, lists: &[Vec<Scored>]) {
        for list in lists {
            self.push(list);
        }
    }

    /// Adds the lists of rows, some at a time, until it is cancelled; one row takes `each`
    /// multiplications.
    pub(crate) fn fill<E>(
        &mut self,
        rows: &[u32],
        each: u64,
        cancel: &Cancel,
        rank: impl Fn(&[u32]) -> Result<Vec<Vec<Scored>>, E>,
    ) -> Result<(), E> {
        for rows in rows.chunks(batch(each)) {
            if cancel.is_cancelled() {
                break;
            }
            self.push_all(&rank(rows)?);
        }
        Ok(())
    }

    pub(crate) fn into_arrays(self, py: Python<'_>, rows: usize) -> PyResult<Lists<'_>> {
        Ok((
            PyArray1::from_vec(py, self.ids).reshape([rows, self.n])?,
            PyArray1::from_vec(py, self.scores).reshape([rows, self.n])?,
        ))
    }
}
