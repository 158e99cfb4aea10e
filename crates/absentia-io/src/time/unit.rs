//! The unit of the times of a data set.

use std::fmt;
use std::str::FromStr;

use absentia::data::{MOST_SECONDS, units_per_second};

use super::{Moment, TimeError};

/// The start of the year 2200, in seconds. No interaction is later.
const LATEST: i64 = 7_258_118_400;
/// The start of the year 1990, in seconds. Most interactions are later.
const USUAL: i64 = 631_152_000;

/// The unit of the times of a data set, found from how large they are.
///
/// ```
/// use absentia_io::time::TimeUnit;
///
/// let unit = TimeUnit::recognise(&[1_577_836_800_000_000, 1_580_428_800_000_000])?;
/// assert_eq!(unit, TimeUnit::Microseconds);
/// // Seconds and nanoseconds in one column.
/// assert!(TimeUnit::recognise(&[1_577_836_800, 1_580_428_800_000_000_000]).is_err());
/// # Ok::<(), absentia_io::time::TimeError>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum TimeUnit {
    /// Unix time in seconds.
    #[default]
    Seconds,
    /// Unix time in milliseconds.
    Milliseconds,
    /// Unix time in microseconds.
    Microseconds,
    /// Unix time in nanoseconds.
    Nanoseconds,
}

impl TimeUnit {
    /// Every unit, the longest first.
    pub const ALL: [Self; 4] = [
        Self::Seconds,
        Self::Milliseconds,
        Self::Microseconds,
        Self::Nanoseconds,
    ];

    /// The unit of times of which `latest` is the last.
    #[must_use]
    pub fn of_latest(latest: i64) -> Self {
        let count = units_per_second(latest);
        let found = Self::ALL.into_iter().find(|unit| unit.count() == count);
        found.unwrap_or(Self::Nanoseconds)
    }

    /// The unit of a column of times; seconds if there is none.
    #[must_use]
    pub fn of_times(times: Option<&[i64]>) -> Self {
        let latest = times.and_then(|times| times.iter().max());
        latest.map_or(Self::Seconds, |&latest| Self::of_latest(latest))
    }

    /// The unit of a column of times that can be what they claim to be.
    ///
    /// # Errors
    /// In the unit, the latest is after the year 2200; or the earliest is a usual time of a longer unit, so that
    /// units are mixed.
    pub fn recognise(times: &[i64]) -> Result<Self, TimeError> {
        let unit = Self::of_times(Some(times));
        let latest = times.iter().copied().max().unwrap_or_default();
        if unit.seconds(latest) >= LATEST {
            return Err(TimeError::Impossible { time: latest, unit });
        }
        let positive = times.iter().copied().filter(|&time| time > 0);
        let earliest = positive.min().unwrap_or(latest);
        let own = Self::of_latest(earliest);
        if own < unit && (USUAL..LATEST).contains(&own.seconds(earliest)) {
            return Err(TimeError::Mixed { earliest, latest });
        }
        Ok(unit)
    }

    fn count(self) -> i64 {
        match self {
            Self::Seconds => 1,
            Self::Milliseconds => 1_000,
            Self::Microseconds => 1_000_000,
            Self::Nanoseconds => 1_000_000_000,
        }
    }

    /// How many of the unit a second has.
    #[must_use]
    pub fn per_second(self) -> f64 {
        self.count() as f64
    }

    /// A time in this unit as whole seconds, the fraction dropped.
    #[must_use]
    pub fn seconds(self, time: i64) -> i64 {
        time.div_euclid(self.count())
    }

    /// A time that was given in this unit as whole seconds, unless it is beyond the year 5138.
    #[must_use]
    pub fn given(self, time: i64) -> Option<i64> {
        let seconds = self.seconds(time);
        (seconds.unsigned_abs() <= MOST_SECONDS).then_some(seconds)
    }

    /// A moment in this unit, whatever the unit it is written in.
    #[must_use]
    pub fn of_moment(self, Moment(moment): Moment) -> i64 {
        self.of_time(moment, Self::of_latest(moment))
    }

    /// A time of another unit in this one; what is shorter than this unit is dropped.
    #[must_use]
    pub fn of_time(self, time: i64, own: Self) -> i64 {
        if self < own {
            time.div_euclid(own.count() / self.count())
        } else {
            time.saturating_mul(self.count() / own.count())
        }
    }

    /// The name of the unit.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Seconds => "seconds",
            Self::Milliseconds => "milliseconds",
            Self::Microseconds => "microseconds",
            Self::Nanoseconds => "nanoseconds",
        }
    }
}

impl fmt::Display for TimeUnit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Seconds => "s",
            Self::Milliseconds => "ms",
            Self::Microseconds => "us",
            Self::Nanoseconds => "ns",
        })
    }
}

impl FromStr for TimeUnit {
    type Err = TimeError;

    fn from_str(text: &str) -> Result<Self, TimeError> {
        let named = |unit: &Self| unit.to_string() == text || unit.name() == text;
        Self::ALL
            .into_iter()
            .find(named)
            .ok_or_else(|| TimeError::Unit {
                text: text.to_owned(),
            })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_in_the_unit_of_the_data() {
        let seconds = TimeUnit::of_times(Some(&[1_600_000_000]));
        let millis = TimeUnit::of_times(Some(&[5, 1_600_000_000_123]));
        let moment = Moment(1_500_000_000);
        assert_eq!(seconds.of_moment(moment), 1_500_000_000);
        assert_eq!(millis.of_moment(moment), 1_500_000_000_000);
        // One that is written in milliseconds stays.
        assert_eq!(
            millis.of_moment(Moment(1_500_000_000_000)),
            1_500_000_000_000
        );
        assert_eq!(TimeUnit::of_times(None), TimeUnit::Seconds);
        assert_eq!(TimeUnit::of_times(Some(&[])), TimeUnit::Seconds);
    }

    #[test]
    fn the_unit_follows_from_the_magnitude() {
        let second = 1_577_836_800_i64;
        for (unit, text) in TimeUnit::ALL.into_iter().zip(["s", "ms", "us", "ns"]) {
            let time = second * unit.count();
            assert_eq!(TimeUnit::recognise(&[0, 5, time]), Ok(unit));
            assert_eq!(TimeUnit::recognise(&[-time]), Ok(unit));
            assert_eq!(text.parse(), Ok(unit));
            assert_eq!(unit.to_string(), text);
            assert_eq!(unit.seconds(time), second);
            for other in TimeUnit::ALL {
                let moment = Moment(second * other.count());
                assert_eq!(unit.of_moment(moment), time, "{other} in {unit}");
            }
        }
        assert!("days".parse::<TimeUnit>().is_err());
    }

    #[test]
    fn impossible_times_are_refused() {
        // 14 digits of a date; the year 2600 in seconds; seconds beside milliseconds.
        for times in [
            &[20_200_131_235_959][..],
            &[20_000_000_000],
            &[i64::MAX],
            &[1_577_836_800, 1_577_836_800_000],
            &[1_577_836_800_000, 1_577_836_800_000_000_000],
        ] {
            assert!(TimeUnit::recognise(times).is_err(), "{times:?}");
        }
        assert_eq!(TimeUnit::recognise(&[]), Ok(TimeUnit::Seconds));
        assert_eq!(TimeUnit::Seconds.given(i64::MAX), None);
        assert_eq!(TimeUnit::Milliseconds.given(-1), Some(-1));
    }
}
