//! Why a line of text is not a scheme.

use crate::error::Fault;

/// Why a line of text is not a scheme, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SpecError {
    /// Number of characters before the word at fault.
    pub position: usize,
    /// What is wrong with it.
    pub kind: SpecErrorKind,
}

impl std::error::Error for SpecError {}

impl std::fmt::Display for SpecError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.position > 0 {
            write!(f, "at character {}: ", self.position + 1)?;
        }
        write!(f, "{}", self.kind)
    }
}

/// What is wrong with a word, and what would be accepted.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
#[allow(missing_docs, reason = "messages explain the fields of their variants")]
pub enum SpecErrorKind {
    /// Not the name of a scheme.
    #[error("'{word}' is not a weight scheme; {}", suggested_scheme(word, *suggestion))]
    Scheme {
        word: String,
        suggestion: Option<&'static str>,
    },
    /// Factors that do not make a product.
    #[error(
        "'{word}' is not a product: it takes each of popularity, activity, age and available once, and then, \
         unless it has available, one scheme with options of its own, as in popularity:mean=0.1,alpha=0.4 * groups:TABLE,users=..,items=.."
    )]
    Product { word: String },
    /// An option that the scheme does not have.
    #[error("{scheme}: '{word}' is not an option; {}", suggested_option(*suggestion, accepted))]
    Option {
        scheme: String,
        word: String,
        suggestion: Option<&'static str>,
        accepted: String,
    },
    /// The same option more than once.
    #[error("{scheme}: {name}= is given more than once; keep one of them")]
    Repeated { scheme: String, name: &'static str },
    /// An option that contradicts another one.
    #[error(
        "{scheme}: '{word}' cannot be combined with another option that is given; it takes {accepted}"
    )]
    Conflict {
        scheme: String,
        word: String,
        accepted: String,
    },
    /// The value of an option cannot be used.
    #[error("{scheme}: '{value}' is not a value of {name} ({name}={value}); it must be {accepted}")]
    Value {
        scheme: String,
        name: &'static str,
        value: String,
        accepted: &'static str,
    },
    /// An option that is required.
    #[error("{scheme}: {name} is missing; it takes {accepted}")]
    Missing {
        scheme: String,
        name: &'static str,
        accepted: String,
    },
}

impl SpecError {
    /// Whose fault the error is.
    #[must_use]
    pub fn fault(&self) -> Fault {
        Fault::Caller
    }
}

fn suggested_scheme(word: &str, suggestion: Option<&str>) -> String {
    match suggestion {
        _ if word.parse::<f32>().is_ok() => format!("did you mean uniform:{word}?"),
        Some(name) => format!("did you mean {name}?"),
        None => "it must be uniform, popularity, activity, age, available, a product of these such as \
                 popularity*activity, or learned, each alone or with options as in popularity:mean=0.1,alpha=0.4, or \
                 groups:TABLE,users=..,items=.., lowrank:A,B, dense:W,rank=.., or a sum of them with ' + '"
            .to_owned(),
    }
}

fn suggested_option(suggestion: Option<&str>, accepted: &str) -> String {
    match suggestion {
        Some(name) => format!("did you mean {name}=? It takes {accepted}"),
        None => format!("it takes {accepted}"),
    }
}
