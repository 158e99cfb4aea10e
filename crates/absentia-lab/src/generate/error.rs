//! Why data could not be generated.

use absentia::Fault;

/// Why parameters of a generator were refused.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
#[allow(missing_docs, reason = "messages explain the fields of their variants")]
pub enum GenerateError {
    /// A count is zero or larger than 32-bit indices allow.
    #[error("{name} is {got}; it must be between 1 and {most}")]
    Count {
        name: &'static str,
        got: u64,
        most: u64,
    },
    /// A real parameter is out of range.
    #[error("{name} is {got}; it must be {range}")]
    Parameter {
        name: &'static str,
        got: f32,
        range: &'static str,
    },
    /// More entries than users can be expected to find and like.
    #[error("{entries} entries are more than the {most} that {users} users can be shown and like")]
    TooManyEntries { entries: u64, most: u64, users: u64 },
}

impl GenerateError {
    /// Whose fault the error is.
    #[must_use]
    pub fn fault(&self) -> Fault {
        Fault::Caller
    }
}
