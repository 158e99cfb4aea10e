//! Weights given by a Python function, called on blocks.

use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use absentia::weights::WeightRule;
use numpy::{PyReadonlyArray2, PyUntypedArrayMethods};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::gate;

/// Where the first exception of a function is kept until the call it broke has ended.
pub(crate) type Failure = Arc<Mutex<Option<PyErr>>>;

/// A Python function `f(first_user, end_user, first_item, end_item)` that yields a block of weights.
pub(crate) struct PythonRule {
    pub(crate) function: Py<PyAny>,
    pub(crate) failure: Failure,
}

impl PythonRule {
    fn call(&self, users: &Range<u32>, items: &Range<u32>, out: &mut [f32]) -> PyResult<()> {
        let called = gate::inside(|| {
            Python::attach(|py| {
                let arguments = (users.start, users.end, items.start, items.end);
                let block: PyReadonlyArray2<'_, f32> =
                    self.function.bind(py).call1(arguments)?.extract()?;
                if block.shape() != [users.len(), items.len()] {
                    return Err(PyValueError::new_err("the weights have the wrong shape"));
                }
                out[..block.len()].copy_from_slice(block.as_slice()?);
                Ok(())
            })
        });
        called.unwrap_or_else(|| Err(PyValueError::new_err("the interpreter has ended")))
    }
}

/// The engine cannot stop in the middle of a rule: a failed block is NaN, which it rejects, and the
/// exception takes the place of that refusal.
impl WeightRule for PythonRule {
    fn weight(&self, user: u32, item: u32) -> f32 {
        let mut weight = [0.0];
        self.fill(user..user + 1, item..item + 1, &mut weight);
        weight[0]
    }

    fn fill(&self, users: Range<u32>, items: Range<u32>, out: &mut [f32]) {
        let failed = self
            .failure
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .is_some();
        let outcome = if failed {
            None
        } else {
            Some(self.call(&users, &items, out))
        };
        if let Some(Ok(())) = outcome {
            return;
        }
        out.fill(f32::NAN);
        if let Some(Err(error)) = outcome {
            let mut failure = self.failure.lock().unwrap_or_else(PoisonError::into_inner);
            failure.get_or_insert(error);
        }
    }
}
