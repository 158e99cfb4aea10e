//! Properties of the data that decide which settings are searched.

use absentia::data::{Interactions, Values, units_per_second};

use super::dimension::{Dimension, Range, three_digits};
use super::typical_row::TypicalRow;
use super::{AGE, CONFIDENCE, HALF_LIFE, STRENGTH, TARGETS};

const HOUR: f64 = 3600.0;
const DAY: f64 = 24.0 * HOUR;

/// Properties of the data that decide which settings are searched.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct DataFacts {
    pub(crate) row: TypicalRow,
    /// Mean value, where values differ.
    pub(super) mean_value: Option<f64>,
    /// Whether no value is negative, so that weights can grow with them.
    has_log: bool,
    /// Time between the first and the last entry, where there are times.
    pub(super) span: Option<f64>,
    /// Units of the times in a second.
    per_second: f64,
}

impl DataFacts {
    pub(crate) fn of(data: &Interactions<'_>) -> Self {
        let (mean_value, has_log) = match data.by_user().targets() {
            Values::Each(values) if !values.is_empty() => {
                let total: f64 = values.iter().map(|&x| f64::from(x)).sum();
                let mean = total / values.len() as f64;
                (Some(mean), values.iter().all(|&x| x >= 0.0))
            }
            _ => (None, false),
        };
        let latest = data.times().and_then(|times| times.iter().max());
        let ends = data.times().and_then(|times| {
            let (first, last) = (times.iter().min()?, times.iter().max()?);
            Some(last.saturating_sub(*first) as f64)
        });
        Self {
            row: TypicalRow::of(data),
            mean_value: mean_value.filter(|mean| *mean > 0.0),
            has_log,
            span: ends.filter(|span| *span > 0.0),
            per_second: latest.map_or(1.0, |&latest| units_per_second(latest) as f64),
        }
    }

    /// A half-life that is a share of the time between the first and the last entry, in the unit of the times; none
    /// for a share of 0. Those of a day or more are whole hours.
    pub(crate) fn half_life(&self, share: f64) -> Option<f64> {
        let seconds = self.span? * share / self.per_second;
        let rounded = if seconds >= DAY {
            (seconds / HOUR).round() * HOUR
        } else {
            three_digits(seconds)
        };
        (rounded > 0.0).then_some(rounded * self.per_second)
    }

    /// The settings that need times alone.
    pub(super) fn time_dimensions(&self) -> Vec<Dimension> {
        if self.span.is_none() {
            return Vec::new();
        }
        let switch = |name, share, low, high| {
            let range = Range::LogSwitch { share, low, high };
            Dimension::new(name, range)
        };
        vec![
            switch(AGE, 0.35, 0.01, 10.0),
            switch(HALF_LIFE, 0.4, 0.002, 0.5),
        ]
    }

    /// The settings that need values or times.
    pub(super) fn value_dimensions(&self) -> Vec<Dimension> {
        let mut dimensions = Vec::new();
        if self.mean_value.is_some() && self.has_log {
            let options = vec![("binary", 0.7), ("raw", 0.15), ("log", 0.15)];
            dimensions.push(Dimension::new(TARGETS, Range::Choice { options }));
        }
        let mut options = vec![("constant", 0.6)];
        if self.mean_value.is_some() && self.has_log {
            options.extend([("linear", 0.4), ("log", 0.4)]);
        }
        if self.span.is_some() {
            options.push(("decay", 0.4));
        }
        if options.len() > 1 {
            let total: f64 = options.iter().map(|option| option.1).sum();
            for option in &mut options {
                option.1 /= total;
            }
            dimensions.push(Dimension::new(CONFIDENCE, Range::Choice { options }));
            dimensions.push(Dimension::new(
                STRENGTH,
                Range::Log {
                    low: 0.01,
                    high: 10.0,
                },
            ));
        }
        dimensions
    }
}
