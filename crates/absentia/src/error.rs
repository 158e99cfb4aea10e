//! What can go wrong at each boundary of the engine, as values rather than text.

/// Whose fault an error is; outer layers map it to exit codes, HTTP statuses or exception classes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The caller passed something that cannot be used.
    Caller,
    /// Something that was requested by name does not exist.
    NotFound,
    /// Reading or writing failed outside the program.
    Io,
    /// A defect of this library.
    Internal,
}

/// One of the two sides of the matrix.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "lowercase"))]
pub enum Axis {
    /// Rows of the matrix.
    User,
    /// Columns of the matrix.
    Item,
}

impl Axis {
    /// The opposite side.
    #[must_use]
    pub fn other(self) -> Self {
        match self {
            Axis::User => Axis::Item,
            Axis::Item => Axis::User,
        }
    }
}

/// Reads and writes an enumeration by the names of its variants.
macro_rules! named {
    ($type:ident, $expected:literal, $($variant:ident = $name:literal),*) => {
        impl std::str::FromStr for $type {
            type Err = $crate::error::TextError;

            #[doc = concat!("Reads ", $expected, ".")]
            fn from_str(text: &str) -> Result<Self, $crate::error::TextError> {
                match text {
                    $($name => Ok($type::$variant),)*
                    _ => Err($crate::error::TextError::new(text, $expected)),
                }
            }
        }

        impl std::fmt::Display for $type {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(match self {
                    $($type::$variant => $name,)*
                })
            }
        }
    };
}
pub(crate) use named;

named!(Axis, "user or item", User = "user", Item = "item");

/// A text that cannot be read as the value it is meant to be.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("expected {expected}")]
pub struct TextError {
    /// The text.
    pub text: String,
    /// What can be written instead.
    pub expected: &'static str,
}

impl TextError {
    /// An error that names what was read and what was expected.
    #[must_use]
    pub fn new(text: &str, expected: &'static str) -> Self {
        Self {
            text: text.to_owned(),
            expected,
        }
    }

    /// Whose fault the error is.
    #[must_use]
    pub fn fault(&self) -> Fault {
        Fault::Caller
    }
}
