//! ISO-8601 dates and times in unix seconds.

/// Reads `YYYY-MM-DD`, optionally followed by `T` or a space and `HH:MM[:SS[.f]]`, then `Z` or `+HH[:]MM`.
///
/// A time without a zone is taken as UTC; fractions of a second are dropped.
pub(super) fn iso_seconds(text: &[u8]) -> Option<i64> {
    let (date, rest) = text.split_at_checked(10)?;
    let days = days_since_1970(date)?;
    let seconds = match rest {
        [] => 0,
        [b'T' | b't' | b' ', clock @ ..] => clock_seconds(clock)?,
        _ => return None,
    };
    Some(days * 86_400 + seconds)
}

fn days_since_1970(date: &[u8]) -> Option<i64> {
    let [y1, y2, y3, y4, b'-', m1, m2, b'-', d1, d2] = *date else {
        return None;
    };
    let year = number(&[y1, y2, y3, y4])?;
    let month = number(&[m1, m2])?;
    let day = number(&[d1, d2])?;
    if !(1..=12).contains(&month) || day < 1 || day > days_in(year, month) {
        return None;
    }
    // Years start in March here, so that the leap day is the last of its year.
    let (year, month) = if month > 2 {
        (year, month - 3)
    } else {
        (year - 1, month + 9)
    };
    let leaps = year.div_euclid(4) - year.div_euclid(100) + year.div_euclid(400);
    Some(year * 365 + leaps + (month * 153 + 2) / 5 + day - 1 - 719_468)
}

fn days_in(year: i64, month: i64) -> i64 {
    let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    match month {
        2 => 28 + i64::from(leap),
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

fn clock_seconds(clock: &[u8]) -> Option<i64> {
    let (hour_minute, rest) = clock.split_at_checked(5)?;
    let [h1, h2, b':', m1, m2] = *hour_minute else {
        return None;
    };
    let (hour, minute) = (number(&[h1, h2])?, number(&[m1, m2])?);
    let (second, zone) = match rest {
        [b':', s1, s2, rest @ ..] => (number(&[*s1, *s2])?, after_fraction(rest)?),
        _ => (0, rest),
    };
    let valid = hour < 24 && minute < 60 && second <= 60;
    valid.then(|| Some(hour * 3600 + minute * 60 + second - zone_seconds(zone)?))?
}

fn after_fraction(text: &[u8]) -> Option<&[u8]> {
    let [b'.' | b',', digits @ ..] = text else {
        return Some(text);
    };
    let length = digits.iter().take_while(|b| b.is_ascii_digit()).count();
    (length > 0).then(|| &digits[length..])
}

fn zone_seconds(zone: &[u8]) -> Option<i64> {
    let (sign, digits) = match zone {
        [] | [b'Z' | b'z'] => return Some(0),
        [b'+', rest @ ..] => (1, rest),
        [b'-', rest @ ..] => (-1, rest),
        _ => return None,
    };
    let (hours, minutes) = match *digits {
        [h1, h2] => (number(&[h1, h2])?, 0),
        [h1, h2, m1, m2] | [h1, h2, b':', m1, m2] => (number(&[h1, h2])?, number(&[m1, m2])?),
        _ => return None,
    };
    (hours < 24 && minutes < 60).then_some(sign * (hours * 3600 + minutes * 60))
}

fn number(digits: &[u8]) -> Option<i64> {
    digits.iter().try_fold(0, |value, digit| {
        digit
            .is_ascii_digit()
            .then(|| value * 10 + i64::from(digit - b'0'))
    })
}

#[cfg(test)]
mod tests {
    use super::iso_seconds;

    #[test]
    fn known_instants_are_right() {
        for (text, seconds) in [
            ("1970-01-01", 0),
            ("2000-02-29", 951_782_400),
            ("2013-04-03T22:45:07Z", 1_365_029_107),
            ("2013-04-03 22:45", 1_365_029_100),
            ("2013-04-04T00:45:07.123+02:00", 1_365_029_107),
            ("2013-04-03T20:15:07-0230", 1_365_029_107),
            ("1969-12-31T23:59:59", -1),
            ("0000-01-01", -62_167_219_200),
        ] {
            assert_eq!(iso_seconds(text.as_bytes()), Some(seconds), "{text}");
        }
    }

    #[test]
    fn impossible_dates_are_refused() {
        for text in [
            "2001-02-29",
            "2000-13-01",
            "2000-00-10",
            "2000-01-32",
            "2000-1-1",
            "2000-01-01T24:00",
            "2000-01-01T1:00",
            "2000-01-01T10:00:00.",
            "2000-01-01T10:00+1",
            "2000-01-01x",
            "",
        ] {
            assert_eq!(iso_seconds(text.as_bytes()), None, "{text}");
        }
    }
}
