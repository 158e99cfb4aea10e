//! Lengths of time: a number with its unit.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::TimeError;

/// Units, longest first, with their seconds. A year is that of the Julian calendar.
const UNITS: [(&str, f64); 7] = [
    ("y", 365.25 * 86_400.0),
    ("w", 7.0 * 86_400.0),
    ("d", 86_400.0),
    ("h", 3600.0),
    ("min", 60.0),
    ("m", 60.0),
    ("s", 1.0),
];

/// Units that are written.
const WRITTEN: [&str; 4] = ["w", "d", "h", "m"];

/// A length of time above zero, such as `30d`, `12h`, `1.5y` or `90s`.
///
/// ```
/// use absentia_io::time::TimeSpan;
///
/// let month: TimeSpan = "30d".parse()?;
/// assert_eq!(month.seconds(), 2_592_000.0);
/// assert_eq!(month.to_string(), "30d");
/// assert!("30".parse::<TimeSpan>().is_err());
/// # Ok::<(), absentia_io::time::TimeError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd, Deserialize, Serialize)]
#[serde(try_from = "String", into = "String")]
pub struct TimeSpan(f64);

impl TimeSpan {
    /// A length in seconds, unless that is not a finite number above zero.
    #[must_use]
    pub fn from_seconds(seconds: f64) -> Option<Self> {
        (seconds.is_finite() && seconds > 0.0).then_some(Self(seconds))
    }

    /// The length in seconds.
    #[must_use]
    pub fn seconds(self) -> f64 {
        self.0
    }
}

impl FromStr for TimeSpan {
    type Err = TimeError;

    fn from_str(text: &str) -> Result<Self, TimeError> {
        let number = text.trim_end_matches(char::is_alphabetic);
        let unit = &text[number.len()..];
        UNITS
            .iter()
            .find(|(name, _)| *name == unit)
            .and_then(|(_, seconds)| Self::from_seconds(number.parse::<f64>().ok()? * seconds))
            .ok_or_else(|| TimeError::Span {
                text: text.to_owned(),
            })
    }
}

impl fmt::Display for TimeSpan {
    /// Writes the largest of weeks, days, hours and minutes that is a whole number, or seconds.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let whole = |(name, seconds): &&(&str, f64)| {
            WRITTEN.contains(name) && (self.0 / seconds).fract() == 0.0
        };
        match UNITS.iter().find(whole) {
            Some((name, seconds)) => write!(f, "{}{name}", self.0 / seconds),
            None => write!(f, "{}s", self.0),
        }
    }
}

impl TryFrom<String> for TimeSpan {
    type Error = TimeError;

    fn try_from(text: String) -> Result<Self, TimeError> {
        text.parse()
    }
}

impl From<TimeSpan> for String {
    fn from(span: TimeSpan) -> Self {
        span.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_have_a_unit() {
        for (text, seconds) in [
            ("90s", 90.0),
            ("10m", 600.0),
            ("10min", 600.0),
            ("1.5h", 5400.0),
            ("30d", 2_592_000.0),
            ("2w", 1_209_600.0),
            ("1y", 31_557_600.0),
        ] {
            assert_eq!(text.parse(), Ok(TimeSpan(seconds)), "{text}");
        }
        for text in [
            "", "30", "d", "soon", "-3d", "0h", "nand", "1e999s", "3 days",
        ] {
            assert!(text.parse::<TimeSpan>().is_err(), "{text}");
        }
    }

    #[test]
    fn spans_are_written_in_the_largest_whole_unit() {
        for (seconds, text) in [
            (90.0, "90s"),
            (120.0, "2m"),
            (2_592_000.0, "30d"),
            (1_209_600.0, "2w"),
            (0.5, "0.5s"),
        ] {
            assert_eq!(TimeSpan(seconds).to_string(), text);
            assert_eq!(text.parse(), Ok(TimeSpan(seconds)));
        }
    }
}
