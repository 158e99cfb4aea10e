//! Choices about data as they are written on the command line, in files and in Python.

use std::fmt;
use std::str::FromStr;

use super::prepare::{Core, Sample};
use super::repeats::Duplicates;
use super::split::Pick;
use super::transform::Targets;
use crate::error::{TextError, named};

impl FromStr for Targets {
    type Err = TextError;

    /// Reads `raw`, `binary`, `log` or `normalized:0.35[,0.35]`.
    fn from_str(text: &str) -> Result<Self, TextError> {
        let wrong = || TextError::new(text, "raw, binary, log or normalized:0.35[,0.35]");
        let (name, options) = match text.split_once(':') {
            Some((name, options)) => (name, Some(options)),
            None => (text, None),
        };
        Ok(match (name, options) {
            ("raw", None) => Targets::Raw,
            ("binary", None) => Targets::Binary,
            ("log", None) => Targets::Log,
            ("normalized", Some(options)) => {
                let (user, item) = options.split_once(',').unwrap_or((options, options));
                Targets::Normalized {
                    user: user.trim().parse().map_err(|_| wrong())?,
                    item: item.trim().parse().map_err(|_| wrong())?,
                }
            }
            _ => return Err(wrong()),
        })
    }
}

impl fmt::Display for Targets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Targets::Raw => f.write_str("raw"),
            Targets::Binary => f.write_str("binary"),
            Targets::Log => f.write_str("log"),
            Targets::Normalized { user, item } => write!(f, "normalized:{user},{item}"),
        }
    }
}

named!(
    Duplicates,
    "auto, sum, last, max or error",
    Auto = "auto",
    Sum = "sum",
    Last = "last",
    Max = "max",
    Error = "error"
);

named!(
    Pick,
    "latest, random or drift",
    Latest = "latest",
    Random = "random",
    Drift = "drift"
);

impl FromStr for Sample {
    type Err = TextError;

    /// Reads `users:0.1` or `rows:0.1`.
    fn from_str(text: &str) -> Result<Self, TextError> {
        let wrong = || TextError::new(text, "users:SHARE or rows:SHARE, as in users:0.1");
        let (what, share) = text.split_once(':').ok_or_else(wrong)?;
        let share: f64 = share.parse().map_err(|_| wrong())?;
        if !(0.0..=1.0).contains(&share) {
            return Err(TextError::new(text, "a share from 0 to 1, as in users:0.1"));
        }
        match what {
            "users" => Ok(Sample::Users(share)),
            "rows" => Ok(Sample::Rows(share)),
            _ => Err(wrong()),
        }
    }
}

impl fmt::Display for Sample {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Sample::Users(share) => write!(f, "users:{share}"),
            Sample::Rows(share) => write!(f, "rows:{share}"),
        }
    }
}

impl FromStr for Core {
    type Err = TextError;

    /// Reads one number for both sides, or one for users and one for items: `10` or `5,10`.
    fn from_str(text: &str) -> Result<Self, TextError> {
        let (user, item) = text.split_once(',').unwrap_or((text, text));
        match (user.trim().parse(), item.trim().parse()) {
            (Ok(user), Ok(item)) => Ok(Core { user, item }),
            _ => Err(TextError::new(text, "K or USERS,ITEMS, as in 10 or 5,10")),
        }
    }
}

impl fmt::Display for Core {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.user == self.item {
            write!(f, "{}", self.user)
        } else {
            write!(f, "{},{}", self.user, self.item)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read<T: FromStr<Err = TextError>>(text: &str) -> Result<T, TextError> {
        text.parse()
    }

    #[test]
    fn what_is_written_reads_back() {
        for text in ["raw", "binary", "log", "normalized:0.35,0.1"] {
            assert_eq!(read::<Targets>(text).unwrap().to_string(), text);
        }
        for text in ["auto", "sum", "last", "max", "error"] {
            assert_eq!(read::<Duplicates>(text).unwrap().to_string(), text);
        }
        for text in ["latest", "random", "drift"] {
            assert_eq!(read::<Pick>(text).unwrap().to_string(), text);
        }
        for text in ["users:0.1", "rows:0.25"] {
            assert_eq!(read::<Sample>(text).unwrap().to_string(), text);
        }
        for text in ["10", "5,10"] {
            assert_eq!(read::<Core>(text).unwrap().to_string(), text);
        }
        let both = Targets::Normalized {
            user: 0.35,
            item: 0.35,
        };
        assert_eq!(read("normalized:0.35"), Ok(both));
    }

    #[test]
    fn what_does_not_belong_is_refused() {
        for text in [
            "normalized",
            "normalized:",
            "normalized:a",
            "Raw",
            "raw:",
            "log:10",
        ] {
            let error = read::<Targets>(text).unwrap_err();
            assert_eq!(error.text, text);
            assert!(error.to_string().contains("normalized:0.35"), "{error}");
        }
        assert!(read::<Pick>("last").is_err());
        assert!(read::<Sample>("users").is_err());
        assert!(read::<Core>("5,").is_err());
    }
}
