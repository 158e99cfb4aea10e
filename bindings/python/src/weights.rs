//! Weights on missing entries: schemes, and the weights that they give on data.

use std::collections::HashMap;
use std::path::Path;
use std::sync::{Arc, PoisonError};

use absentia::Axis;
use absentia::Dense;
use absentia::data::DataError;
use absentia::weights::{
    Approximated, Approximation, ArrayLoader, GroupPaths, Groups, InMemory,
    MissingWeights as Weights, Presence, Product, Scheme as Requested, SchemeSpec, Slices,
    Strength, Term, WeightFunction,
};
use absentia_io::arrays::{Arrays, date_in_seconds};
use absentia_io::time::{Moment, TimeUnit};
use numpy::{PyArray1, PyReadonlyArray1, PyReadonlyArray2, PyUntypedArrayMethods};
use pyo3::exceptions::{PyKeyError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::data::Data;
use crate::error::{OrRaise, Raise};
use crate::factors::Factors;
use crate::ids::IdMap;
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
    pub(crate) fn exception<E: Raise>(&self, error: E) -> PyErr {
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
    ///
    /// Names in `arrays` are those arrays; any other path is a file whose rows are matched with `ids`.
    #[staticmethod]
    #[pyo3(signature = (text, ids=None, arrays=None))]
    fn parse(
        text: &str,
        ids: Option<(Py<IdMap>, Py<IdMap>)>,
        arrays: Option<HashMap<String, GivenArray<'_>>>,
    ) -> PyResult<Self> {
        let spec: SchemeSpec = text.parse().map_err(Raise::raise)?;
        let none = absentia_io::IdMap::new();
        let (users, items) = match &ids {
            Some((users, items)) => (&users.get().0, &items.get().0),
            None => (&none, &none),
        };
        let given = GivenArrays {
            arrays: arrays.unwrap_or_default(),
            files: Arrays { users, items },
        };
        spec.load(&given).map(Self::of)
    }

    /// Weights by a function of blocks; `options` are those of its approximation.
    #[staticmethod]
    fn function(function: Py<PyAny>, options: &str) -> PyResult<Self> {
        let options: Approximated<()> = options.parse().map_err(Raise::raise)?;
        let failure = Failure::default();
        let rule = WeightFunction::new(PythonRule {
            function,
            failure: Arc::clone(&failure),
        });
        Ok(Self {
            requested: Requested::function(rule, options.rank, options.method),
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

    /// The product of factors of a side with another scheme, in either order.
    fn times(&self, other: &Scheme) -> PyResult<Self> {
        let product = self.requested.clone().times(other.requested.clone());
        let requested = product.ok_or_else(|| {
            PyValueError::new_err(
                "a product has factors by popularity, activity, age or availability, and at most one other \
                 scheme, which is not uniform or a sum; none with availability",
            )
        })?;
        let failures = self.failures.iter().chain(&other.failures);
        Ok(Self {
            requested,
            failures: failures.cloned().collect(),
        })
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
            let (entries, scheme) = (data.view()?, scheme.get());
            let resolved = detached(py, threads, || {
                let matrix = entries.transposed()?;
                Ok::<_, DataError>(scheme.requested.resolve(matrix.matrix()))
            })?;
            resolved
                .or_raise()?
                .map_err(|error| scheme.exception(error))
        });
        slf.get().stop_if_err(resolved).map(MissingWeights)
    }
}

/// An array that Python passes instead of the path of one.
#[derive(FromPyObject)]
enum GivenArray<'py> {
    Matrix(PyReadonlyArray2<'py, f32>),
    Groups(PyReadonlyArray1<'py, u32>),
    Dates(PyReadonlyArray1<'py, i64>),
}

/// The arrays of a scheme: those that Python passes by name, and files.
struct GivenArrays<'a, 'py> {
    arrays: HashMap<String, GivenArray<'py>>,
    files: Arrays<'a>,
}

impl GivenArrays<'_, '_> {
    fn matrix(&self, path: &Path) -> Option<PyResult<Dense>> {
        match self.arrays.get(path.to_str()?)? {
            GivenArray::Matrix(array) => Some(dense(array)),
            GivenArray::Groups(_) | GivenArray::Dates(_) => None,
        }
    }

    fn group_numbers(&self, path: &Path) -> Option<PyResult<Vec<u32>>> {
        match self.arrays.get(path.to_str()?)? {
            GivenArray::Groups(array) => Some(groups(array)),
            GivenArray::Matrix(_) | GivenArray::Dates(_) => None,
        }
    }
}

fn groups(array: &PyReadonlyArray1<'_, u32>) -> PyResult<Vec<u32>> {
    Ok(array.as_slice()?.to_vec())
}

impl ArrayLoader for GivenArrays<'_, '_> {
    type Error = PyErr;

    fn rows(&self, path: &Path, axis: Axis) -> PyResult<Dense> {
        self.matrix(path)
            .unwrap_or_else(|| self.files.rows(path, axis).or_raise())
    }

    fn full(&self, path: &Path) -> PyResult<Dense> {
        self.matrix(path)
            .unwrap_or_else(|| self.files.full(path).or_raise())
    }

    fn groups(&self, paths: &GroupPaths) -> PyResult<Groups> {
        let given = (
            self.matrix(&paths.table),
            self.group_numbers(&paths.users),
            self.group_numbers(&paths.items),
        );
        match given {
            (Some(table), Some(users), Some(items)) => Ok(Groups {
                table: table?,
                user_segment: users?,
                item_category: items?,
            }),
            _ => self.files.groups(paths).or_raise(),
        }
    }

    fn dates(&self, path: &Path) -> PyResult<Vec<Option<i64>>> {
        match path.to_str().and_then(|name| self.arrays.get(name)) {
            // The smallest number is numpy's "not a time".
            Some(GivenArray::Dates(array)) => {
                let known = |&date: &i64| (date != i64::MIN).then_some(date);
                Ok(array.as_slice()?.iter().map(known).collect())
            }
            _ => self.files.dates(path).or_raise(),
        }
    }
}

pub(crate) fn dense(array: &PyReadonlyArray2<'_, f32>) -> PyResult<Dense> {
    let &[rows, cols] = array.shape() else {
        return Err(PyValueError::new_err("the array must have two dimensions"));
    };
    Dense::from_slice(rows, cols, array.as_slice()?)
        .ok_or_else(|| PyValueError::new_err("the array is not contiguous"))
}

/// The weights of missing entries on given data.
#[pyclass(frozen, module = "absentia._core")]
pub(crate) struct MissingWeights(pub(crate) Weights);

/// A factor of a term: its name in a text, and its options by name.
type NamedFactor<'py> = (String, Bound<'py, PyDict>);

/// A number as it is written: 0.4 rather than the nearest `f32` in more digits.
fn as_written(number: f32) -> f64 {
    number.to_string().parse().unwrap_or(f64::from(number))
}

/// A term as the factors that it is a product of.
fn factors_of<'py>(py: Python<'py>, term: &Term<InMemory>) -> PyResult<Vec<NamedFactor<'py>>> {
    let options = PyDict::new(py);
    let matrix = |matrix: &Dense| Py::new(py, Factors(matrix.clone().into()));
    let name = match term {
        Term::Uniform(uniform) => {
            options.set_item("weight", as_written(uniform.weight))?;
            "uniform"
        }
        Term::LowRank(given) => {
            options.set_item("a", matrix(&given.a)?)?;
            options.set_item("b", matrix(&given.b)?)?;
            "lowrank"
        }
        Term::Groups(groups) => {
            options.set_item("table", matrix(&groups.table)?)?;
            options.set_item("users", PyArray1::from_slice(py, &groups.user_segment))?;
            options.set_item("items", PyArray1::from_slice(py, &groups.item_category))?;
            "groups"
        }
        Term::Product(product) => return factors_of_product(py, product),
        // What is approximated or estimated is given by its A and B.
        _ => {
            return Err(PyValueError::new_err("the weights are not resolved"));
        }
    };
    Ok(vec![(name.to_owned(), options)])
}

fn factors_of_product<'py>(
    py: Python<'py>,
    product: &Product<InMemory>,
) -> PyResult<Vec<NamedFactor<'py>>> {
    let mut factors = Vec::new();
    let both = product
        .presence
        .is_none()
        .then_some(())
        .and(product.popularity.zip(product.activity));
    if let Some((alpha, beta)) = both {
        let options = PyDict::new(py);
        options.set_item("alpha", as_written(alpha))?;
        options.set_item("beta", as_written(beta))?;
        factors.push(("popularity*activity".to_owned(), options));
    } else {
        for (name, exponent) in [
            ("popularity", product.popularity),
            ("activity", product.activity),
        ] {
            if let Some(exponent) = exponent {
                let options = PyDict::new(py);
                options.set_item("alpha", as_written(exponent))?;
                factors.push((name.to_owned(), options));
            }
        }
    }
    if let Some(presence) = &product.presence {
        let of_time = [
            ("age", presence.factor.is_age()),
            ("available", presence.factor.is_available()),
        ];
        for (name, _) in of_time.into_iter().filter(|(_, has)| *has) {
            factors.push((name.to_owned(), options_of_presence(py, presence)?));
        }
    }
    if let Some((_, first)) = factors.first() {
        match product.strength {
            Strength::C0(c0) => first.set_item("c0", as_written(c0))?,
            Strength::Mean(mean) => first.set_item("mean", as_written(mean))?,
        }
    }
    if let Some(other) = &product.other {
        factors.extend(factors_of(py, other)?);
    }
    Ok(factors)
}

