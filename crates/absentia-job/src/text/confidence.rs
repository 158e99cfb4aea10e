//! Weights of observed entries as they are written.

use std::fmt;
use std::str::FromStr;

use absentia::data::Confidence;
use absentia::error::TextError;
use absentia_io::time::{TimeSpan, TimeUnit};

const EXPECTED: &str = "a number, linear:ALPHA, log:ALPHA,EPSILON, decay:30d or column";
const RANGE: &str = "finite numbers of at least 0, and an ε above 0 in log:ALPHA,EPSILON";

/// The weights of observed entries: `2`, `linear:40`, `log:10,0.5`, `decay:30d` or `column`.
///
/// It is the engine's [`Confidence`] with the half-life in seconds instead of the unit of the data's times:
/// [`in_unit`](Self::in_unit) converts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ConfidenceRule(Confidence);

impl ConfidenceRule {
    /// The engine's rule for data whose times have this unit.
    #[must_use]
    pub fn in_unit(self, unit: TimeUnit) -> Confidence {
        with_half_life(self.0, |seconds| seconds * unit.per_second())
    }

    /// The rule that is the engine's rule on data whose times have this unit.
    #[must_use]
    pub fn of(confidence: Confidence, unit: TimeUnit) -> Self {
        Self(with_half_life(confidence, |time| time / unit.per_second()))
    }

    /// Whether weights are read from a column.
    #[must_use]
    pub fn needs_column(self) -> bool {
        self.0 == Confidence::Column
    }

    /// Whether weights depend on ratings.
    #[must_use]
    pub fn needs_ratings(self) -> bool {
        matches!(self.0, Confidence::Linear { .. } | Confidence::Log { .. })
    }
}

fn with_half_life(confidence: Confidence, convert: impl Fn(f64) -> f64) -> Confidence {
    match confidence {
        Confidence::Decay { half_life, .. } => Confidence::Decay {
            half_life: convert(half_life),
            now: None,
        },
        other => other,
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
        // Training refuses the same, but only once the data is read.
        let number = |given: &str, least: f32| match given.trim().parse::<f32>() {
            Ok(number) if number.is_finite() && number >= least => Ok(number),
            Ok(_) => Err(TextError::new(text, RANGE)),
            Err(_) => Err(wrong()),
        };
        if text.parse::<f32>().is_ok() {
            let weight = number(text, 0.0)?;
            return Ok(Self(Confidence::Constant { weight }));
        }
        if text == "column" {
            return Ok(Self(Confidence::Column));
        }
        let (name, options) = text.split_once(':').ok_or_else(wrong)?;
        Ok(Self(match name {
            "linear" => Confidence::Linear {
                alpha: number(options, 0.0)?,
            },
            "log" => {
                let (alpha, epsilon) = options.split_once(',').unwrap_or((options, "1"));
                Confidence::Log {
                    alpha: number(alpha, 0.0)?,
                    epsilon: number(epsilon, f32::MIN_POSITIVE)?,
                }
            }
            "decay" => {
                let span: TimeSpan = options.trim().parse().map_err(|_| {
                    let expected = "a time with its unit, s, m, h, d, w or y, as in decay:30d";
                    TextError::new(text, expected)
                })?;
                Confidence::Decay {
                    half_life: span.seconds(),
                    now: None,
                }
            }
            _ => return Err(wrong()),
        }))
    }
}

impl fmt::Display for ConfidenceRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Confidence::Constant { weight } => write!(f, "{weight}"),
            Confidence::Linear { alpha } => write!(f, "linear:{alpha}"),
            Confidence::Log { alpha, epsilon } => write!(f, "log:{alpha},{epsilon}"),
            Confidence::Decay { half_life, .. } => match TimeSpan::from_seconds(half_life) {
                Some(span) => write!(f, "decay:{span}"),
                // Training rejects such a half-life, so that no model has it.
                None => write!(f, "decay:{half_life}"),
            },
            Confidence::Column => f.write_str("column"),
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
            Ok(ConfidenceRule(Confidence::Log {
                alpha: 10.0,
                epsilon: 1.0
            }))
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
        for text in ["", "linear", "linear:", "log:a", "sure", "column:weight"] {
            assert!(text.parse::<ConfidenceRule>().is_err(), "{text}");
        }
        for text in ["-1", "inf", "linear:-3", "log:-1,1", "log:1,0", "log:nan"] {
            let error = text.parse::<ConfidenceRule>().expect_err("out of range");
            assert!(error.to_string().contains("at least 0"), "{text}: {error}");
        }
        let bare = "decay:30".parse::<ConfidenceRule>().expect_err("no unit");
        assert!(bare.to_string().contains("unit"), "{bare}");
    }
}
