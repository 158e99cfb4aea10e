//! Why a line of text is not a scheme.

use crate::error::Fault;

/// Why a line of text is not a scheme; names the word and what would be accepted.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SpecError {
    /// Not the name of a scheme.
    #[error(
        "'{word}' is not a weight scheme; there are uniform:W, popularity:c0=..|mean=..,alpha=.., activity:.., popularity*activity:..,beta=.., groups:TABLE,users=..,items=.., lowrank:A,B, dense:W,rank=..|error=.., and sums of them with ' + '"
    )]
    Scheme {
        /// The word.
        word: String,
    },
    /// Almost the name of a scheme.
    #[error("'{word}' is not a weight scheme; did you mean {near}?")]
    NearScheme {
        /// The word.
        word: String,
        /// The scheme it may stand for.
        near: &'static str,
    },
    /// Almost the name of an option.
    #[error("{scheme}: '{word}' is not an option; did you mean {near}=? It takes {accepted}")]
    NearOption {
        /// Name of the scheme.
        scheme: &'static str,
        /// The word.
        word: String,
        /// The option it may stand for.
        near: &'static str,
        /// What the scheme takes.
        accepted: &'static str,
    },
    /// The same option more than once.
    #[error("{scheme}: {name}= is given more than once; keep one of them")]
    Repeated {
        /// Name of the scheme.
        scheme: &'static str,
        /// Name of the option.
        name: String,
    },
    /// An option that the scheme does not have.
    #[error("{scheme}: '{word}' is not an option; it takes {accepted}")]
    Option {
        /// Name of the scheme.
        scheme: &'static str,
        /// The word.
        word: String,
        /// What the scheme takes.
        accepted: &'static str,
    },
    /// An option is given twice, or two that exclude each other.
    #[error("{scheme}: '{word}' comes on top of another that says the same; it takes {accepted}")]
    Twice {
        /// Name of the scheme.
        scheme: &'static str,
        /// The word.
        word: String,
        /// What the scheme takes.
        accepted: &'static str,
    },
    /// The value of an option cannot be read.
    #[error("{scheme}: '{value}' is not a value of {name} ({name}={value}); it must be {accepted}")]
    Value {
        /// Name of the scheme.
        scheme: &'static str,
        /// Name of the option.
        name: &'static str,
        /// The value.
        value: String,
        /// What is accepted.
        accepted: &'static str,
    },
    /// An option that cannot be left out.
    #[error("{scheme}: {name} is missing; it takes {accepted}")]
    Missing {
        /// Name of the scheme.
        scheme: &'static str,
        /// Name of the option.
        name: &'static str,
        /// What the scheme takes.
        accepted: &'static str,
    },
}

impl SpecError {
    /// Whose fault the error is.
    #[must_use]
    pub fn fault(&self) -> Fault {
        Fault::Caller
    }
}
