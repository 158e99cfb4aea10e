//! The unit of the times of a data set.

use super::{Moment, TimeSpan};

/// Times above this are taken to be milliseconds: as seconds they would be in the year 5138.
const MILLISECONDS_FROM: i64 = 100_000_000_000;

/// The unit of the times of a data set.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TimeUnit {
    /// Unix time in seconds.
    #[default]
    Seconds,
    /// Unix time in milliseconds.
    Milliseconds,
}

impl TimeUnit {
    /// The unit of times of which `latest` is the last.
    #[must_use]
    pub fn of_latest(latest: i64) -> Self {
        if latest > MILLISECONDS_FROM {
            Self::Milliseconds
        } else {
            Self::Seconds
        }
    }

    /// The unit of a column of times; seconds if there is none.
    #[must_use]
    pub fn of_times(times: Option<&[i64]>) -> Self {
        let latest = times.and_then(|times| times.iter().max());
        latest.map_or(Self::Seconds, |&latest| Self::of_latest(latest))
    }

    /// How many of the unit a second has.
    #[must_use]
    pub fn per_second(self) -> f64 {
        match self {
            Self::Seconds => 1.0,
            Self::Milliseconds => 1000.0,
        }
    }

    /// A moment in this unit; one that is written in milliseconds already stays as it is.
    #[must_use]
    pub fn of_moment(self, Moment(moment): Moment) -> i64 {
        match self {
            Self::Milliseconds if moment <= MILLISECONDS_FROM => moment.saturating_mul(1000),
            _ => moment,
        }
    }

    /// A length of time in this unit.
    #[must_use]
    pub fn of_span(self, span: TimeSpan) -> f64 {
        span.seconds() * self.per_second()
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
    fn spans_are_in_the_unit_of_the_data() {
        let span: TimeSpan = "1h".parse().unwrap();
        assert!((TimeUnit::Milliseconds.of_span(span) - 3_600_000.0).abs() < 1e-9);
    }
}
