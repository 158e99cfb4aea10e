//! Ways to hold rows out as they are written.

use std::fmt;
use std::str::FromStr;

use absentia::data::{Pick, Split};
use absentia::error::{Axis, TextError};
use absentia_io::time::{Moment, TimeUnit};

/// How many rows are held out, for a test and for validation.
///
/// Which rows those are is a [`Pick`]: with it, the rule is the engine's [`Split`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum SplitRule {
    /// `leave-one-out[,valid]` or `last:5[,VALID]`: rows of every user.
    Rows {
        /// Rows of each user for the test.
        test: usize,
        /// Rows of each user for validation.
        valid: usize,
    },
    /// `ratio:0.2[,0.1]`: a share of the rows of every user.
    Ratio {
        /// Share for the test.
        test: f64,
        /// Share for validation.
        valid: f64,
    },
    /// `share:0.1`: a share of the rows of every user, and at least one of them.
    Share {
        /// Share for the test.
        test: f64,
    },
    /// `time:2020-01-31[,2020-01-01]`: rows from a moment on.
    Time {
        /// First moment of the test.
        test_from: Moment,
        /// First moment of validation.
        valid_from: Option<Moment>,
    },
    /// `time:0.1[,0.1]`: the latest share of all rows.
    TimeShare {
        /// Share for the test.
        test: f64,
        /// Share for validation.
        valid: f64,
    },
    /// `users:1000[,1000]`: users with all their rows.
    Users {
        /// Number of users for the test.
        test: usize,
        /// Number of users for validation.
        valid: usize,
    },
    /// `cold-items:0.2[,0.1]` or `cold-users:0.2[,0.1]`: a share of the items, or of the users, with all their rows.
    Cold {
        /// Whether items or users are held out.
        axis: Axis,
        /// Share for the test.
        test: f64,
        /// Share for validation.
        valid: f64,
    },
}

impl SplitRule {
    /// `leave-one-out`: one row of every user for the test.
    pub const LEAVE_ONE_OUT: Self = Self::Rows { test: 1, valid: 0 };

    /// The engine's split. `pick` says which rows are held out, `unit` is the unit of the data's times. If
    /// whole users are held out, `fold_in` is the share of their rows that they are folded in from.
    #[must_use]
    pub fn split(self, pick: Pick, fold_in: f64, unit: TimeUnit) -> Split {
        match self {
            Self::Rows { test, valid } => Split::HoldOut { test, valid, pick },
            Self::Ratio { test, valid } => Split::Ratio { test, valid, pick },
            Self::Share { test } => Split::Share { test, pick },
            Self::Time {
                test_from,
                valid_from,
            } => Split::TimeCut {
                test_from: unit.of_moment(test_from),
                valid_from: valid_from.map(|from| unit.of_moment(from)),
            },
            Self::TimeShare { test, valid } => Split::TimeShare { test, valid },
            Self::Users { test, valid } => Split::HeldOutUsers {
                test,
                valid,
                fold_in,
                pick,
            },
            Self::Cold { axis, test, valid } => Split::Cold { axis, test, valid },
        }
    }

    /// The warning that a pick, under the name that its option has, does not change which rows are held
    /// out; `None` if it does.
    #[must_use]
    pub fn unused_pick(self, option: &str) -> Option<String> {
        match self {
            Self::Time { .. } | Self::TimeShare { .. } => Some(format!(
                "{option} has no effect with time:, which holds out all rows from a time on"
            )),
            Self::Cold { .. } => Some(format!(
                "{option} has no effect with {self}, which holds out all rows of users or items drawn by the seed"
            )),
            _ => None,
        }
    }

    /// Whether it holds rows out for validation too.
    #[must_use]
    pub fn has_validation(self) -> bool {
        match self {
            Self::Rows { valid, .. } | Self::Users { valid, .. } => valid > 0,
            Self::Ratio { valid, .. }
            | Self::TimeShare { valid, .. }
            | Self::Cold { valid, .. } => valid > 0.0,
            Self::Share { .. } => false,
            Self::Time { valid_from, .. } => valid_from.is_some(),
        }
    }
}

impl FromStr for SplitRule {
    type Err = TextError;

