//! Times as people write them.

use crate::wording::MILLISECONDS_FROM;

/// Reads a unix time, or a date `2020-01-31`, or a date with a time `2020-01-31T23:59:59`, in UTC.
pub(crate) fn moment(text: &str) -> Result<i64, String> {
    if let Ok(number) = text.parse() {
        return Ok(number);
    }
    calendar(text).ok_or_else(|| {
        "expected a unix time, or a date such as 2020-01-31 or 2020-01-31T23:59:59".to_owned()
    })
}

/// A moment in seconds in the unit of the times of some data, which may be milliseconds.
pub(crate) fn in_unit_of(times: Option<&[i64]>, moment: i64) -> i64 {
    let latest = times.and_then(|times| times.iter().max());
    let in_milliseconds = latest.is_some_and(|&latest| latest > MILLISECONDS_FROM);
    if in_milliseconds && moment <= MILLISECONDS_FROM {
        moment.saturating_mul(1000)
    } else {
        moment
    }
}

fn calendar(text: &str) -> Option<i64> {
    let text = text.trim_end_matches('Z');
    let (date, time) = text.split_once(['T', ' ']).unwrap_or((text, "00:00:00"));
    let date = numbers(date, '-')?;
    let time = numbers(time, ':')?;
    let in_range = (1..=12).contains(&date[1])
        && (1..=31).contains(&date[2])
        && (0..24).contains(&time[0])
        && (0..60).contains(&time[1])
        && (0..=60).contains(&time[2]);
    let seconds = days_since_epoch(date) * 86_400 + time[0] * 3600 + time[1] * 60 + time[2];
    in_range.then_some(seconds)
}

fn numbers(text: &str, separator: char) -> Option<[i64; 3]> {
    let parts: Vec<i64> = text
        .split(separator)
        .map(|part| part.parse().ok())
        .collect::<Option<_>>()?;
    parts.try_into().ok()
}

/// Days from 1970-01-01 in the proleptic Gregorian calendar, years starting in March.
fn days_since_epoch([year, month, day]: [i64; 3]) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let year_of_era = year.rem_euclid(400);
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    era * 146_097 + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year - 719_468
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_in_the_unit_of_the_data() {
        let (seconds, millis) = ([1_600_000_000_i64], [1_600_000_000_123_i64]);
        assert_eq!(in_unit_of(Some(&seconds), 1_500_000_000), 1_500_000_000);
        assert_eq!(in_unit_of(Some(&millis), 1_500_000_000), 1_500_000_000_000);
        // One that is written in milliseconds stays.
        assert_eq!(
            in_unit_of(Some(&millis), 1_500_000_000_000),
            1_500_000_000_000
        );
        assert_eq!(in_unit_of(None, 7), 7);
    }

    #[test]
    fn dates_are_seconds_since_1970() {
        assert_eq!(moment("1970-01-01"), Ok(0));
        assert_eq!(moment("2000-03-01"), Ok(951_868_800));
        assert_eq!(moment("2020-02-29T12:00:01Z"), Ok(1_582_977_601));
        assert_eq!(moment("-5"), Ok(-5));
        assert!(moment("2020-13-01").is_err());
        assert!(moment("yesterday").is_err());
    }
}
