//! Time divided into slices.

use std::str::FromStr;

use crate::data::{Interactions, units_per_second};
use crate::weights::error::WeightsError;

const DAY: i64 = 86_400;

/// How time is divided into slices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Slices {
    /// This many slices with equally many rows each; rows of the same time are in the same slice, so that there
    /// may be fewer.
    EqualCounts(usize),
    /// The days, weeks, months, quarters or years of the calendar, in UTC, from that of the first row to that of
    /// the last.
    Calendar(Period),
}

/// A period of the calendar.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Period {
    /// From midnight to midnight.
    Day,
    /// From Monday to Sunday.
    Week,
    /// A month.
    Month,
    /// Three months, from January on.
    Quarter,
    /// A year.
    Year,
}

impl Period {
    const ALL: [(Self, &'static str); 5] = [
        (Self::Day, "day"),
        (Self::Week, "week"),
        (Self::Month, "month"),
        (Self::Quarter, "quarter"),
        (Self::Year, "year"),
    ];

    /// Days or months of a period.
    fn length(self) -> i64 {
        match self {
            Self::Day | Self::Month => 1,
            Self::Week => 7,
            Self::Quarter => 3,
            Self::Year => 12,
        }
    }

    /// The number of the period of a time in unix seconds; consecutive periods have consecutive numbers.
    fn number(self, seconds: i64) -> i64 {
        let day = seconds.div_euclid(DAY);
        match self {
            // The first of January 1970 was a Thursday.
            Self::Week => (day + 3).div_euclid(self.length()),
            Self::Day => day,
            Self::Month | Self::Quarter | Self::Year => month_of(day).div_euclid(self.length()),
        }
    }

    /// The first second of a period.
    fn start(self, number: i64) -> i64 {
        let first = number * self.length();
        DAY * match self {
            Self::Week => first - 3,
            Self::Day => first,
            Self::Month | Self::Quarter | Self::Year => first_day(first),
        }
    }
}

/// Days of the years before this one, counted from the year 0 of the Gregorian calendar.
fn days_before(year: i64) -> i64 {
    let last = year - 1;
    365 * year + last.div_euclid(4) - last.div_euclid(100) + last.div_euclid(400) + 1
}

/// The day, from 1970 on, of the first of a month; months are counted from January of the year 0.
fn first_day(month: i64) -> i64 {
    const BEFORE: [i64; 12] = [0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334];
    let (year, of_year) = (month.div_euclid(12), month.rem_euclid(12));
    let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let extra = i64::from(leap && of_year > 1);
    days_before(year) - days_before(1970) + BEFORE[of_year as usize] + extra
}

/// The month, from January of the year 0 on, of a day from 1970 on.
fn month_of(day: i64) -> i64 {
    // A month has between 28 and 31 days: the estimate is low by a month at most.
    let estimate = 1970 * 12 + (12 * day).div_euclid(366) - 1;
    let mut month = estimate;
    while first_day(month + 1) <= day {
        month += 1;
    }
    while first_day(month) > day {
        month -= 1;
    }
    month
}

impl Slices {
    /// The maximum number of slices.
    pub const MOST: usize = 1000;

    pub(super) fn check(self, scheme: &str) -> Result<(), WeightsError> {
        match self {
            Self::EqualCounts(count) if !(1..=Self::MOST).contains(&count) => {
                Err(WeightsError::Parameter {
                    scheme: scheme.to_owned(),
                    name: "slices",
                    got: count as f64,
                    range: "from 1 to 1000",
                })
            }
            _ => Ok(()),
        }
    }

    /// The maximum number of slices on data.
    pub(in crate::weights) fn bound(self, data: &Interactions<'_>) -> usize {
        match self {
            Self::EqualCounts(count) => count,
            Self::Calendar(period) => {
                let ends = data
                    .dated_rows()
                    .fold(None, |ends: Option<(i64, i64)>, (.., time)| {
                        let (first, last) = ends.unwrap_or((time, time));
                        Some((first.min(time), last.max(time)))
                    });
                ends.map_or(1, |(first, last)| {
                    let per_second = units_per_second(last);
                    let number = |time: i64| period.number(time.div_euclid(per_second));
                    let count = number(last).saturating_sub(number(first)).saturating_add(1);
                    usize::try_from(count).unwrap_or(usize::MAX)
                })
            }
        }
    }

