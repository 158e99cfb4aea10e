//! One axis of the space: numbers from 0 to 1 stand for the values of a setting.

use std::borrow::Cow;

use super::{NU, PENALTY};
use crate::trial::Trial;

/// What the numbers from 0 to 1 stand for.
#[derive(Clone, Debug, PartialEq)]
pub enum Range {
    /// Values in equal steps.
    Linear {
        /// Value at 0.
        low: f64,
        /// Value at 1.
        high: f64,
    },
    /// Values in equal ratios.
    Log {
        /// Value at 0.
        low: f64,
        /// Value at 1.
        high: f64,
    },
    /// The first `share` of the axis stands for one value that switches the setting off, the rest for
    /// values in equal steps: off is often best, and must have a share of its own to be found.
    Switch {
        /// The value that switches the setting off.
        off: f64,
        /// Share of the axis that stands for it.
        share: f64,
        /// The first value after that share.
        low: f64,
        /// Value at 1.
        high: f64,
    },
    /// As a switch whose values are in equal ratios; 0 switches the setting off.
    LogSwitch {
        /// Share of the axis that stands for 0.
        share: f64,
        /// The first value after that share.
        low: f64,
        /// Value at 1.
        high: f64,
    },
    /// One of a few options, each with a share of the axis.
    Choice {
        /// Names and shares; the shares add up to 1.
        options: Vec<(&'static str, f64)>,
    },
}

impl Range {
    /// Share of the axis that switches the setting off, if it can be.
    pub(crate) fn off_share(&self) -> Option<f64> {
        match self {
            Range::Switch { share, .. } | Range::LogSwitch { share, .. } => Some(*share),
            Range::Linear { .. } | Range::Log { .. } | Range::Choice { .. } => None,
        }
    }
}

/// A setting that is searched.
#[derive(Clone, Debug, PartialEq)]
pub struct Dimension {
    /// Its name, as reports show it.
    pub name: Cow<'static, str>,
    /// Its values.
    pub range: Range,
}

impl Dimension {
    pub(crate) fn new(name: impl Into<Cow<'static, str>>, range: Range) -> Self {
        let name = name.into();
        Self { name, range }
    }

    /// What the setting is called by those who set it: the name of its flag, if it has one.
    #[must_use]
    pub fn label(&self) -> &str {
        match &*self.name {
            PENALTY => "regularization",
            NU => "reg-exponent",
            name => name,
        }
    }

    /// The value of the setting in a trial, of which it is dimension `at`, in the unit of its flag.
    #[must_use]
    pub fn value_in(&self, trial: &Trial, at: usize) -> f64 {
        // The axis is the penalty in relation to the weights; people set λ.
        if self.name == PENALTY {
            return f64::from(trial.params.regularization);
        }
        self.value(trial.point[at])
    }

    /// The value that a number from 0 to 1 stands for, to three digits; for options, their place.
    #[must_use]
    pub fn value(&self, at: f64) -> f64 {
        let at = at.clamp(0.0, 1.0);
        match &self.range {
            Range::Linear { low, high } => hundredths(low + at * (high - low)),
            Range::Log { low, high } => three_digits(low * (high / low).powf(at)),
            Range::Switch { off, share, .. } if at < *share => *off,
            Range::Switch {
                share, low, high, ..
            } => hundredths(low + (at - share) / (1.0 - share) * (high - low)),
            Range::LogSwitch { share, .. } if at < *share => 0.0,
            Range::LogSwitch { share, low, high } => {
                three_digits(low * (high / low).powf((at - share) / (1.0 - share)))
            }
            Range::Choice { .. } => self.option(at).0 as f64,
        }
    }

    /// The value as it is shown: a number, or the name of an option.
    #[must_use]
    pub fn text(&self, at: f64) -> String {
        match self.range {
            Range::Choice { .. } => self.option(at).1.to_owned(),
            _ => self.value(at).to_string(),
        }
    }

    /// Whether equal steps on the axis are equal ratios of the value.
    #[must_use]
    pub fn is_log(&self) -> bool {
        matches!(self.range, Range::Log { .. })
    }

    /// The options to choose from; none for numbers.
    #[must_use]
    pub fn options(&self) -> Vec<&'static str> {
        match &self.range {
            Range::Choice { options } => options.iter().map(|(name, _)| *name).collect(),
            _ => Vec::new(),
        }
    }

