//! Numbers of things of which there must be at least one.

use std::fmt;
use std::num::NonZeroUsize;
use std::str::FromStr;

use absentia::error::TextError;

/// A whole number of at least 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Count(NonZeroUsize);

impl Count {
    /// The number, unless it is 0.
    #[must_use]
    pub fn new(number: usize) -> Option<Self> {
        NonZeroUsize::new(number).map(Self)
    }

    /// The number.
    #[must_use]
    pub fn get(self) -> usize {
        self.0.get()
    }
}

impl FromStr for Count {
    type Err = TextError;

    fn from_str(text: &str) -> Result<Self, TextError> {
        let number = text.parse().map(Self);
        number.map_err(|_| TextError::new(text, "a whole number of at least 1"))
    }
}

impl fmt::Display for Count {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zero_is_no_count() {
        assert_eq!("3".parse::<Count>().map(Count::get), Ok(3));
        for text in ["0", "-1", "two", "1.5"] {
            assert!(text.parse::<Count>().is_err(), "{text}");
        }
    }
}
