//! Errors of the engine as Python exceptions.

use std::io::ErrorKind;
use std::str::FromStr;

use absentia::data::DataError;
use absentia::error::TextError;
use absentia::evaluate::EvaluateError;
use absentia::fit::FitError;
use absentia::model::ModelError;
use absentia::online::OnlineError;
use absentia::ranking::RankError;
use absentia::weights::{SpecError, WeightsError};
use absentia::{Fault, ParamsError};
use absentia_job::JobError;
use absentia_online::LearnError;
use pyo3::exceptions::{
    PyFileNotFoundError, PyKeyError, PyMemoryError, PyOSError, PyPermissionError, PyRuntimeError,
    PyValueError,
};
use pyo3::{PyErr, PyResult};

use crate::job::argument;

/// An error that has a Python exception.
pub(crate) trait Raise {
    /// The exception to raise.
    fn raise(self) -> PyErr;
}

fn exception(fault: Fault, message: String) -> PyErr {
    match fault {
        Fault::Caller => PyValueError::new_err(message),
        Fault::NotFound => PyKeyError::new_err(message),
        Fault::Io => PyOSError::new_err(message),
        Fault::Internal => PyRuntimeError::new_err(message),
    }
}

macro_rules! raise_by_fault {
    ($($error:ty),*) => {
        $(impl Raise for $error {
            fn raise(self) -> PyErr {
                exception(self.fault(), self.to_string())
            }
        })*
    };
}

raise_by_fault!(
    DataError,
    EvaluateError,
    absentia::InstructionSetError,
    ModelError,
    ParamsError,
    RankError,
    SpecError,
    WeightsError
);

impl Raise for FitError {
    fn raise(self) -> PyErr {
        let message = self.to_string();
        match self {
            FitError::Memory { .. } => PyMemoryError::new_err(message),
            error => exception(error.fault(), message),
        }
    }
}

impl Raise for JobError {
    fn raise(self) -> PyErr {
        match self {
            JobError::File(error) => error.raise(),
            JobError::Fit(error) => error.raise(),
            JobError::Key(error) => PyValueError::new_err(format!(
                "{} is {}; {}",
                argument(&error.key),
                error.given,
                error.reason
            )),
            JobError::Times(error) => PyValueError::new_err(format!(
                "{error}; pass time_unit=\"s\", \"ms\", \"us\" or \"ns\" to fit, or time_col=\"none\""
            )),
            JobError::NoWeightColumn => PyValueError::new_err(
                "confidence is \"column\", and the data has no weights; pass weight_col or sample_weight",
            ),
            error => exception(error.fault(), error.to_string()),
        }
    }
}

impl Raise for LearnError {
    fn raise(self) -> PyErr {
        match self {
            LearnError::File(error) => error.raise(),
            LearnError::Job(error) => error.raise(),
            LearnError::Online(OnlineError::Fit(error)) => error.raise(),
            LearnError::Unknown { ref similar, .. } => {
                let hint = absentia::suggest::did_you_mean(similar);
                let hint = hint.map(|hint| format!("; {hint}")).unwrap_or_default();
                PyKeyError::new_err(format!("{self}{hint}"))
            }
            LearnError::NoTrainingFile { .. } => {
                PyFileNotFoundError::new_err(format!("{self}; pass train= with its path"))
            }
            LearnError::OtherUnit { .. } => PyValueError::new_err(format!(
                "{self}; convert them to that unit, or pass datetimes if it is seconds"
            )),
            error => exception(error.fault(), error.to_string()),
        }
    }
}

/// The exception for a record that was rejected, one of several.
pub(crate) fn raise_event(error: LearnError, at: usize, of: usize) -> PyErr {
    if of == 1 {
        return error.raise();
    }
    exception(error.fault(), format!("entry {at}: {error}"))
}

impl Raise for absentia_io::Error {
    fn raise(self) -> PyErr {
        use absentia_io::Error;
        let message = match self.hint() {
            Some(hint) => format!("{self}; {hint}"),
            None => self.to_string(),
        };
        match &self {
            // Python has classes of its own for these.
            Error::NoMatch { .. } | Error::NoFile { .. } => PyFileNotFoundError::new_err(message),
            Error::Io { source, .. } => match source.kind() {
                ErrorKind::NotFound => PyFileNotFoundError::new_err(message),
                ErrorKind::PermissionDenied => PyPermissionError::new_err(message),
                _ => PyOSError::new_err(message),
            },
            _ => exception(self.fault(), message),
        }
    }
}

/// Reads the text of an argument.
pub(crate) fn parsed<T: FromStr<Err = TextError>>(name: &str, text: &str) -> PyResult<T> {
    let wrong = |error| PyValueError::new_err(format!("{name} is {text:?}; {error}"));
    text.parse().map_err(wrong)
}

/// `result.or_raise()?` for every error of the engine.
pub(crate) trait OrRaise<T> {
    /// Yields the value, or the error as an exception.
    fn or_raise(self) -> Result<T, PyErr>;
}

impl<T, E: Raise> OrRaise<T> for Result<T, E> {
    fn or_raise(self) -> Result<T, PyErr> {
        self.map_err(Raise::raise)
    }
}
