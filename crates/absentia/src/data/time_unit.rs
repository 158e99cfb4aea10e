//! The unit of times, found from how large they are.

/// Seconds up to here, in either direction; as seconds, a larger number would be after the year 5138.
/// The same number of another unit is the limit of that unit.
pub const MOST_SECONDS: u64 = 100_000_000_000;

/// How many of their unit a second has, for times of which `latest` is the last: 1, 10³, 10⁶ or 10⁹.
#[must_use]
pub fn units_per_second(latest: i64) -> i64 {
    let fits =
        |count: &i64| latest.unsigned_abs() <= MOST_SECONDS.saturating_mul(count.unsigned_abs());
    let counts = [1, 1_000, 1_000_000];
    counts.into_iter().find(fits).unwrap_or(1_000_000_000)
}