    /// Yields the time at which each slice starts, rising.
    pub(super) fn starts(
        self,
        scheme: &str,
        data: &Interactions<'_>,
    ) -> Result<Vec<i64>, WeightsError> {
        let no_rows = || WeightsError::NoInteractions { scheme: "slices" };
        match self {
            Self::EqualCounts(count) => {
                let mut times: Vec<i64> = data.dated_rows().map(|(.., time)| time).collect();
                if times.is_empty() {
                    return Err(no_rows());
                }
                let place = |slice: usize| slice as u128 * times.len() as u128 / count as u128;
                let mut places: Vec<usize> =
                    (0..count).map(|slice| place(slice) as usize).collect();
                places.dedup();
                let mut starts = Vec::with_capacity(count);
                at_places(&mut times, 0, &places, &mut starts);
                starts.dedup();
                Ok(starts)
            }
            Self::Calendar(period) => {
                let times = || data.dated_rows().map(|(.., time)| time);
                let (first, last) = times().min().zip(times().max()).ok_or_else(no_rows)?;
                let per_second = units_per_second(last);
                let number = |time: i64| period.number(time.div_euclid(per_second));
                let (from, count) = (number(first), self.bound(data));
                if count > Self::MOST {
                    return Err(WeightsError::Slices {
                        scheme: scheme.to_owned(),
                        slices: self.to_string(),
                        count,
                    });
                }
                let start = |number: i64| period.start(number).saturating_mul(per_second);
                Ok((from..).take(count).map(start).collect())
            }
        }
    }
}

/// Appends the times that would be at these places, rising, if all were sorted; `before` were smaller. Costs
/// `O(times log places)`.
fn at_places(times: &mut [i64], before: usize, places: &[usize], out: &mut Vec<i64>) {
    let Some(&place) = places.get(places.len() / 2) else {
        return;
    };
    let (smaller, rest) = places.split_at(places.len() / 2);
    let (left, &mut found, right) = times.select_nth_unstable(place - before);
    at_places(left, before, smaller, out);
    out.push(found);
    at_places(right, place + 1, &rest[1..], out);
}

impl FromStr for Slices {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        if let Some((period, _)) = Period::ALL.into_iter().find(|(_, name)| *name == text) {
            return Ok(Self::Calendar(period));
        }
        let count = text.parse().map_err(|_| ())?;
        (1..=Self::MOST)
            .contains(&count)
            .then_some(Self::EqualCounts(count))
            .ok_or(())
    }
}

impl std::fmt::Display for Slices {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::EqualCounts(count) => write!(f, "{count}"),
            Self::Calendar(period) => {
                let name = Period::ALL.iter().find(|(known, _)| known == period);
                f.write_str(name.map_or("", |(_, name)| name))
            }
        }
    }
}

#[cfg(feature = "serde")]
impl serde::Serialize for Slices {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

#[cfg(feature = "serde")]
impl<'de> serde::Deserialize<'de> for Slices {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let slices = text.parse();
        slices.map_err(|()| serde::de::Error::custom(format!("'{text}' is no division of time")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn periods_of_the_calendar_start_where_they_should() {
        // 2000-02-29, a Tuesday in the first quarter, as days from 1970.
        let leap_day = 11_016;
        for (period, start) in [
            (Period::Day, leap_day),
            (Period::Week, leap_day - 1),
            (Period::Month, leap_day - 28),
            (Period::Quarter, leap_day - 59),
            (Period::Year, leap_day - 59),
        ] {
            for second in [0, DAY - 1] {
                let number = period.number(leap_day * DAY + second);
                assert_eq!(period.start(number), start * DAY, "{period:?}");
            }
        }
        for month in [0, 11, 14, 1969 * 12 + 11, 1970 * 12, 2100 * 12 + 2] {
            let day = first_day(month);
            assert_eq!((month_of(day), month_of(day - 1)), (month, month - 1));
        }
        assert_eq!(
            (first_day(1970 * 12), first_day(2024 * 12 + 2)),
            (0, 19_783)
        );
    }

    #[test]
    fn divisions_are_written_as_they_are_read() {
        for text in ["1", "20", "1000", "day", "week", "month", "quarter", "year"] {
            let slices: Slices = text.parse().expect("a division");
            assert_eq!(slices.to_string(), text);
        }
        for text in ["0", "1001", "-1", "moon", ""] {
            assert!(text.parse::<Slices>().is_err(), "{text}");
        }
    }
}