    /// The place on the axis that stands for a value, or the nearest end.
    #[must_use]
    pub fn place(&self, value: f64) -> f64 {
        let place = match &self.range {
            Range::Linear { low, high } => (value - low) / (high - low),
            Range::Log { low, high } => (value / low).ln() / (high / low).ln(),
            Range::Switch { off, share, .. } if (value - off).abs() < 1e-9 => share / 2.0,
            Range::Switch {
                share, low, high, ..
            } => share + (1.0 - share) * ((value - low) / (high - low)).clamp(1e-6, 1.0),
            Range::LogSwitch { share, .. } if value <= 0.0 => share / 2.0,
            Range::LogSwitch { share, low, high } => {
                let place = (value / low).ln() / (high / low).ln();
                share + (1.0 - share) * place.clamp(1e-6, 1.0)
            }
            Range::Choice { options } => {
                let before: f64 = options.iter().take(value as usize).map(|o| o.1).sum();
                before + options.get(value as usize).map_or(0.0, |o| o.1) / 2.0
            }
        };
        if place.is_finite() {
            place.clamp(0.0, 1.0)
        } else {
            0.0
        }
    }

    fn option(&self, at: f64) -> (usize, &'static str) {
        let Range::Choice { options } = &self.range else {
            return (0, "");
        };
        let mut end = 0.0;
        for (place, (name, share)) in options.iter().enumerate() {
            end += share;
            if at < end {
                return (place, name);
            }
        }
        let last = options.len().saturating_sub(1);
        (last, options.last().map_or("", |option| option.0))
    }
}

/// Rounds to three significant digits: short to read, and close enough for any setting.
pub(crate) fn three_digits(value: f64) -> f64 {
    if value == 0.0 || !value.is_finite() {
        return value;
    }
    let scale = 10_f64.powi(2 - value.abs().log10().floor() as i32);
    let rounded = (value * scale).round() / scale;
    // Dividing by a power of ten leaves stray digits behind; reading the text back does not.
    format!("{rounded:.12}").parse().unwrap_or(rounded)
}

fn hundredths(value: f64) -> f64 {
    (value * 100.0).round() / 100.0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ranges() -> Vec<Dimension> {
        vec![
            Dimension::new(
                "linear",
                Range::Linear {
                    low: -1.0,
                    high: 1.0,
                },
            ),
            Dimension::new(
                "log",
                Range::Log {
                    low: 1e-3,
                    high: 1.0,
                },
            ),
            Dimension::new(
                "switch",
                Range::Switch {
                    off: 0.0,
                    share: 0.25,
                    low: 0.1,
                    high: 0.9,
                },
            ),
            Dimension::new(
                "switch with ratios",
                Range::LogSwitch {
                    share: 0.3,
                    low: 1e-2,
                    high: 10.0,
                },
            ),
        ]
    }

    #[test]
    fn the_place_of_a_value_stands_for_that_value() {
        for dimension in ranges() {
            for step in 0..=20 {
                let value = dimension.value(f64::from(step) / 20.0);
                let back = dimension.value(dimension.place(value));
                assert!(
                    (back - value).abs() < 1e-9,
                    "{} {value} {back}",
                    dimension.name
                );
            }
        }
    }

    #[test]
    fn a_switch_is_off_over_its_share() {
        let switch = &ranges()[2];
        assert!((switch.value(0.24) - 0.0).abs() < 1e-12);
        assert!((switch.value(0.25) - 0.1).abs() < 1e-12);
        assert!((switch.value(1.0) - 0.9).abs() < 1e-12);
        let ratios = &ranges()[3];
        assert!((ratios.value(0.29), ratios.value(0.3), ratios.value(1.0)) == (0.0, 0.01, 10.0));
    }

    #[test]
    fn options_take_their_share() {
        let options = vec![("a", 0.75), ("b", 0.25)];
        let choice = Dimension::new("choice", Range::Choice { options });
        assert_eq!(choice.text(0.74), "a");
        assert_eq!(choice.text(0.76), "b");
        assert_eq!(choice.text(1.0), "b");
        assert_eq!(choice.text(choice.place(1.0)), "b");
    }

    #[test]
    fn values_have_three_digits() {
        for (value, rounded) in [
            (0.012_345, 0.0123),
            (123_456.0, 123_000.0),
            (-1.239, -1.24),
            (0.0, 0.0),
        ] {
            assert!((three_digits(value) - rounded).abs() < 1e-12 * rounded.abs().max(1.0));
        }
    }
}
