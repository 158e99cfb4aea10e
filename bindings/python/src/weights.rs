//! Weights on missing entries: schemes, and what they come to on data.

use std::sync::{Arc, PoisonError};

use absentia::data::DataError;
use absentia::linalg::Dense;
use absentia::weights::{
    Approximation, Decomposition, Groups, MissingWeights as Weights, Rank, Scheme as Requested,
    SchemeSpec, Strength, WeightFunction,
};
use numpy::{PyReadonlyArray1, PyReadonlyArray2, PyUntypedArrayMethods};
use pyo3::exceptions::{PyKeyError, PyValueError};
use pyo3::prelude::*;

use crate::data::Data;
use crate::error::{OrRaise, Raise};
use crate::factors::Factors;
use crate::pool::{detached, interruptible};
use crate::rule::{Failure, PythonRule};

/// A way to weight missing entries, before it meets data.
#[pyclass(frozen, module = "absentia._core")]
pub(crate) struct Scheme {
    pub(crate) requested: Requested,
    failures: Vec<Failure>,
}

impl Scheme {
    fn of(requested: Requested) -> Self {
        Self {
            requested,
            failures: Vec::new(),
        }
    }

    /// The exception of a weight function if there is one, else the error itself.
    pub(crate) fn blame<E: Raise>(&self, error: E) -> PyErr {
        let mut failures = self.failures.iter();
        let taken = failures.find_map(|failure| {
            failure
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .take()
        });
        taken.unwrap_or_else(|| error.raise())
    }

    /// Keeps Python's functions from being called any more if the call that used them has failed.
    pub(crate) fn stop_if_err<T>(&self, outcome: PyResult<T>) -> PyResult<T> {
        if outcome.is_err() {
            for failure in &self.failures {
                let mut failure = failure.lock().unwrap_or_else(PoisonError::into_inner);
                failure.get_or_insert_with(|| PyValueError::new_err("the call was interrupted"));
            }
        }
        outcome
    }
}

#[pymethods]
impl Scheme {
    /// Reads the text form, as on the command line.
    #[staticmethod]
    fn parse(text: &str) -> PyResult<Self> {
        let spec: SchemeSpec = text.parse().map_err(Raise::raise)?;
        spec.scheme().map(Self::of).ok_or_else(|| {
            PyValueError::new_err(format!(
                "{text:?} names arrays by path; pass them to the classes of absentia.weights"
            ))
        })
    }

    #[staticmethod]
    fn uniform(weight: f32) -> Self {
        Self::of(Requested::uniform(weight))
    }

    #[staticmethod]
    #[pyo3(signature = (c0, mean, alpha))]
    fn popularity(c0: Option<f32>, mean: Option<f32>, alpha: f32) -> PyResult<Self> {
        let strength = strength(c0, mean)?;
        Ok(Self::of(Requested::popularity(strength, alpha)))
    }

    #[staticmethod]
    #[pyo3(signature = (c0, mean, alpha))]
    fn activity(c0: Option<f32>, mean: Option<f32>, alpha: f32) -> PyResult<Self> {
        let strength = strength(c0, mean)?;
        Ok(Self::of(Requested::activity(strength, alpha)))
    }

    #[staticmethod]
    #[pyo3(signature = (c0, mean, alpha, beta))]
    fn popularity_activity(
        c0: Option<f32>,
        mean: Option<f32>,
        alpha: f32,
        beta: f32,
    ) -> PyResult<Self> {
        Ok(Self::of(Requested::popularity_activity(
            strength(c0, mean)?,
            alpha,
            beta,
        )))
    }

    #[staticmethod]
    fn groups(
        table: PyReadonlyArray2<'_, f32>,
        users: PyReadonlyArray1<'_, u32>,
        items: PyReadonlyArray1<'_, u32>,
    ) -> PyResult<Self> {
        Ok(Self::of(Requested::groups(Groups {
            table: dense(&table)?,
            user_segment: users.as_slice()?.to_vec(),
            item_category: items.as_slice()?.to_vec(),
        })))
    }

    #[staticmethod]
    fn low_rank(a: PyReadonlyArray2<'_, f32>, b: PyReadonlyArray2<'_, f32>) -> PyResult<Self> {
        Ok(Self::of(Requested::low_rank(dense(&a)?, dense(&b)?)))
    }

    #[staticmethod]
    #[pyo3(signature = (w, rank, error, method))]
    fn dense(
        w: PyReadonlyArray2<'_, f32>,
        rank: Option<usize>,
        error: Option<f32>,
        method: &str,
    ) -> PyResult<Self> {
        Ok(Self::of(Requested::dense(
            dense(&w)?,
            closeness(rank, error)?,
            parse_method(method)?,
        )))
    }

    #[staticmethod]
    #[pyo3(signature = (function, rank, error, method))]
    fn function(
        function: Py<PyAny>,
        rank: Option<usize>,
        error: Option<f32>,
        method: &str,
    ) -> PyResult<Self> {
        let failure = Failure::default();
        let rule = PythonRule {
            function,
            failure: Arc::clone(&failure),
        };
        let requested = Requested::function(
            WeightFunction::new(rule),
            closeness(rank, error)?,
            parse_method(method)?,
        );
        Ok(Self {
            requested,
            failures: vec![failure],
        })
    }

