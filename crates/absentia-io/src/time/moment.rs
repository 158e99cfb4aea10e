//! Moments: unix times and ISO-8601 dates.

use std::fmt;
use std::str::FromStr;

use jiff::Timestamp;
use jiff::civil::Time;
use jiff::fmt::temporal::DateTimeParser;
use jiff::tz::{Offset, TimeZone};
use serde::de::{Deserialize, Deserializer, Visitor};
use serde::{Serialize, Serializer};

use super::TimeError;

/// A moment, in unix seconds unless it was written as a number in another unit.
///
/// ```
/// use absentia_io::time::Moment;
///
/// let moment: Moment = "2020-02-29T14:00:01+02:00".parse()?;
/// assert_eq!(moment, Moment(1_582_977_601));
/// assert_eq!(moment.to_string(), "2020-02-29T12:00:01Z");
/// assert!("2020-02-31".parse::<Moment>().is_err());
/// # Ok::<(), absentia_io::time::TimeError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Moment(pub i64);

impl FromStr for Moment {
    type Err = TimeError;

    /// Reads a whole number as it is, and anything else as an ISO-8601 date, in UTC unless it has an offset.
    fn from_str(text: &str) -> Result<Self, TimeError> {
        if let Ok(number) = text.parse() {
            return Ok(Self(number));
        }
        iso_seconds(text.as_bytes())
            .map(Self)
            .ok_or_else(|| TimeError::Moment {
                text: text.to_owned(),
            })
    }
}

impl fmt::Display for Moment {
    /// Writes a date, with its time unless that is midnight, or a number beyond the year 9999.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Ok(moment) = Timestamp::from_second(self.0) else {
            return write!(f, "{}", self.0);
        };
        let civil = moment.to_zoned(TimeZone::UTC).datetime();
        if civil.year() < 0 {
            write!(f, "{}", self.0)
        } else if civil.time() == Time::midnight() {
            write!(f, "{}", civil.date())
        } else {
            write!(f, "{civil}Z")
        }
    }
}

impl Serialize for Moment {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Moment {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(MomentVisitor)
    }
}

/// Takes a moment as a number or as text.
struct MomentVisitor;

impl Visitor<'_> for MomentVisitor {
    type Value = Moment;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a unix time or a date")
    }

    fn visit_i64<E>(self, number: i64) -> Result<Moment, E> {
        Ok(Moment(number))
    }

    fn visit_u64<E: serde::de::Error>(self, number: u64) -> Result<Moment, E> {
        i64::try_from(number).map(Moment).map_err(E::custom)
    }

    fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Moment, E> {
        text.parse().map_err(E::custom)
    }
}

/// Reads an ISO-8601 date, optionally with a time of day and an offset, in unix seconds.
///
/// Without an offset the time is UTC. Fractions of a second are dropped.
pub(crate) fn iso_seconds(text: &[u8]) -> Option<i64> {
    const PARSER: DateTimeParser = DateTimeParser::new();
    // The shortest date with separators; it keeps plain numbers from being read as dates.
    if text.len() < "2020-01-31".len() || !text[1..].contains(&b'-') {
        return None;
    }
    let pieces = PARSER.parse_pieces(text).ok()?;
    if pieces.time_zone_annotation().is_some() {
        // The offset of a named zone depends on the tables of the machine.
        return None;
    }
    let time = pieces.time().unwrap_or(Time::midnight());
    let whole = Time::new(time.hour(), time.minute(), time.second(), 0).ok()?;
    let offset = pieces.to_numeric_offset().unwrap_or(Offset::UTC);
    let moment = offset.to_timestamp(pieces.date().to_datetime(whole)).ok()?;
    Some(moment.as_second())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_moments_are_right() {
        for (text, seconds) in [
            ("1970-01-01", 0),
            ("2000-02-29", 951_782_400),
            ("2000-03-01", 951_868_800),
            ("2013-04-03T22:45:07Z", 1_365_029_107),
            ("2013-04-03t22:45:07z", 1_365_029_107),
            ("2013-04-03 22:45", 1_365_029_100),
            ("2013-04-04T00:45:07.123+02:00", 1_365_029_107),
            ("2013-04-04T00:45:07,123456789+02", 1_365_029_107),
            ("2013-04-03T20:15:07-0230", 1_365_029_107),
            ("1969-12-31T23:59:59", -1),
            ("1969-12-31T23:59:59.5", -1),
            ("0000-01-01", -62_167_219_200),
            ("-5", -5),
            ("1600000000123", 1_600_000_000_123),
        ] {
            assert_eq!(text.parse(), Ok(Moment(seconds)), "{text}");
        }
    }

    #[test]
    fn impossible_dates_are_refused() {
        for text in [
            "2001-02-29",
            "2020-02-31",
            "2000-13-01",
            "2000-00-10",
            "2000-01-32",
            "2000-1-1",
            "2000-01-01T24:00",
            "2000-01-01T1:00",
            "2000-01-01T10:00:00.",
            "2000-01-01T10:00+1",
            "2000-01-01x",
            "2000-01-01T10:00+02:00[Europe/Vienna]",
            "yesterday",
            "",
        ] {
            assert_eq!(iso_seconds(text.as_bytes()), None, "{text}");
            assert!(text.parse::<Moment>().is_err(), "{text}");
        }
    }

    #[test]
    fn what_is_written_can_be_read() {
        for (seconds, text) in [
            (0, "1970-01-01"),
            (1_582_977_601, "2020-02-29T12:00:01Z"),
            (-1, "1969-12-31T23:59:59Z"),
            (1_600_000_000_123, "1600000000123"),
            (i64::MIN, "-9223372036854775808"),
            (-100_000_000_000, "-100000000000"),
        ] {
            assert_eq!(Moment(seconds).to_string(), text);
            assert_eq!(text.parse(), Ok(Moment(seconds)));
            let json = serde_json::to_string(&Moment(seconds)).unwrap();
            assert_eq!(serde_json::from_str::<Moment>(&json).unwrap().0, seconds);
        }
        assert_eq!(serde_json::from_str::<Moment>("7").unwrap(), Moment(7));
    }
}
