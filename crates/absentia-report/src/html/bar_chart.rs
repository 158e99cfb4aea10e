//! Horizontal bars from zero, with confidence whiskers.

use super::escape::{escape, shorten};
use super::frame::{Size, nothing, svg, width};
use super::marks;
use crate::format;
use crate::scale::{Scale, Spacing, apart};

const ROW: f64 = 34.0;
const THICKNESS: f64 = 18.0;
const TOP: f64 = 4.0;
const BOTTOM: f64 = 30.0;
const CHARACTER: f64 = 6.9;

#[derive(Clone, Debug)]
struct LabelledBar {
    label: String,
    value: f64,
    half: Option<f64>,
    /// What stands beside the bar, if it is not the value to four digits.
    text: Option<String>,
}

/// One bar per label; the length is the value, the whisker its confidence interval.
#[derive(Clone, Debug)]
pub struct BarChart {
    title: String,
    bars: Vec<LabelledBar>,
}

impl BarChart {
    /// A chart without bars; the title names the quantity.
    pub fn new(title: impl Into<String>) -> Self {
        Self {
            title: title.into(),
            bars: Vec::new(),
        }
    }

    /// Adds a bar without an interval.
    #[must_use]
    pub fn bar(mut self, label: impl Into<String>, value: f64) -> Self {
        self.bars.push(LabelledBar {
            label: label.into(),
            value,
            half: None,
            text: None,
        });
        self
    }

    /// Adds a bar whose interval reaches `half` to both sides.
    #[must_use]
    pub fn interval(mut self, label: impl Into<String>, value: f64, half: f64) -> Self {
        self.bars.push(LabelledBar {
            label: label.into(),
            value,
            half: Some(half).filter(|h| h.is_finite()),
            text: None,
        });
        self
    }

    /// Writes the value of the last bar in these words.
    #[must_use]
    pub fn text(mut self, text: impl Into<String>) -> Self {
        if let Some(bar) = self.bars.last_mut() {
            bar.text = Some(text.into());
        }
        self
    }

    pub(super) fn title(&self) -> &str {
        &self.title
    }

    /// Bars keep their thickness, so the height follows from their number and only the width is taken.
    pub(super) fn draw(&self, size: Size) -> String {
        let height = TOP + ROW * self.bars.len() as f64 + BOTTOM;
        let size = Size { height, ..size };
        let Some(layout) = self.layout(size.width) else {
            return nothing(size, &self.title);
        };
        let mut parts = layout.grid(height - BOTTOM);
        for (n, bar) in self.bars.iter().enumerate() {
            parts.push_str(&layout.bar(bar, TOP + ROW * (n as f64 + 0.5)));
        }
        svg(size, &self.title, &parts)
    }

    fn layout(&self, width: f64) -> Option<Layout> {
        let ends = self.bars.iter().flat_map(LabelledBar::ends);
        if !ends.clone().any(f64::is_finite) {
            return None;
        }
        let scale = Scale::fit(Spacing::Linear, ends.chain([0.0]))?;
        let longest = self.bars.iter().map(|b| b.label.chars().count()).max()?;
        let letters = longest.min((width * 0.36 / CHARACTER) as usize);
        let texts = self.bars.iter().map(|b| b.text().chars().count()).max()?;
        Some(Layout {
            scale,
            letters,
            left: 14.0 + letters as f64 * CHARACTER,
            right: width - 22.0 - texts as f64 * CHARACTER,
            width,
        })
    }
}

impl LabelledBar {
    fn ends(&self) -> [f64; 2] {
        let half = self.half.unwrap_or(0.0);
        [self.value - half, self.value + half]
    }

    fn text(&self) -> String {
        match (&self.text, self.half) {
            (Some(text), _) => text.clone(),
            (None, Some(half)) => format::mean(self.value, half),
            (None, None) => format::significant(self.value, 4),
        }
    }
}

/// Columns of labels, bars and values.
struct Layout {
    scale: Scale,
    letters: usize,
    left: f64,
    right: f64,
    width: f64,
}

impl Layout {
    fn x(&self, v: f64) -> f64 {
        self.left + self.scale.fraction(v) * (self.right - self.left)
    }

