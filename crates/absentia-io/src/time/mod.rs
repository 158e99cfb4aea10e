//! The text forms of times and durations, for files, the command line and Python.
//!
//! A [`Moment`] is a unix time or an ISO-8601 date; a [`TimeSpan`] is a number with its unit, such as `30d`;
//! a [`TimeUnit`] is that of the times of a data set, from seconds to nanoseconds.

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
#[allow(missing_docs, reason = "messages explain the fields of their variants")]
pub enum TimeError {
    /// Neither a number nor a date that exists.
    #[error(
        "expected a unix time, or a date such as 2020-01-31, 2020-01-31T23:59:59 or \
         2020-01-31T23:59:59+02:00"
    )]
    Moment { text: String },
    /// No unit of times.
    #[error("expected s, ms, us or ns")]
    Unit { text: String },
    /// A time that no interaction can have.
    #[error("a time is {time}: in {}, this is after the year 2200", unit.name())]
    Impossible { time: i64, unit: TimeUnit },
    /// A time that is too large for the unit that was given.
    #[error("a time is {time}: in {}, this is after the year 5138", unit.name())]
    Beyond { time: i64, unit: TimeUnit },
    /// Times of several units in one column.
    #[error("times run from {earliest} to {latest}, which are not of one unit")]
    Mixed { earliest: i64, latest: i64 },
    /// Not a positive number with a unit.
    #[error("expected a time with its unit, s, m, h, d, w or y, as in 30d")]
    Span { text: String },
}
