//! When an event happened, as it is sent.

use std::fmt;

use absentia_io::time::{Moment, TimeUnit};
use serde::de::{Error, Unexpected, Visitor};
use serde::{Deserialize, Deserializer, Serialize};

/// When an event happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum EventTime {
    /// In the unit of the training data.
    Number(i64),
    /// A date with its time, whatever the unit.
    Moment(Moment),
}

impl EventTime {
    /// The time in a unit.
    pub(super) fn in_unit(self, unit: TimeUnit) -> i64 {
        match self {
            Self::Number(time) => time,
            Self::Moment(moment) => unit.of_moment(moment),
        }
    }

    /// Whether it is before 1970.
    pub(super) fn is_negative(self) -> bool {
        match self {
            Self::Number(time) | Self::Moment(Moment(time)) => time < 0,
        }
    }
}

impl<'de> Deserialize<'de> for EventTime {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Reader)
    }
}

struct Reader;

impl Visitor<'_> for Reader {
    type Value = EventTime;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(
            "a time: a whole number in the unit of the training data, or a date as in 2024-05-31T12:00:00Z",
        )
    }

    fn visit_i64<E: Error>(self, time: i64) -> Result<EventTime, E> {
        Ok(EventTime::Number(time))
    }

    fn visit_u64<E: Error>(self, time: u64) -> Result<EventTime, E> {
        let wrong = |_| E::invalid_value(Unexpected::Unsigned(time), &self);
        i64::try_from(time).map(EventTime::Number).map_err(wrong)
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<EventTime, E> {
        // A number has a unit, which a text does not say.
        let is_number = text.parse::<i64>().is_ok();
        let moment = text.parse().ok().filter(|_| !is_number);
        let wrong = || E::invalid_value(Unexpected::Str(text), &self);
        moment.map(EventTime::Moment).ok_or_else(wrong)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_have_the_unit_of_the_data() {
        let read = |text: &str| serde_json::from_str::<EventTime>(text);
        let date = read("\"2017-07-14T02:40:00Z\"").unwrap();
        for (unit, expected) in [
            (TimeUnit::Seconds, 1_500_000_000),
            (TimeUnit::Milliseconds, 1_500_000_000_000),
        ] {
            assert_eq!(date.in_unit(unit), expected);
            assert_eq!(read("17").unwrap().in_unit(unit), 17);
        }
        assert!(read("\"1969-07-20\"").unwrap().is_negative());
        for wrong in ["1.5", "\"soon\"", "\"1500000000\"", "18446744073709551615"] {
            let error = read(wrong).unwrap_err().to_string();
            assert!(error.contains("expected a time: a whole number"), "{error}");
        }
        let as_sent = serde_json::to_string(&read("17").unwrap()).unwrap();
        assert_eq!(as_sent, "17");
    }
}
