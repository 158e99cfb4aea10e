//! Numbers of bytes with their unit.

use std::fmt;
use std::str::FromStr;

use absentia::error::TextError;

/// Units and their bytes; the first of a size is the one that is written.
const UNITS: [(&str, f64); 14] = [
    ("TiB", 1_099_511_627_776.0),
    ("GiB", 1_073_741_824.0),
    ("MiB", 1_048_576.0),
    ("KiB", 1024.0),
    ("T", 1_099_511_627_776.0),
    ("G", 1_073_741_824.0),
    ("M", 1_048_576.0),
    ("K", 1024.0),
    ("TB", 1e12),
    ("GB", 1e9),
    ("MB", 1e6),
    ("KB", 1e3),
    ("B", 1.0),
    ("", 1.0),
];

/// A number of bytes, such as `8GiB`, `512MB` or `1073741824`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ByteSize(pub u64);

impl FromStr for ByteSize {
    type Err = TextError;

    fn from_str(text: &str) -> Result<Self, TextError> {
        let wrong = || TextError::new(text, "a size such as 512MiB or 8GB");
        let number = text.trim_end_matches(|c: char| c.is_alphabetic() || c == ' ');
        let unit = text[number.len()..].trim();
        let named = UNITS
            .iter()
            .find(|(name, _)| name.eq_ignore_ascii_case(unit));
        let (_, bytes) = named.ok_or_else(wrong)?;
        let number: f64 = number.parse().map_err(|_| wrong())?;
        if number >= 0.0 {
            Ok(Self((number * bytes) as u64))
        } else {
            Err(wrong())
        }
    }
}

impl fmt::Display for ByteSize {
    /// Writes the number in the largest binary unit that divides it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let divides = |bytes: f64| self.0 > 0 && self.0.is_multiple_of(bytes as u64);
        match UNITS[..4].iter().find(|(_, bytes)| divides(*bytes)) {
            Some((name, bytes)) => write!(f, "{}{name}", self.0 / *bytes as u64),
            None => write!(f, "{}", self.0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read_with_their_units() {
        for (text, bytes) in [
            ("1024", 1024),
            ("2 GiB", 2 << 30),
            ("1.5kB", 1500),
            ("8g", 8 << 30),
            ("0", 0),
        ] {
            assert_eq!(text.parse(), Ok(ByteSize(bytes)), "{text}");
        }
        for text in ["plenty", "-1", "", "1 mile", "nan"] {
            assert!(text.parse::<ByteSize>().is_err(), "{text}");
        }
    }

    #[test]
    fn sizes_are_written_as_they_are_read() {
        for text in ["8GiB", "512MiB", "1000", "1025", "3TiB", "1KiB", "0"] {
            let size: ByteSize = text.parse().expect("a size");
            assert_eq!(size.to_string(), text);
        }
    }
}
