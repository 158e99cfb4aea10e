//! Reads the cells of a row: ratings, weights and times.

use crate::bad_row::RowFault;
use crate::column::Column;
use crate::error::shorten;
use crate::ids::canonical_integer;
use crate::time::{TimeUnit, iso_seconds};

/// Reads a finite number.
pub(super) fn number(cell: &[u8], column: Column) -> Result<f32, RowFault> {
    let cell = cell.trim_ascii();
    match fast_float2::parse::<f32, _>(cell) {
        Ok(value) if value.is_finite() => Ok(value),
        Ok(_) => Err(RowFault::unstorable(column, shorten(cell))),
        Err(_) if cell.is_empty() => Err(RowFault::Blank { column }),
        Err(_) => Err(RowFault::Number {
            column,
            text: shorten(cell),
        }),
    }
}

/// Reads a finite number with a comma before its decimals. A point could be that of another rule and is
/// no part of it.
pub(super) fn number_with_comma(cell: &[u8], column: Column) -> Result<f32, RowFault> {
    match with_point(cell) {
        Some(cell) => number(&cell, column),
        None => Err(RowFault::Number {
            column,
            text: shorten(cell),
        }),
    }
}

/// A number with a point in place of its decimal comma; nothing if it has a point already.
pub(super) fn with_point(cell: &[u8]) -> Option<Vec<u8>> {
    let point = |&byte: &u8| if byte == b',' { b'.' } else { byte };
    (!cell.contains(&b'.')).then(|| cell.iter().map(point).collect())
}

/// Reads a time: a number as given, in seconds if its unit was given, or an ISO-8601 date in unix seconds.
pub(super) fn time(cell: &[u8], unit: Option<TimeUnit>) -> Result<i64, RowFault> {
    let cell = cell.trim_ascii();
    if let Some(time) = canonical_integer(cell) {
        return in_seconds(time, unit);
    }
    if cell.is_empty() {
        return Err(RowFault::Blank {
            column: Column::Time,
        });
    }
    match fast_float2::parse::<f64, _>(cell) {
        Ok(time) => float_time(time, unit),
        Err(_) => iso_seconds(cell).ok_or_else(|| RowFault::Time {
            text: shorten(cell),
        }),
    }
}

/// A number as given, or in seconds if its unit was given.
pub(super) fn in_seconds(time: i64, unit: Option<TimeUnit>) -> Result<i64, RowFault> {
    let Some(unit) = unit else {
        return Ok(time);
    };
    unit.given(time).ok_or_else(|| RowFault::TimeBeyond {
        text: time.to_string(),
        unit,
    })
}

/// Drops the fraction of a time, if what is left fits.
pub(super) fn float_time(time: f64, unit: Option<TimeUnit>) -> Result<i64, RowFault> {
    const LIMIT: f64 = 9.2e18;
    if time.abs() < LIMIT {
        return in_seconds(time as i64, unit);
    }
    // As an exponent: 1.6e22 in digits would be cut in the middle.
    Err(RowFault::unstorable(Column::Time, format!("{time:e}")))
}

/// What the cells of a column look like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CellKind {
    /// A number.
    Number,
    /// A number large enough to be a unix time.
    Large,
    /// An ISO-8601 date.
    Date,
    /// Something else.
    Text,
}

impl CellKind {
    pub(super) fn of(cell: &[u8]) -> Self {
        const UNIX_TIME: f64 = 1e8;
        let cell = cell.trim_ascii();
        match fast_float2::parse::<f64, _>(cell) {
            Ok(value) if value > UNIX_TIME => Self::Large,
            Ok(_) => Self::Number,
            Err(_) if iso_seconds(cell).is_some() => Self::Date,
            Err(_) => Self::Text,
        }
    }

    pub(super) fn is_number(self) -> bool {
        matches!(self, Self::Number | Self::Large)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_taken_as_given_or_from_dates() {
        assert_eq!(time(b"1365029107", None), Ok(1_365_029_107));
        assert_eq!(time(b" 9.7830076E8 ", None), Ok(978_300_760));
        assert_eq!(time(b"1970-01-02", None), Ok(86_400));
        for bad in [&b"nan"[..], b"1e30", b"soon", b""] {
            assert!(time(bad, None).is_err());
        }
    }

    #[test]
    fn times_that_are_too_large_are_not_called_infinite() {
        let fault = |cell: &[u8]| time(cell, None).expect_err("a fault").to_string();
        assert_eq!(fault(b"1.6e22"), "time \"1.6e22\" is too large");
        let digits = fault(b"-16000000000000000000000");
        assert_eq!(digits, "time \"-1.6e22\" is too large");
        assert_eq!(fault(b"inf"), "time \"inf\" is not finite");
        assert_eq!(fault(b"nan"), "time \"NaN\" is not finite");
    }

    #[test]
    fn times_of_a_given_unit_become_seconds() {
        let micro = Some(TimeUnit::Microseconds);
        assert_eq!(time(b"1365029107999999", micro), Ok(1_365_029_107));
        assert_eq!(time(b"5e6", micro), Ok(5));
        // Dates have their unit.
        assert_eq!(time(b"1970-01-02", micro), Ok(86_400));
        assert!(time(b"1365029107999", Some(TimeUnit::Seconds)).is_err());
    }

    #[test]
    fn ratings_must_be_finite_numbers() {
        assert_eq!(number(b"4.5", Column::Rating), Ok(4.5));
        assert_eq!(number_with_comma(b"4,5", Column::Rating), Ok(4.5));
        for bad in [&b"1.234,5"[..], b"4.5", b"1,2,3"] {
            assert!(number_with_comma(bad, Column::Rating).is_err());
        }
        assert!(matches!(
            number(b"inf", Column::Rating),
            Err(RowFault::NotFinite { .. })
        ));
        assert!(matches!(
            number(b"NaN", Column::Rating),
            Err(RowFault::NotFinite { .. })
        ));
        assert!(matches!(
            number(b"1e99", Column::Rating),
            Err(RowFault::TooLarge { .. })
        ));
        assert!(matches!(
            number(b"good", Column::Rating),
            Err(RowFault::Number { .. })
        ));
    }
}