    #[staticmethod]
    fn sum(terms: Vec<Bound<'_, Scheme>>) -> Self {
        let failures = terms.iter().flat_map(|term| term.get().failures.clone());
        Self {
            failures: failures.collect(),
            requested: Requested::sum(terms.iter().map(|term| term.get().requested.clone())),
        }
    }

    /// Yields the weights on given data.
    #[pyo3(signature = (data, threads=None))]
    fn resolve(
        slf: Py<Self>,
        py: Python<'_>,
        data: Data,
        threads: Option<usize>,
    ) -> PyResult<MissingWeights> {
        let scheme = slf.clone_ref(py);
        let resolved = interruptible(py, move |py, _| {
            let data = data.borrow(py)?;
            let (lent, scheme) = (data.lend()?, scheme.get());
            let resolved = detached(py, threads, || {
                let whole = lent.whole()?;
                Ok::<_, DataError>(scheme.requested.resolve(whole.matrix()))
            })?;
            resolved.or_raise()?.map_err(|error| scheme.blame(error))
        });
        slf.get().stop_if_err(resolved).map(MissingWeights)
    }
}

fn strength(c0: Option<f32>, mean: Option<f32>) -> PyResult<Strength> {
    match (c0, mean) {
        (Some(c0), None) => Ok(Strength::C0(c0)),
        (None, Some(mean)) => Ok(Strength::Mean(mean)),
        _ => Err(PyValueError::new_err("give either c0 or mean")),
    }
}

fn closeness(rank: Option<usize>, error: Option<f32>) -> PyResult<Rank> {
    match (rank, error) {
        (Some(rank), None) => Ok(Rank::Fixed(rank)),
        (None, Some(error)) => Ok(Rank::error(error)),
        _ => Err(PyValueError::new_err("give either rank or error")),
    }
}

fn parse_method(name: &str) -> PyResult<Decomposition> {
    match name {
        "svd" => Ok(Decomposition::Svd),
        "nonnegative" => Ok(Decomposition::NonNegative),
        _ => Err(PyValueError::new_err(format!(
            "method is {name:?}; it must be 'svd' or 'nonnegative'"
        ))),
    }
}

pub(crate) fn dense(array: &PyReadonlyArray2<'_, f32>) -> PyResult<Dense> {
    let &[rows, cols] = array.shape() else {
        return Err(PyValueError::new_err("expected an array of two dimensions"));
    };
    Dense::from_slice(rows, cols, array.as_slice()?)
        .ok_or_else(|| PyValueError::new_err("the array is not contiguous"))
}

/// The weights of missing entries on given data.
#[pyclass(frozen, module = "absentia._core")]
pub(crate) struct MissingWeights(pub(crate) Weights);

/// Scheme, value, reason and, where it is a reconstruction, relative error.
type PartTuple = (&'static str, f32, String, Option<f64>);

#[pymethods]
impl MissingWeights {
    #[getter]
    fn rank(&self) -> usize {
        self.0.rank()
    }

    /// Number of users and of items.
    #[getter]
    fn shape(&self) -> (usize, usize) {
        (self.0.n_users(), self.0.n_items())
    }

    /// A, one row per user.
    #[getter]
    fn a(&self) -> Factors {
        Factors(self.0.a().clone().into())
    }

    /// B, one row per item.
    #[getter]
    fn b(&self) -> Factors {
        Factors(self.0.b().clone().into())
    }

    /// What the columns of A and B are, part by part, as JSON.
    #[getter]
    fn frozen(&self) -> PyResult<String> {
        serde_json::to_string(self.0.frozen())
            .map_err(|error| PyValueError::new_err(error.to_string()))
    }

    #[getter]
    fn may_be_negative(&self) -> bool {
        self.0.may_be_negative()
    }

    /// The largest relative error over missing entries of an approximated part, if any is one.
    #[getter]
    fn relative_error(&self) -> Option<f64> {
        self.0.approximation().map(|found| found.relative_error)
    }

    /// Says how well approximated parts stand for what was asked for.
    #[getter]
    fn approximations(&self) -> Vec<String> {
        self.0
            .approximations()
            .map(Approximation::to_string)
            .collect()
    }

    fn weight(&self, user: u32, item: u32) -> PyResult<f32> {
        self.check(user, item)?;
        Ok(self.0.weight(user, item))
    }

    /// The weight, its parts, and the whole as text.
    fn explain(&self, user: u32, item: u32) -> PyResult<(f32, Vec<PartTuple>, String)> {
        self.check(user, item)?;
        let explanation = self.0.explain(user, item);
        let text = explanation.to_string();
        let parts = explanation.parts.into_iter();
        let parts = parts.map(|part| (part.scheme, part.value, part.reason, part.relative_error));
        Ok((explanation.total, parts.collect(), text))
    }
}

impl MissingWeights {
    fn check(&self, user: u32, item: u32) -> PyResult<()> {
        let (users, items) = (self.0.n_users(), self.0.n_items());
        if (user as usize) < users && (item as usize) < items {
            return Ok(());
        }
        Err(PyKeyError::new_err(format!(
            "there is no weight for user {user} and item {item}: there are {users} users and {items} items"
        )))
    }
}