fn options_of_presence<'py>(
    py: Python<'py>,
    presence: &Presence<Vec<Option<i64>>>,
) -> PyResult<Bound<'py, PyDict>> {
    let options = PyDict::new(py);
    match presence.slices {
        Slices::EqualCounts(count) => options.set_item("slices", count)?,
        Slices::Calendar(_) => options.set_item("slices", presence.slices.to_string())?,
    }
    options.set_item("sharpness", as_written(presence.sharpness))?;
    options.set_item("withdrawn", as_written(presence.withdrawn))?;
    if let Some(dates) = &presence.released {
        let dates = dates.iter().map(|date| date.unwrap_or(i64::MIN));
        options.set_item("released", PyArray1::from_iter(py, dates))?;
    }
    Ok(options)
}

/// A date that Python passes.
#[derive(FromPyObject)]
pub(crate) enum GivenDate {
    Number(i64),
    Text(String),
}

/// Unix seconds of dates, as in files of dates; the smallest number, numpy's "not a time", where there is none.
#[pyfunction]
pub(crate) fn dates(
    py: Python<'_>,
    dates: Vec<Option<GivenDate>>,
) -> PyResult<Bound<'_, PyArray1<i64>>> {
    let seconds = dates.into_iter().enumerate().map(|(at, date)| match date {
        None | Some(GivenDate::Number(i64::MIN)) => Ok(i64::MIN),
        Some(GivenDate::Number(number)) => Ok(TimeUnit::Seconds.of_moment(Moment(number))),
        Some(GivenDate::Text(text)) => date_in_seconds(&text).ok_or_else(|| {
            PyValueError::new_err(format!(
                "entry {at}: {text:?} is not a date; expected a year, a unix time or a date such as 2020-01-31"
            ))
        }),
    });
    let seconds: PyResult<Vec<i64>> = seconds.collect();
    Ok(PyArray1::from_vec(py, seconds?))
}

/// The text of weights with every option, as it is written on the command line; arrays are named by path.
#[pyfunction]
pub(crate) fn weights_text(text: &str) -> PyResult<String> {
    let spec: SchemeSpec = text.parse().map_err(Raise::raise)?;
    Ok(spec.to_string())
}

/// Scheme, value, reason and, where it is a reconstruction, relative error.
type PartTuple = (String, f32, String, Option<f64>);

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

    /// The terms of a scheme that gives the same weights on the same data: for each the factors that it is a product of.
    fn terms<'py>(&self, py: Python<'py>) -> PyResult<Vec<Vec<NamedFactor<'py>>>> {
        let scheme = self.0.to_scheme();
        let terms = scheme.terms().iter();
        terms.map(|term| factors_of(py, term)).collect()
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

    /// Says how well each approximated part approximates the weights that were given.
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
