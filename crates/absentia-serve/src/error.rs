//! Errors: one for requests, which has one JSON shape, and one for starting the server.

use absentia::error::Fault;
use absentia_online::LearnError;
use serde::Serialize;

use crate::store::StoreError;

/// Why a request was refused. Every such answer has the body `{"error": {"code", "message", "field"}}`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ApiError {
    /// Status of the answer.
    #[serde(skip)]
    pub status: u16,
    /// A word for programs.
    pub code: &'static str,
    /// A sentence for people.
    pub message: String,
    /// The part of the request that is wrong, where there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub field: Option<String>,
    /// Seconds after which to try again.
    #[serde(skip)]
    pub retry_after: Option<u32>,
}

impl ApiError {
    /// An error of a status and a code.
    #[must_use]
    pub fn new(status: u16, code: &'static str, message: impl Into<String>) -> Self {
        Self {
            status,
            code,
            message: message.into(),
            field: None,
            retry_after: None,
        }
    }

    /// A request that cannot be understood.
    #[must_use]
    pub fn bad(code: &'static str, message: impl Into<String>) -> Self {
        Self::new(400, code, message)
    }

    /// A value that is not accepted.
    #[must_use]
    pub fn invalid(field: impl Into<String>, message: impl Into<String>) -> Self {
        Self::new(422, "invalid_value", message).field(field)
    }

    /// Something that there is not.
    #[must_use]
    pub fn not_found(code: &'static str, message: impl Into<String>) -> Self {
        Self::new(404, code, message)
    }

    /// More requests than can be answered.
    #[must_use]
    pub fn overloaded() -> Self {
        let message = "more requests wait than are accepted; try again later";
        Self {
            retry_after: Some(1),
            ..Self::new(503, "overloaded", message)
        }
    }

    /// The server stops.
    #[must_use]
    pub fn stopping() -> Self {
        Self {
            retry_after: Some(5),
            ..Self::new(503, "stopping", "the server is shutting down")
        }
    }

    /// Names the part of the request.
    #[must_use]
    pub fn field(mut self, field: impl Into<String>) -> Self {
        self.field = Some(field.into());
        self
    }
}

impl From<LearnError> for ApiError {
    fn from(error: LearnError) -> Self {
        match error.fault() {
            Fault::NotFound => Self::not_found("not_found", error.to_string()),
            _ => Self::new(422, "rejected", error.to_string()),
        }
    }
}

impl From<StoreError> for ApiError {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::Full => Self {
                retry_after: Some(60),
                ..Self::new(507, "storage_full", "the disk or the database is full")
            },
            StoreError::Busy => Self {
                retry_after: Some(1),
                ..Self::new(503, "storage_busy", error.to_string())
            },
            StoreError::Stopped => Self::new(
                503,
                "storage_failed",
                "writing failed before, and nothing is written until the server is restarted",
            ),
            _ => Self::new(
                500,
                "storage_error",
                "the database cannot be read or written",
            ),
        }
    }
}

/// Why the server did not start, or stopped.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ServeError {
    /// The database.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A model that cannot be opened or cannot learn.
    #[error(transparent)]
    Learn(#[from] LearnError),
    /// A file or the network.
    #[error("{what}: {source}")]
    Io {
        /// What was done.
        what: String,
        /// What went wrong.
        source: std::io::Error,
    },
    /// Settings that cannot be read.
    #[error("{path}: {detail}")]
    Settings {
        /// The file.
        path: String,
        /// What is wrong with it.
        detail: String,
    },
    /// Another server has the folder open.
    #[error("{0}: another server uses this folder")]
    InUse(String),
    /// Neither a model file nor a folder with one.
    #[error("{0}: this folder has no model yet; give a model file")]
    NoModel(String),
    /// An address that needs a key.
    #[error(
        "a server on {0} with these settings needs a key, and there is none; make one with --new-key read, \
         write or admin"
    )]
    NoKey(String),
    /// A model of other users and items.
    #[error(
        "the model knows {known} of the {total} {side} that the active model knows; at least half are needed"
    )]
    OtherIds {
        /// Which side.
        side: &'static str,
        /// How many it knows.
        known: usize,
        /// How many there are.
        total: usize,
    },
}

impl ServeError {
    pub(crate) fn io(what: impl Into<String>) -> impl FnOnce(std::io::Error) -> Self {
        let what = what.into();
        move |source| Self::Io { what, source }
    }
}