    fn from_str(text: &str) -> Result<Self, TextError> {
        let wrong = || {
            TextError::new(
                text,
                "leave-one-out[,valid], last:N[,VALID], ratio:SHARE[,VALID], share:SHARE, \
                 time:FROM[,VALID-FROM], time:SHARE[,VALID], users:N[,VALID], cold-items:SHARE[,VALID] or \
                 cold-users:SHARE[,VALID]",
            )
        };
        let whole = |text: &str| text.parse::<usize>().map_err(|_| wrong());
        let share = |given: &str| {
            let share = given.parse::<f64>().map_err(|_| wrong())?;
            if (0.0..=1.0).contains(&share) {
                return Ok(share);
            }
            Err(TextError::new(text, "a share from 0 to 1, such as 0.2"))
        };
        let moment = |given: &str| {
            let parsed = given.parse::<Moment>();
            parsed.map_err(|_| {
                let expected = "a unix time, a date or a share, as in time:2020-01-31 or time:0.1";
                TextError::new(text, expected)
            })
        };
        let shares = |first: &str, second: Option<&str>| {
            let (test, valid) = (share(first)?, second.map_or(Ok(0.0), share)?);
            if test + valid <= 1.0 {
                return Ok((test, valid));
            }
            Err(TextError::new(text, "shares that add up to at most 1"))
        };
        let (name, options) = text.split_once([':', ',']).unwrap_or((text, ""));
        let (first, second) = match options.split_once(',') {
            Some((first, second)) => (first.trim(), Some(second.trim())),
            None => (options.trim(), None),
        };
        match (name, second) {
            ("leave-one-out", _) => match first {
                "" => Ok(Self::LEAVE_ONE_OUT),
                "valid" => Ok(Self::Rows { test: 1, valid: 1 }),
                _ => Err(wrong()),
            },
            ("last", _) => Ok(Self::Rows {
                test: whole(first)?,
                valid: second.map_or(Ok(0), whole)?,
            }),
            ("ratio", _) => {
                let (test, valid) = shares(first, second)?;
                Ok(Self::Ratio { test, valid })
            }
            ("share", None) => Ok(Self::Share {
                test: share(first)?,
            }),
            // No moment is a number with a decimal point.
            ("time", _) if first.parse::<Moment>().is_err() && first.parse::<f64>().is_ok() => {
                let (test, valid) = shares(first, second)?;
                Ok(Self::TimeShare { test, valid })
            }
            ("time", _) => Ok(Self::Time {
                test_from: moment(first)?,
                valid_from: second.map(moment).transpose()?,
            }),
            ("users", _) => Ok(Self::Users {
                test: whole(first)?,
                valid: second.map_or(Ok(0), whole)?,
            }),
            ("cold-items" | "cold-users", _) => {
                let axis = if name == "cold-items" {
                    Axis::Item
                } else {
                    Axis::User
                };
                let (test, valid) = shares(first, second)?;
                Ok(Self::Cold { axis, test, valid })
            }
            _ => Err(wrong()),
        }
    }
}

impl fmt::Display for SplitRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Rows { test: 1, valid: 0 } => f.write_str("leave-one-out"),
            Self::Rows { test: 1, valid: 1 } => f.write_str("leave-one-out,valid"),
            Self::Rows { test, valid: 0 } => write!(f, "last:{test}"),
            Self::Rows { test, valid } => write!(f, "last:{test},{valid}"),
            Self::Ratio { test, valid } if valid > 0.0 => write!(f, "ratio:{test},{valid}"),
            Self::Ratio { test, .. } => write!(f, "ratio:{test}"),
            Self::Share { test } => write!(f, "share:{test}"),
            Self::Time {
                test_from,
                valid_from: Some(valid_from),
            } => write!(f, "time:{test_from},{valid_from}"),
            Self::Time { test_from, .. } => write!(f, "time:{test_from}"),
            Self::TimeShare { test, valid } if valid > 0.0 => write!(f, "time:{test},{valid}"),
            Self::TimeShare { test, .. } => write!(f, "time:{test}"),
            Self::Users { test, valid: 0 } => write!(f, "users:{test}"),
            Self::Users { test, valid } => write!(f, "users:{test},{valid}"),
            Self::Cold { axis, test, valid } if valid > 0.0 => {
                write!(f, "cold-{axis}s:{test},{valid}")
            }
            Self::Cold { axis, test, .. } => write!(f, "cold-{axis}s:{test}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_are_written_as_they_are_read() {
        for text in [
            "leave-one-out",
            "leave-one-out,valid",
            "last:5",
            "last:5,2",
            "ratio:0.2",
            "ratio:0.2,0.1",
            "share:0.1",
            "time:2020-01-31",
            "time:2020-01-31,2020-01-01",
            "time:0.1",
            "time:0.1,0.05",
            "users:1000",
            "users:1000,10",
            "cold-items:0.2",
            "cold-users:0.2,0.1",
        ] {
            let rule: SplitRule = text.parse().expect("a rule");
            assert_eq!(rule.to_string(), text);
        }
        for text in [
            "half",
            "share:0.1,0.1",
            "last",
            "leave-one-out:2",
            "time:soon",
            "time:0.1,soon",
        ] {
            assert!(text.parse::<SplitRule>().is_err(), "{text}");
        }
    }

    #[test]
    fn moments_are_in_the_unit_of_the_data() {
        let rule: SplitRule = "time:1970-01-02".parse().expect("a rule");
        let from = |unit| match rule.split(Pick::Random, 0.8, unit) {
            Split::TimeCut { test_from, .. } => test_from,
            other => panic!("{other:?}"),
        };
        assert_eq!(from(TimeUnit::Seconds), 86_400);
        assert_eq!(from(TimeUnit::Milliseconds), 86_400_000);
    }
}