    fn grid(&self, bottom: f64) -> String {
        let ticks = self.scale.ticks(((self.right - self.left) / 90.0) as usize);
        let ticks = apart(
            ticks,
            |tick| self.x(tick.value),
            |tick| width(tick) + CHARACTER,
        );
        let lines = ticks.iter().map(|tick| {
            let (x, text) = (self.x(tick.value), escape(&tick.label));
            format!(
                "<path class=\"grid\" d=\"M{x:.1} {TOP}V{bottom:.1}\"/>\
                 <text x=\"{x:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{text}</text>",
                bottom + 19.0
            )
        });
        let zero = format!(
            "<path class=\"base\" d=\"M{:.1} {TOP}V{bottom:.1}\"/>",
            self.x(0.0)
        );
        format!("<g class=\"axes\">{}{zero}</g>", lines.collect::<String>())
    }

    fn bar(&self, bar: &LabelledBar, middle: f64) -> String {
        let label = format!(
            "<text class=\"label\" x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>",
            self.left - 10.0,
            middle + 4.0,
            escape(&shorten(&bar.label, self.letters))
        );
        let value = format!(
            "<text class=\"value\" x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>",
            self.width,
            middle + 4.0,
            escape(&bar.text())
        );
        let tooltip = format!("{}\n{}", bar.label, bar.text());
        let drawing = self.block(bar, middle) + &self.whisker(bar, middle);
        label + &marks::marked(0, "bar", &tooltip, &drawing) + &value
    }

    fn block(&self, bar: &LabelledBar, middle: f64) -> String {
        if !bar.value.is_finite() {
            return String::new();
        }
        let (zero, end) = (self.x(0.0), self.x(bar.value));
        format!(
            "<path class=\"fill\" d=\"M{zero:.1} {:.1}H{end:.1}V{:.1}H{zero:.1}Z\"/>",
            middle - THICKNESS / 2.0,
            middle + THICKNESS / 2.0
        )
    }

    fn whisker(&self, bar: &LabelledBar, middle: f64) -> String {
        if bar.half.is_none() || !bar.value.is_finite() {
            return String::new();
        }
        let [low, high] = bar.ends().map(|v| self.x(v));
        format!(
            "<path class=\"whisker\" d=\"M{low:.1} {middle:.1}H{high:.1}\
             M{low:.1} {:.1}v8M{high:.1} {:.1}v8\"/>",
            middle - 4.0,
            middle - 4.0
        )
    }
}

#[cfg(test)]
mod tests {
    use super::super::frame::WIDE;
    use super::*;

    #[test]
    fn every_interval_has_a_whisker() {
        let chart = BarChart::new("ndcg@10")
            .interval("a<b", 0.17, 0.002)
            .interval("nan", 0.2, f64::NAN)
            .bar("plain", 0.1);
        let text = chart.draw(WIDE);
        assert_eq!(text.matches("whisker").count(), 1);
        assert_eq!(text.matches("mark bar").count(), 3);
        assert!(text.contains("a&lt;b") && !text.contains("NaN"));
    }

    #[test]
    fn a_bar_says_its_value_in_the_words_given() {
        let text = BarChart::new("share")
            .bar("a", 12.345)
            .text("12.3 %")
            .draw(WIDE);
        assert!(
            text.contains(">12.3 %</text>") && !text.contains("12.34"),
            "{text}"
        );
    }

    #[test]
    fn bars_start_at_zero_and_may_be_negative() {
        let chart = BarChart::new("difference")
            .bar("worse", -0.1)
            .bar("better", 0.3);
        let layout = chart.layout(920.0).unwrap();
        assert!(layout.x(0.0) > layout.left && layout.x(0.3) <= layout.right);
        let positive = BarChart::new("x").bar("a", 5.0).layout(920.0).unwrap();
        assert!((positive.x(0.0) - positive.left).abs() < 1e-9);
    }

    #[test]
    fn no_values_is_no_panic() {
        assert!(BarChart::new("x").draw(WIDE).contains("no values"));
        assert!(
            BarChart::new("x")
                .bar("a", f64::NAN)
                .draw(WIDE)
                .contains("no values")
        );
        assert!(
            BarChart::new("x")
                .bar("a", 0.0)
                .draw(WIDE)
                .contains("mark bar")
        );
    }
}
