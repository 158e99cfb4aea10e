//! Places of values on an axis: its range, round ticks and their labels.
//!
//! Shared by the terminal plots and by the charts of the HTML report, so that both label axes in the same way.

use crate::format;

/// How values are spread along an axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Spacing {
    /// Equal differences have equal lengths.
    Linear,
    /// As `Linear`, with ticks at whole numbers only (sweeps, ranks).
    Whole,
    /// Equal ratios have equal lengths; only positive values can be drawn.
    Log,
}

impl Spacing {
    /// Whether `v` has a place on such an axis.
    pub(crate) fn can_draw(self, v: f64) -> bool {
        v.is_finite() && (self != Self::Log || v > 0.0)
    }
}

/// A labelled place on an axis.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Tick {
    pub(crate) value: f64,
    pub(crate) label: String,
}

/// The ticks whose labels do not touch the one before; `place` is the middle of a label, `length` what it takes along
/// the axis, with the room between two of them.
pub(crate) fn apart(
    ticks: Vec<Tick>,
    place: impl Fn(&Tick) -> f64,
    length: impl Fn(&Tick) -> f64,
) -> Vec<Tick> {
    let mut kept: Vec<Tick> = Vec::with_capacity(ticks.len());
    for tick in ticks {
        let touches = |before: &Tick| {
            let room = f64::midpoint(length(before), length(&tick));
            (place(&tick) - place(before)).abs() < room
        };
        if !kept.last().is_some_and(touches) {
            kept.push(tick);
        }
    }
    kept
}

/// An interval of values together with how it is spread along an axis.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Scale {
    spacing: Spacing,
    low: f64,
    high: f64,
}

impl Scale {
    /// The smallest scale that shows every drawable value; `None` when there is none.
    pub(crate) fn fit(spacing: Spacing, values: impl IntoIterator<Item = f64>) -> Option<Self> {
        let drawable = values.into_iter().filter(|&v| spacing.can_draw(v));
        let (low, high) = drawable.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), v| {
            (low.min(v), high.max(v))
        });
        (low <= high).then(|| Self::around(spacing, low, high))
    }

    /// A single value gets room on both sides, as an empty interval cannot be drawn.
    fn around(spacing: Spacing, low: f64, high: f64) -> Self {
        if high - low > 1e-12 * high.abs().max(low.abs()) {
            return Self { spacing, low, high };
        }
        let (low, high) = match spacing {
            Spacing::Log => (low / 2.0, high * 2.0),
            Spacing::Whole => (low - 1.0, high + 1.0),
            Spacing::Linear if low.abs() < f64::MIN_POSITIVE => (-1.0, 1.0),
            Spacing::Linear => (low - low.abs() / 2.0, high + high.abs() / 2.0),
        };
        Self { spacing, low, high }
    }

    /// Adds a share of the length at both ends, so that marks do not sit on the frame.
    ///
    /// A scale without negative values does not get any.
    pub(crate) fn padded(self, share: f64) -> Self {
        let (low, high) = (self.forward(self.low), self.forward(self.high));
        let room = (high - low) * share;
        let floor = if self.low >= 0.0 { 0.0 } else { f64::MIN };
        Self {
            low: self.backward(low - room).max(floor),
            high: self.backward(high + room),
            ..self
        }
    }

    /// Whether `v` has a place on this kind of axis at all.
    pub(crate) fn can_draw(&self, v: f64) -> bool {
        self.spacing.can_draw(v)
    }

    /// The place of `v` between the low end (0) and the high end (1).
    pub(crate) fn fraction(&self, v: f64) -> f64 {
        let (low, high) = (self.forward(self.low), self.forward(self.high));
        (self.forward(v) - low) / (high - low)
    }

    /// About `target` ticks at round values inside the scale, ascending.
    pub(crate) fn ticks(&self, target: usize) -> Vec<Tick> {
        let values = match self.spacing {
            Spacing::Log => self.log_ticks(target),
            Spacing::Linear | Spacing::Whole => None,
        };
        match values {
            Some(values) => values.into_iter().map(log_tick).collect(),
            // Even steps crowd at the far end of a log axis.
            None if self.spacing == Spacing::Log => self.even_ticks(target * 2 / 3),
            None => self.even_ticks(target),
        }
    }

    fn even_ticks(&self, target: usize) -> Vec<Tick> {
        let mut step = nice_step((self.high - self.low) / target.max(1) as f64);
        if self.spacing == Spacing::Whole {
            step = step.max(1.0);
        }
        // The slack keeps an end that is a tick up to rounding.
        let largest = self.low.abs().max(self.high.abs());
        let first = (self.low / step - 1e-9).ceil() as i64;
        let last = (self.high / step + 1e-9).floor() as i64;
        (first..=last)
            .map(|n| n as f64 * step)
            .filter(|&v| self.spacing != Spacing::Log || v > 0.0)
            .map(|value| Tick {
                value,
                label: step_label(value, step, largest),
            })
            .collect()
    }

    /// Powers of ten, thinned when many, joined by 2 and 5 when few; `None` within a decade, where even steps say more.
    fn log_ticks(&self, target: usize) -> Option<Vec<f64>> {
        let decades = (self.high / self.low).log10();
        let stride = (decades / target.max(1) as f64).ceil().max(1.0) as i32;
        let digits: &[f64] = if decades * 3.0 <= target as f64 + 1.0 {
            &[1.0, 2.0, 5.0]
        } else {
            &[1.0]
        };
        let (first, last) = (self.low.log10().floor(), self.high.log10().ceil());
        let ticks: Vec<f64> = (first as i32..=last as i32)
            .filter(|exponent| exponent.rem_euclid(stride) == 0)
            .flat_map(|exponent| digits.iter().map(move |d| d * 10_f64.powi(exponent)))
            .filter(|v| (self.low * (1.0 - 1e-9)..=self.high * (1.0 + 1e-9)).contains(v))
            .collect();
        (decades >= 1.0 - 1e-9 && ticks.len() >= 2).then_some(ticks)
    }

    fn forward(&self, v: f64) -> f64 {
        if self.spacing == Spacing::Log {
            v.ln()
        } else {
            v
        }
    }

    fn backward(&self, v: f64) -> f64 {
        if self.spacing == Spacing::Log {
            v.exp()
        } else {
            v
        }
    }
}

