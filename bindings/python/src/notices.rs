//! Events of a job as messages of Python's logger `absentia`.

use std::sync::{Mutex, PoisonError};

use absentia_job::text::ByteSize;
use absentia_job::{Event, Job, Ledger, Level, Listener};
use pyo3::prelude::*;

use crate::job::argument;

/// Collects messages while Python is not attached, and counts the memory of the job.
pub(crate) struct Notices {
    messages: Mutex<Vec<(Level, String)>>,
    memory: Ledger,
}

impl Notices {
    /// No messages yet, of a job that may take the memory it says.
    pub(crate) fn of(job: &Job) -> Self {
        let limit = job.settings.memory_limit.map(|ByteSize(bytes)| bytes);
        Self {
            messages: Mutex::default(),
            memory: Ledger::new(limit),
        }
    }

    /// Logs the messages.
    pub(crate) fn log(self, py: Python<'_>) -> PyResult<()> {
        let messages = self
            .messages
            .into_inner()
            .unwrap_or_else(PoisonError::into_inner);
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
        let mut messages = self.messages.lock().unwrap_or_else(PoisonError::into_inner);
        messages.push(message);
    }
}

impl Listener for Notices {
    fn memory(&self) -> Option<&Ledger> {
        Some(&self.memory)
    }

    fn event(&self, event: &Event<'_>) {
        if let Some(message) = event.message(&argument) {
            self.add(message);
        }
    }
}
