//! Choices written as short texts: targets, confidence, splits.

use absentia::data::{Confidence, Pick, Split, Targets};
use absentia_io::time::{Moment, TimeError, TimeSpan};

/// Reads `raw`, `binary`, `log` or `normalized:0.35[,0.35]`.
pub(super) fn parse_targets(text: &str) -> Result<Targets, String> {
    let wrong = || "expected raw, binary, log or normalized:0.35[,0.35]".to_owned();
    let (name, options) = text.split_once(':').unwrap_or((text, ""));
    Ok(match name {
        "raw" => Targets::Raw,
        "binary" => Targets::Binary,
        "log" => Targets::Log,
        "normalized" => {
            let (user, item) = options.split_once(',').unwrap_or((options, options));
            Targets::Normalized {
                user: user.trim().parse().map_err(|_| wrong())?,
                item: item.trim().parse().map_err(|_| wrong())?,
            }
        }
        _ => return Err(wrong()),
    })
}

/// Reads `2`, `linear:40`, `log:10,0.5`, `decay:30d` or `column`.
pub(super) fn parse_confidence(text: &str) -> Result<Confidence, String> {
    let wrong =
        || "expected a number, linear:ALPHA, log:ALPHA,EPSILON, decay:30d or column".to_owned();
    let no_span =
        || "expected a time with its unit, s, m, h, d, w or y, as in decay:30d".to_owned();
    if let Ok(weight) = text.parse() {
        return Ok(Confidence::Constant { weight });
    }
    let (name, options) = text.split_once(':').unwrap_or((text, ""));
    Ok(match name {
        "column" => Confidence::Column,
        "linear" => Confidence::Linear {
            alpha: options.trim().parse().map_err(|_| wrong())?,
        },
        "log" => {
            let (alpha, epsilon) = options.split_once(',').unwrap_or((options, "1"));
            Confidence::Log {
                alpha: alpha.trim().parse().map_err(|_| wrong())?,
                epsilon: epsilon.trim().parse().map_err(|_| wrong())?,
            }
        }
        "decay" => Confidence::Decay {
            half_life: options
                .trim()
                .parse::<TimeSpan>()
                .map_err(|_| no_span())?
                .seconds(),
            now: None,
        },
        _ => return Err(wrong()),
    })
}

/// Reads a span of time above 0, in seconds.
pub(crate) fn parse_span(text: &str) -> Result<f64, String> {
    let wrong = || "expected a time with its unit, s, m or h, as in 10m".to_owned();
    let span: TimeSpan = text.parse().map_err(|_| wrong())?;
    Some(span.seconds())
        .filter(|seconds| *seconds < 1e9)
        .ok_or_else(wrong)
}

/// Reads a number of at least 1.
pub(crate) fn parse_length(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(number) if number > 0 => Ok(number),
        _ => Err("expected a whole number of at least 1".to_owned()),
    }
}

/// Reads `latest`, `random` or `drift`.
pub(crate) fn parse_pick(text: &str) -> Result<Pick, String> {
    match text {
        "latest" => Ok(Pick::Latest),
        "random" => Ok(Pick::Random),
        "drift" => Ok(Pick::Drift),
        _ => Err("expected latest, random or drift".to_owned()),
    }
}

/// Reads how a log is split; `valid` says whether validation rows are wanted as well.
///
/// `leave-one-out`, `last:5`, `ratio:0.2[,0.1]`, `share:0.1`, `time:2020-01-31[,2020-01-01]`,
/// `users:1000[,1000]`.
pub(crate) fn parse_split(text: &str, pick: Pick, fold_in: f64) -> Result<Split, String> {
    let wrong = || {
        "expected leave-one-out[,valid], last:N[,VALID], ratio:SHARE[,VALID], \
         share:SHARE, time:FROM[,VALID-FROM] or users:N[,VALID]"
            .to_owned()
    };
    let (name, options) = text.split_once([':', ',']).unwrap_or((text, ""));
    let (first, second) = match options.split_once(',') {
        Some((first, second)) => (first.trim(), Some(second.trim())),
        None => (options.trim(), None),
    };
    match name {
        "leave-one-out" => match first {
            "" => Ok(Split::leave_one_out(pick, false)),
            "valid" => Ok(Split::leave_one_out(pick, true)),
            _ => Err(wrong()),
        },
        "last" => Ok(Split::HoldOut {
            test: first.parse().map_err(|_| wrong())?,
            valid: second.unwrap_or("0").parse().map_err(|_| wrong())?,
            pick,
        }),
        "ratio" => Ok(Split::Ratio {
            test: first.parse().map_err(|_| wrong())?,
            valid: second.unwrap_or("0").parse().map_err(|_| wrong())?,
            pick,
        }),
        "share" if second.is_none() => Ok(Split::Share {
            test: first.parse().map_err(|_| wrong())?,
            pick,
        }),
        "time" => Ok(Split::TimeCut {
            test_from: seconds_of(first)?,
            valid_from: second.map(seconds_of).transpose()?,
        }),
        "users" => Ok(Split::HeldOutUsers {
            test: first.parse().map_err(|_| wrong())?,
            valid: second.unwrap_or("0").parse().map_err(|_| wrong())?,
            fold_in,
            pick,
        }),
        _ => Err(wrong()),
    }
}

fn seconds_of(moment: &str) -> Result<i64, String> {
    let Moment(seconds) = moment
        .parse()
        .map_err(|error: TimeError| error.to_string())?;
    Ok(seconds)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn targets_and_confidence_are_read() {
        let both = Targets::Normalized {
            user: 0.35,
            item: 0.35,
        };
        assert_eq!(parse_targets("normalized:0.35"), Ok(both));
        assert_eq!(parse_targets("normalized:0.35,0.35"), Ok(both));
        assert!(parse_targets("normalized").is_err());
        assert_eq!(
            parse_confidence("linear:40"),
            Ok(Confidence::Linear { alpha: 40.0 })
        );
        let month = Confidence::Decay {
            half_life: 2_592_000.0,
            now: None,
        };
        assert_eq!(parse_confidence("decay:30d"), Ok(month));
        assert!(parse_confidence("decay:soon").is_err());
        let bare = parse_confidence("decay:30").expect_err("no unit");
        assert!(bare.contains("unit"), "{bare}");
    }

    #[test]
    fn splits_are_read() {
        let split = |text| parse_split(text, Pick::Random, 0.8);
        assert_eq!(
            split("leave-one-out,valid"),
            Ok(Split::leave_one_out(Pick::Random, true))
        );
        assert_eq!(
            split("ratio:0.2,0.1"),
            Ok(Split::Ratio {
                test: 0.2,
                valid: 0.1,
                pick: Pick::Random
            })
        );
        assert_eq!(
            split("time:1970-01-02"),
            Ok(Split::TimeCut {
                test_from: 86_400,
                valid_from: None
            })
        );
        assert_eq!(
            split("share:0.1"),
            Ok(Split::Share {
                test: 0.1,
                pick: Pick::Random
            })
        );
        assert!(split("share:0.1,0.1").is_err());
        assert!(split("half").is_err());
    }
}
