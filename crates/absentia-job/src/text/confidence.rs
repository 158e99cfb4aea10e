//! Weights of observed entries as they are written.

use std::fmt;
use std::str::FromStr;

use absentia::data::Confidence;
use absentia::error::TextError;
use absentia_io::time::{TimeSpan, TimeUnit};

const EXPECTED: &str = "a number, linear:ALPHA, log:ALPHA,EPSILON, decay:30d or column";

/// How the weight of an observed entry follows from its value x, its age or its column.
///
/// It is the engine's [`Confidence`] but for the half-life, which is a length of time here and a number
/// in the unit of the data's times there: [`in_unit`](Self::in_unit) converts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ConfidenceRule {
    /// `2`: the same weight for all.
    Constant {
        /// The weight.
        weight: f32,
    },
    /// `linear:40`: 1 + αx.
    Linear {
        /// Slope α.
        alpha: f32,
    },
    /// `log:10,0.5`: 1 + α ln(1 + x/ε).
    Log {
        /// Slope α.
        alpha: f32,
        /// Scale ε of the value.
        epsilon: f32,
    },
    /// `decay:30d`: half the weight for every 30 days of age.
    Decay {
        /// Time in which an entry loses half its weight.
        half_life: TimeSpan,
    },
    /// `column`: the weight that came with the entry.
    Column,
}

impl ConfidenceRule {
    /// The engine's rule for data whose times have this unit.
    #[must_use]
    pub fn in_unit(self, unit: TimeUnit) -> Confidence {
        match self {
            Self::Constant { weight } => Confidence::Constant { weight },
            Self::Linear { alpha } => Confidence::Linear { alpha },
            Self::Log { alpha, epsilon } => Confidence::Log { alpha, epsilon },
            Self::Decay { half_life } => Confidence::Decay {
                half_life: unit.of_span(half_life),
                now: None,
            },
            Self::Column => Confidence::Column,
        }
    }

    /// The rule that an engine's rule stands for on data whose times have this unit.
    #[must_use]
    pub fn of(confidence: Confidence, unit: TimeUnit) -> Self {
        match confidence {
            Confidence::Constant { weight } => Self::Constant { weight },
            Confidence::Linear { alpha } => Self::Linear { alpha },
            Confidence::Log { alpha, epsilon } => Self::Log { alpha, epsilon },
            Confidence::Decay { half_life, .. } => {
                match TimeSpan::from_seconds(half_life / unit.per_second()) {
                    Some(half_life) => Self::Decay { half_life },
                    // Training rejects such a half-life, so that no model has it.
                    None => Self::default(),
                }
            }
            Confidence::Column => Self::Column,
        }
    }
}

impl Default for ConfidenceRule {
    fn default() -> Self {
        Self::of(Confidence::default(), TimeUnit::default())
    }
}

impl FromStr for ConfidenceRule {
    type Err = TextError;

    fn from_str(text: &str) -> Result<Self, TextError> {
        let wrong = || TextError::new(text, EXPECTED);
        let number = |text: &str| text.trim().parse().map_err(|_| wrong());
        if let Ok(weight) = text.parse() {
            return Ok(Self::Constant { weight });
        }
        let (name, options) = text.split_once(':').unwrap_or((text, ""));
        Ok(match name {
            // Whatever follows its colon is ignored.
            "column" => Self::Column,
            "linear" => Self::Linear {
                alpha: number(options)?,
            },
            "log" => {
                let (alpha, epsilon) = options.split_once(',').unwrap_or((options, "1"));
                Self::Log {
                    alpha: number(alpha)?,
                    epsilon: number(epsilon)?,
                }
            }
            "decay" => Self::Decay {
                half_life: options.trim().parse().map_err(|_| {
                    let expected = "a time with its unit, s, m, h, d, w or y, as in decay:30d";
                    TextError::new(text, expected)
                })?,
            },
            _ => return Err(wrong()),
        })
    }
}

impl fmt::Display for ConfidenceRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Constant { weight } => write!(f, "{weight}"),
            Self::Linear { alpha } => write!(f, "linear:{alpha}"),
            Self::Log { alpha, epsilon } => write!(f, "log:{alpha},{epsilon}"),
            Self::Decay { half_life } => write!(f, "decay:{half_life}"),
            Self::Column => f.write_str("column"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_are_written_as_they_are_read() {
        for text in [
            "1",
            "2.5",
            "linear:40",
            "log:10,0.5",
            "decay:30d",
            "decay:2w",
            "decay:90s",
            "column",
        ] {
            let rule: ConfidenceRule = text.parse().expect("a rule");
            assert_eq!(rule.to_string(), text);
            for unit in [TimeUnit::Seconds, TimeUnit::Milliseconds] {
                assert_eq!(ConfidenceRule::of(rule.in_unit(unit), unit), rule);
            }
        }
        assert_eq!(ConfidenceRule::default().to_string(), "1");
        assert_eq!(
            "log:10".parse(),
            Ok(ConfidenceRule::Log {
                alpha: 10.0,
                epsilon: 1.0
            })
        );
    }

    #[test]
    fn a_half_life_is_in_the_unit_of_the_data() {
        let rule: ConfidenceRule = "decay:30d".parse().expect("a rule");
        let half_life = |unit| match rule.in_unit(unit) {
            Confidence::Decay { half_life, .. } => half_life,
            other => panic!("{other:?}"),
        };
        assert!((half_life(TimeUnit::Seconds) - 2_592_000.0).abs() < 1e-6);
        assert!((half_life(TimeUnit::Milliseconds) - 2_592_000_000.0).abs() < 1e-3);
    }

    #[test]
    fn other_texts_are_refused() {
        for text in ["", "linear", "linear:", "log:a", "sure"] {
            assert!(text.parse::<ConfidenceRule>().is_err(), "{text}");
        }
        let bare = "decay:30".parse::<ConfidenceRule>().expect_err("no unit");
        assert!(bare.to_string().contains("unit"), "{bare}");
    }
}
