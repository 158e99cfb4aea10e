//! The text forms of times and durations, for files, the command line and Python.
//!
//! A [`Moment`] is a unix time or an ISO-8601 date; a [`TimeSpan`] is a number with its unit, such as `30d`;
//! a [`TimeUnit`] says whether the times of a data set are seconds or milliseconds.

mod moment;
mod span;
mod unit;

pub use moment::Moment;
pub(crate) use moment::iso_seconds;
pub use span::TimeSpan;
pub use unit::TimeUnit;

/// A text that is not a time.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TimeError {
    /// Neither a number nor a date that exists.
    #[error(
        "expected a unix time, or a date such as 2020-01-31, 2020-01-31T23:59:59 or \
         2020-01-31T23:59:59+02:00"
    )]
    Moment {
        /// The text.
        text: String,
    },
    /// Not a positive number with a unit.
    #[error("expected a time with its unit, s, m, h, d, w or y, as in 30d")]
    Span {
        /// The text.
        text: String,
    },
}
