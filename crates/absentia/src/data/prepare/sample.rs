//! Samples that depend on the seed and on what is sampled, never on the order of the rows.

use super::log::{EventLog, Report};
use crate::data::DataError;
use crate::error::Axis;

/// What a sample is made of.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "kebab-case"))]
pub enum Sample {
    /// This fraction of the users, with all their rows.
    Users(f64),
    /// About this fraction of the rows; rows of the same user, item and time stay together.
    Rows(f64),
}

impl EventLog {
    /// Keeps a random sample.
    ///
    /// # Errors
    /// A fraction outside [0, 1].
    pub fn sample(&mut self, sample: Sample, seed: u64) -> Result<Report, DataError> {
        Ok(match sample {
            Sample::Users(fraction) => self.sample_users(check_fraction(fraction)?, seed),
            Sample::Rows(fraction) => self.sample_rows(check_fraction(fraction)?, seed),
        })
    }

    fn sample_users(&mut self, fraction: f64, seed: u64) -> Report {
        let mut users = self.present(Axis::User);
        let kept = (fraction * users.len() as f64).round() as usize;
        users.sort_by_cached_key(|&user| (mix(seed, u64::from(user), 0), user));
        let mut chosen = vec![false; users.iter().max().map_or(0, |&user| user as usize + 1)];
        for &user in &users[..kept] {
            chosen[user as usize] = true;
        }
        let keep: Vec<bool> = self
            .user
            .iter()
            .map(|&user| chosen[user as usize])
            .collect();
        self.retain(|row| keep[row])
    }

    fn sample_rows(&mut self, fraction: f64, seed: u64) -> Report {
        // 2^64 itself does not fit, so that a fraction of 1 must not be compared.
        let bound = (fraction * 2_f64.powi(64)) as u64;
        let keep: Vec<bool> = (0..self.len())
            .map(|row| fraction >= 1.0 || self.row_hash(row, seed) < bound)
            .collect();
        self.retain(|row| keep[row])
    }

    fn row_hash(&self, row: usize, seed: u64) -> u64 {
        let time = self.time.as_ref().map_or(0, |time| time[row]);
        let seed = mix(seed, time.cast_unsigned(), 1);
        mix(seed, u64::from(self.user[row]), u64::from(self.item[row]))
    }
}

fn check_fraction(fraction: f64) -> Result<f64, DataError> {
    if (0.0..=1.0).contains(&fraction) {
        return Ok(fraction);
    }
    Err(DataError::Parameter {
        name: "fraction",
        got: fraction as f32,
        range: "between 0 and 1",
    })
}

/// Yields 64 even bits of a seed and two numbers (the finaliser of `SplitMix64`, three times).
#[must_use]
pub fn mix(seed: u64, a: u64, b: u64) -> u64 {
    finalise(finalise(finalise(seed) ^ a) ^ b)
}

fn finalise(x: u64) -> u64 {
    let x = x.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn log() -> EventLog {
        let users = (0..2000).map(|row| row % 100).collect();
        EventLog::new(users, (0..2000).map(|row| row / 100).collect()).unwrap()
    }

    #[test]
    fn a_share_of_users_is_exact_and_takes_whole_users() {
        let mut sampled = log();
        let report = sampled.sample(Sample::Users(0.3), 7).unwrap();
        assert_eq!((report.before, report.after), (2000, 600));
        assert_eq!(sampled.present(Axis::User).len(), 30);
        let mut other = log();
        other.sample(Sample::Users(0.3), 8).unwrap();
        assert_ne!(sampled, other);
    }

    #[test]
    fn a_share_of_rows_is_near_and_the_ends_are_exact() {
        let after = |fraction| log().sample(Sample::Rows(fraction), 7).unwrap().after;
        assert!((900..1100).contains(&after(0.5)));
        assert_eq!((after(0.0), after(1.0)), (0, 2000));
        assert!(log().sample(Sample::Rows(1.5), 7).is_err());
    }

    #[test]
    fn the_order_of_the_rows_does_not_matter() {
        let mut sampled = log();
        sampled.sample(Sample::Rows(0.2), 3).unwrap();
        let mut reversed = log();
        reversed.user.reverse();
        reversed.item.reverse();
        reversed.sample(Sample::Rows(0.2), 3).unwrap();
        reversed.user.reverse();
        reversed.item.reverse();
        assert_eq!(sampled, reversed);
    }
}
