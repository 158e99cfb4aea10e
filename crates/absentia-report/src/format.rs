//! Numbers as people read them.

use std::time::Duration;

/// A count with its thousands apart: `731,671`.
#[must_use]
pub fn count(n: u64) -> String {
    let digits = n.to_string();
    let mut text = String::with_capacity(digits.len() * 4 / 3);
    for (position, digit) in digits.char_indices() {
        if position > 0 && (digits.len() - position).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A number of things: `1 user`, `2,000 users`.
#[must_use]
pub fn counted(n: u64, thing: &str) -> String {
    let end = if n == 1 { "" } else { "s" };
    format!("{} {thing}{end}", count(n))
}

/// A change with its sign to four decimals, `+0.0012`; a zero has none.
#[must_use]
pub fn signed(v: f64) -> String {
    let text = format!("{v:+.4}");
    match text.strip_prefix(['+', '-']) {
        Some(zero) if is_zero(zero) => zero.to_owned(),
        _ => text,
    }
}

/// Whether the digits of a number are all zero.
fn is_zero(text: &str) -> bool {
    text.bytes().all(|byte| matches!(byte, b'0' | b'.'))
}

/// A zero without its sign.
fn unsigned_zero(text: String) -> String {
    match text.strip_prefix('-') {
        Some(zero) if is_zero(zero) => zero.to_owned(),
        _ => text,
    }
}

/// A magnitude in at most three digits: `950`, `1.2 M`, `0.05`, `3e-7`.
#[must_use]
pub fn compact(v: f64) -> String {
    const UNITS: [(f64, &str); 4] = [(1e12, " T"), (1e9, " G"), (1e6, " M"), (1e3, " k")];
    let size = v.abs();
    if !v.is_finite() || size >= 1e15 {
        return significant(v, 2);
    }
    // Values that would round up to 1000 of a unit take the next one.
    match UNITS.iter().find(|(unit, _)| size >= unit * 0.9995) {
        Some((unit, suffix)) => format!("{}{suffix}", short(v / unit)),
        None if size >= 1.0 => short(v),
        None => significant(v, 2),
    }
}

/// One decimal below ten unless it is zero, none above.
fn short(v: f64) -> String {
    let text = if v.abs() < 9.95 {
        format!("{v:.1}")
    } else {
        format!("{v:.0}")
    };
    unsigned_zero(text.strip_suffix(".0").map_or(text.clone(), str::to_owned))
}

/// A size in binary units: `512 B`, `1.5 KiB`, `2.35 GiB`.
#[must_use]
pub fn bytes(n: u64) -> String {
    const UNITS: [&str; 6] = ["KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
    if n < 1024 {
        return format!("{n} B");
    }
    let (mut size, mut unit) = (n as f64 / 1024.0, 0);
    while size >= 1023.995 && unit + 1 < UNITS.len() {
        size /= 1024.0;
        unit += 1;
    }
    // Two decimals only where a hundredth of the unit is worth knowing.
    let decimals = if unit >= 2 { 2 } else { 1 };
    format!("{size:.decimals$} {}", UNITS[unit])
}

/// A time span in its two leading units: `12 ms`, `3.4s`, `1m 23s`, `2h 05m`, `1d 04h`.
#[must_use]
pub fn duration(span: Duration) -> String {
    if span.as_micros() < 1000 {
        return format!("{} µs", span.as_micros());
    }
    if span.as_millis() < 1000 {
        return format!("{} ms", span.as_millis());
    }
    let tenths = (span.as_secs_f64() * 10.0).round();
    if tenths < 600.0 {
        return format!("{:.1}s", tenths / 10.0);
    }
    let seconds = span.as_secs_f64().round() as u64;
    match seconds {
        0..3600 => format!("{}m {:02}s", seconds / 60, seconds % 60),
        3600..86_400 => format!("{}h {:02}m", seconds / 3600, seconds / 60 % 60),
        _ => format!("{}d {:02}h", seconds / 86_400, seconds / 3600 % 24),
    }
}

/// Work per second: `1.2 M rows/s`.
#[must_use]
pub fn rate(done: u64, span: Duration, unit: &str) -> String {
    let per_second = done as f64 / span.as_secs_f64().max(1e-9);
    format!("{} {unit}/s", compact(per_second))
}

/// A ranking metric to four decimals, `0.1834`; a dash when it is not defined.
#[must_use]
pub fn metric(v: f64) -> String {
    if v.is_finite() {
        unsigned_zero(format!("{v:.4}"))
    } else {
        "–".to_owned()
    }
}

/// A mean with the half-width of its confidence interval: `0.1834 ± 0.0021`.
#[must_use]
pub fn mean(v: f64, half: f64) -> String {
    if half.is_finite() {
        format!("{} ± {half:.4}", metric(v))
    } else {
        metric(v)
    }
}

/// A share in per cent with one decimal: `4.2 %`; shares too small for it keep two digits.
#[must_use]
pub fn percent(share: f64) -> String {
    let hundredths = share * 100.0;
    if hundredths.abs() >= 0.1 || share.abs() < f64::MIN_POSITIVE {
        format!("{} %", unsigned_zero(format!("{hundredths:.1}")))
    } else {
        format!("{} %", significant(hundredths, 2))
    }
}

/// A p-value as papers print it: `p = 0.013`, `p < 1e-4`.
#[must_use]
pub fn p_value(p: f64) -> String {
    if !p.is_finite() {
        return "p –".to_owned();
    }
    if p < 1e-4 {
        return "p < 1e-4".to_owned();
    }
    let decimals = if p < 0.001 { 4 } else { 3 };
    format!("p = {p:.decimals$}")
}

/// `v` to a number of significant digits, without trailing zeros and with whole numbers kept whole: `0.0123`, `3.2e-7`.
#[must_use]
pub fn significant(v: f64, digits: u8) -> String {
    if !v.is_finite() {
        return "–".to_owned();
    }
    // Minus zero is zero.
    let v = v + 0.0;
    let precision = usize::from(digits.max(1) - 1);
    let scientific = format!("{v:.precision$e}");
    let exponent = scientific
        .split_once('e')
        .and_then(|(_, e)| e.parse::<i64>().ok())
        .unwrap_or(0);
    if !(-4..15).contains(&exponent) {
        return trim_mantissa(&scientific);
    }
    let decimals = usize::try_from(i64::from(digits.max(1)) - 1 - exponent).unwrap_or(0);
    trim_zeros(&format!("{v:.decimals$}"))
}

fn trim_mantissa(scientific: &str) -> String {
    match scientific.split_once('e') {
        Some((mantissa, exponent)) => format!("{}e{exponent}", trim_zeros(mantissa)),
        None => scientific.to_owned(),
    }
}

fn trim_zeros(text: &str) -> String {
    if text.contains('.') {
        text.trim_end_matches('0').trim_end_matches('.').to_owned()
    } else {
        text.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_have_separated_thousands() {
        let texts = [0, 999, 1000, 731_671, 1_000_000].map(count);
        assert_eq!(texts, ["0", "999", "1,000", "731,671", "1,000,000"]);
    }

    #[test]
    fn compact_numbers_round_into_the_next_unit() {
        let values = [0.0, 7.0, 950.0, 999.7, 1234.0, 1_200_000.0, 999_960.0, -2e9];
        let texts = values.map(compact);
        assert_eq!(
            texts,
            ["0", "7", "950", "1 k", "1.2 k", "1.2 M", "1 M", "-2 G"]
        );
        assert_eq!([0.05, 3e-7].map(compact), ["0.05", "3e-7"]);
    }

    #[test]
    fn zeros_have_no_sign_and_one_thing_is_one() {
        assert_eq!([-0.0, -1e-9].map(metric), ["0.0000", "0.0000"]);
        assert_eq!(significant(-0.0, 3), "0");
        assert_eq!(compact(-0.0), "0");
        assert_eq!(
            [-1e-9, 0.0, 0.01].map(signed),
            ["0.0000", "0.0000", "+0.0100"]
        );
        assert_eq!([1, 2].map(|n| counted(n, "user")), ["1 user", "2 users"]);
    }

    #[test]
    fn bytes_are_binary() {
        let sizes = [512, 1536, 1_048_575, 5 << 20, 2_523_293_286];
        assert_eq!(
            sizes.map(bytes),
            ["512 B", "1.5 KiB", "1.0 MiB", "5.0 MiB", "2.35 GiB"]
        );
    }

    #[test]
    fn durations_show_two_units() {
        let millis = [0, 12, 3_400, 59_960, 83_000, 7_500_000, 100_800_000];
        let texts = millis.map(|ms| duration(Duration::from_millis(ms)));
        assert_eq!(
            texts,
            [
                "0 µs", "12 ms", "3.4s", "1m 00s", "1m 23s", "2h 05m", "1d 04h"
            ]
        );
    }

    #[test]
    fn metrics_and_intervals_have_four_decimals() {
        assert_eq!(metric(0.183_44), "0.1834");
        assert_eq!(metric(f64::NAN), "–");
        assert_eq!(mean(0.183_44, 0.002_1), "0.1834 ± 0.0021");
        assert_eq!(mean(0.5, f64::NAN), "0.5000");
    }

    #[test]
    fn p_values_have_a_floor() {
        let texts = [0.5, 0.013, 0.000_46, 3e-9].map(p_value);
        assert_eq!(texts, ["p = 0.500", "p = 0.013", "p = 0.0005", "p < 1e-4"]);
    }

    #[test]
    fn significant_digits_drop_trailing_zeros() {
        let texts = [0.012_345, 1_234_567.0, 0.5, 0.0, 3.21e-7].map(|v| significant(v, 3));
        assert_eq!(texts, ["0.0123", "1234567", "0.5", "0", "3.21e-7"]);
    }

    #[test]
    fn shares_and_rates() {
        assert_eq!(
            [0.042, 0.000_84, 0.0].map(percent),
            ["4.2 %", "0.084 %", "0.0 %"]
        );
        assert_eq!(
            rate(2_400_000, Duration::from_secs(2), "rows"),
            "1.2 M rows/s"
        );
    }
}
