//! Events of a job as messages of Python's logger `absentia`.

use std::sync::{Mutex, PoisonError};

use absentia_job::{Event, Job, Level, Listener};
use pyo3::prelude::*;

use crate::job::argument;

/// Collects messages while Python is not attached.
#[derive(Default)]
pub(crate) struct Notices(Mutex<Vec<(Level, String)>>);

impl Notices {
    /// Logs the messages.
    pub(crate) fn log(self, py: Python<'_>) -> PyResult<()> {
        let messages = self.0.into_inner().unwrap_or_else(PoisonError::into_inner);
        if messages.is_empty() {
            return Ok(());
        }
        let logger = py
            .import("logging")?
            .call_method1("getLogger", ("absentia",))?;
        for (level, text) in messages {
            let method = match level {
                Level::Note => "info",
                Level::Warning => "warning",
            };
            logger.call_method1(method, ("%s", text))?;
        }
        Ok(())
    }
}

impl Notices {
    /// Adds what was given to a job and has no effect.
    pub(crate) fn add_unused(&self, job: &Job) {
        for text in job.without_effect(&[job.method()], &argument) {
            self.add((Level::Warning, text));
        }
    }

    fn add(&self, message: (Level, String)) {
        let mut messages = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        messages.push(message);
    }
}

impl Listener for Notices {
    fn event(&self, event: &Event<'_>) {
        if let Some(message) = event.message(&argument) {
            self.add(message);
        }
    }
}
