//! Why data could not be generated.

use absentia::Fault;

/// Why parameters of a generator were refused.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum GenerateError {
    /// A count is zero or larger than 32-bit indices allow.
    #[error("{name} is {got}; it must be between 1 and {most}")]
    Count {
        /// Name of the parameter.
        name: &'static str,
        /// What was given.
        got: u64,
        /// The largest number accepted.
        most: u64,
    },
    /// A real parameter is out of range.
    #[error("{name} is {got}; it must be {range}")]
    Parameter {
        /// Name of the parameter.
        name: &'static str,
        /// What was given.
        got: f32,
        /// What is accepted.
        range: &'static str,
    },
    /// More entries than users can be expected to find and like.
    #[error("{entries} entries are more than the {most} that {users} users can be shown and like")]
    TooManyEntries {
        /// The requested number.
        entries: u64,
        /// The most that is possible.
        most: u64,
        /// Number of users.
        users: u64,
    },
}

impl GenerateError {
    /// Whose fault the error is.
    #[must_use]
    pub fn fault(&self) -> Fault {
        Fault::Caller
    }
}