/// 1, 2 or 5 times a power of ten, whichever is nearest to `raw` in ratio.
fn nice_step(raw: f64) -> f64 {
    let magnitude = 10_f64.powf(raw.log10().floor());
    let digit = match raw / magnitude {
        r if r < 2_f64.sqrt() => 1.0,
        r if r < 10_f64.sqrt() => 2.0,
        r if r < 50_f64.sqrt() => 5.0,
        _ => 10.0,
    };
    digit * magnitude
}

/// The digits a multiple of `step` needs, and no more, in the unit that suits the largest value.
fn step_label(value: f64, step: f64, largest: f64) -> String {
    let (scaled, scaled_step, suffix) = match largest {
        v if v >= 1e9 => (value / 1e9, step / 1e9, " G"),
        v if v >= 1e6 => (value / 1e6, step / 1e6, " M"),
        v if v >= 1e4 => (value / 1e3, step / 1e3, " k"),
        _ => (value, step, ""),
    };
    if value.abs() < step / 2.0 {
        return "0".to_owned();
    }
    if step < 1e-6 {
        return format!("{value:.1e}");
    }
    let decimals = (-scaled_step.log10() - 1e-9).ceil().clamp(0.0, 9.0) as usize;
    format!("{scaled:.decimals$}{suffix}")
}

fn log_tick(value: f64) -> Tick {
    Tick {
        value,
        label: format::compact(value),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(spacing: Spacing, low: f64, high: f64, target: usize) -> Vec<String> {
        let scale = Scale::fit(spacing, [low, high]).unwrap();
        scale.ticks(target).into_iter().map(|t| t.label).collect()
    }

    #[test]
    fn linear_ticks_are_round_and_inside() {
        assert_eq!(
            labels(Spacing::Linear, 0.0, 1.0, 5),
            ["0", "0.2", "0.4", "0.6", "0.8", "1.0"]
        );
        assert_eq!(
            labels(Spacing::Linear, 0.131, 0.187, 5),
            ["0.14", "0.15", "0.16", "0.17", "0.18"]
        );
        assert_eq!(
            labels(Spacing::Linear, 1.2e6, 2.9e6, 4),
            ["1.5 M", "2.0 M", "2.5 M"]
        );
        assert_eq!(
            labels(Spacing::Linear, 0.6e6, 1.0e6, 2),
            ["0.6 M", "0.8 M", "1.0 M"]
        );
    }

    #[test]
    fn whole_ticks_never_fall_between_numbers() {
        assert_eq!(labels(Spacing::Whole, 1.0, 3.0, 8), ["1", "2", "3"]);
        assert_eq!(labels(Spacing::Whole, 4.0, 4.0, 8), ["3", "4", "5"]);
    }

    #[test]
    fn log_ticks_are_powers_of_ten_or_finer() {
        assert_eq!(
            labels(Spacing::Log, 1.0, 1e4, 6),
            ["1", "10", "100", "1 k", "10 k"]
        );
        assert_eq!(labels(Spacing::Log, 1.0, 10.0, 6), ["1", "2", "5", "10"]);
        assert!(labels(Spacing::Log, 1e-8, 1e8, 6).len() <= 7);
        assert!(labels(Spacing::Log, 3.1, 3.9, 5).len() >= 2);
    }

    #[test]
    fn ticks_that_would_touch_are_left_out() {
        let ticks = |target| {
            Scale::fit(Spacing::Linear, [0.0, 100.0])
                .unwrap()
                .ticks(target)
        };
        let values = |ticks: Vec<Tick>| -> Vec<f64> { ticks.iter().map(|t| t.value).collect() };
        let ten = apart(ticks(10), |tick| tick.value, |_| 15.0);
        assert_eq!(values(ten), [0.0, 20.0, 40.0, 60.0, 80.0, 100.0]);
        let down = apart(ticks(5), |tick| -tick.value, |_| 20.0);
        assert_eq!(values(down), [0.0, 20.0, 40.0, 60.0, 80.0, 100.0]);
    }

    #[test]
    fn only_drawable_values_count() {
        assert!(Scale::fit(Spacing::Log, [0.0, -1.0, f64::NAN]).is_none());
        let scale = Scale::fit(Spacing::Linear, [f64::NAN, 1.0, 3.0]).unwrap();
        assert!((scale.fraction(2.0) - 0.5).abs() < 1e-12);
    }

    #[test]
    fn a_single_value_lies_in_the_middle() {
        for spacing in [Spacing::Linear, Spacing::Whole, Spacing::Log] {
            let scale = Scale::fit(spacing, [7.0]).unwrap();
            assert!((scale.fraction(7.0) - 0.5).abs() < 1e-12);
        }
    }

    #[test]
    fn padding_is_even_on_a_log_axis() {
        let scale = Scale::fit(Spacing::Log, [1.0, 100.0]).unwrap().padded(0.5);
        assert!((scale.fraction(1.0) - 0.25).abs() < 1e-12);
        assert!((scale.fraction(100.0) - 0.75).abs() < 1e-12);
    }
}
