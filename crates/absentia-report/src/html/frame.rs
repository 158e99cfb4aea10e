//! The plot area of a chart: margins, grid, ticks and axis labels.

use std::fmt::Write as _;

use super::axis::ChartAxis;
use super::escape::escape;
use crate::scale::{Scale, Tick, apart};

/// Estimated width of a character of tick text.
const CHARACTER: f64 = 6.8;
/// Height of a line of tick text.
const LINE: f64 = 15.0;
const TOP: f64 = 30.0;
const RIGHT: f64 = 18.0;
const BOTTOM: f64 = 46.0;

/// Width and height of a drawing, in units that are pixels on a wide page.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Size {
    pub(super) width: f64,
    pub(super) height: f64,
}

/// A chart that takes the whole width of the page.
pub(super) const WIDE: Size = Size {
    width: 920.0,
    height: 360.0,
};
/// One of several charts in a row.
pub(super) const SMALL: Size = Size {
    width: 440.0,
    height: 264.0,
};

/// Two scales with their place on the drawing.
pub(super) struct Frame {
    pub(super) left: f64,
    pub(super) right: f64,
    pub(super) top: f64,
    pub(super) bottom: f64,
    x: Scale,
    y: Scale,
    x_ticks: Vec<Tick>,
    y_ticks: Vec<Tick>,
}

impl Frame {
    /// A frame with room for the labels of its ticks.
    pub(super) fn new(size: Size, x: Scale, y: Scale) -> Self {
        let bottom = size.height - BOTTOM;
        let down = |tick: &Tick| y.fraction(tick.value) * (bottom - TOP);
        let y_ticks = y.ticks(((bottom - TOP) / 40.0).round() as usize);
        let y_ticks = apart(y_ticks, down, |_| LINE);
        let widest = y_ticks.iter().map(|t| t.label.chars().count()).max();
        let left = 14.0 + CHARACTER * widest.unwrap_or(1) as f64;
        let right = size.width - RIGHT;
        let across = |tick: &Tick| x.fraction(tick.value) * (right - left);
        let x_ticks = x.ticks(((right - left) / 90.0) as usize);
        Self {
            left,
            right,
            top: TOP,
            bottom,
            x,
            y,
            x_ticks: apart(x_ticks, across, |tick| width(tick) + CHARACTER),
            y_ticks,
        }
    }

    /// Horizontal place of a value; beyond the frame it is held at its edge.
    pub(super) fn x(&self, v: f64) -> f64 {
        self.left + self.x.fraction(v).clamp(0.0, 1.0) * (self.right - self.left)
    }

    /// Vertical place of a value; beyond the frame it is held at its edge.
    pub(super) fn y(&self, v: f64) -> f64 {
        self.bottom - self.y.fraction(v).clamp(0.0, 1.0) * (self.bottom - self.top)
    }

    /// Whether the point has a place.
    pub(super) fn holds(&self, (x, y): (f64, f64)) -> bool {
        self.x.can_draw(x) && self.y.can_draw(y)
    }

    /// Grid, ticks and labels, to be drawn under the data.
    pub(super) fn draw(&self, x: &ChartAxis, y: &ChartAxis) -> String {
        let mut svg = String::from("<g class=\"axes\">");
        for tick in &self.y_ticks {
            svg.push_str(&self.y_tick(tick));
        }
        for tick in &self.x_ticks {
            svg.push_str(&self.x_tick(tick));
        }
        svg.push_str(&self.base_line());
        svg.push_str(&self.labels(x, y));
        svg + "</g>"
    }

    fn y_tick(&self, tick: &Tick) -> String {
        let (y, text) = (self.y(tick.value), escape(&tick.label));
        format!(
            "<path class=\"grid\" d=\"M{:.1} {y:.1}H{:.1}\"/>\
             <text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{text}</text>",
            self.left,
            self.right,
            self.left - 8.0,
            y + 4.0
        )
    }

    fn x_tick(&self, tick: &Tick) -> String {
        let (x, text) = (self.x(tick.value), escape(&tick.label));
        // The last label must not reach beyond the drawing.
        let middle = x.min(self.right + RIGHT - width(tick) / 2.0);
        format!(
            "<path class=\"tick\" d=\"M{x:.1} {:.1}v5\"/>\
             <text x=\"{middle:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{text}</text>",
            self.bottom,
            self.bottom + 19.0
        )
    }

    fn base_line(&self) -> String {
        format!(
            "<path class=\"base\" d=\"M{:.1} {:.1}H{:.1}\"/>",
            self.left, self.bottom, self.right
        )
    }

    /// The name of the y axis is written horizontally above it, which is easier to read than vertical text.
    fn labels(&self, x: &ChartAxis, y: &ChartAxis) -> String {
        let mut svg = String::new();
        let _ = write!(
            svg,
            "<text class=\"name\" x=\"0\" y=\"12\">{}</text>",
            escape(y.label())
        );
        let _ = write!(
            svg,
            "<text class=\"name\" x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{}</text>",
            f64::midpoint(self.left, self.right),
            self.bottom + 40.0,
            escape(x.label())
        );
        svg
    }
}

/// Estimated width of the label of a tick.
pub(super) fn width(tick: &Tick) -> f64 {
    CHARACTER * tick.label.chars().count() as f64
}

/// A drawing of the given size around its parts, named for readers who do not see it.
pub(super) fn svg(size: Size, name: &str, parts: &str) -> String {
    format!(
        "<svg viewBox=\"0 0 {} {}\" role=\"img\" aria-label=\"{}\">{parts}</svg>",
        size.width,
        size.height,
        escape(name)
    )
}

/// The text that replaces a chart without any value to show.
pub(super) fn nothing(size: Size, name: &str) -> String {
    let text = format!(
        "<text class=\"name\" x=\"{}\" y=\"{}\" text-anchor=\"middle\">no values to draw</text>",
        size.width / 2.0,
        size.height / 2.0
    );
    svg(size, name, &text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scale::Spacing;

    #[test]
    fn ends_of_the_scales_are_corners_of_the_frame() {
        let scale = Scale::fit(Spacing::Linear, [0.0, 10.0]).unwrap();
        let frame = Frame::new(WIDE, scale, scale);
        assert!((frame.x(0.0) - frame.left).abs() < 1e-9);
        assert!((frame.y(10.0) - frame.top).abs() < 1e-9);
        assert!((frame.y(99.0) - frame.top).abs() < 1e-9);
    }

    /// On every kind of axis, over ranges of all sizes, no label of a tick covers another.
    #[test]
    fn labels_of_ticks_do_not_touch() {
        for spacing in [Spacing::Linear, Spacing::Whole, Spacing::Log] {
            for low in [1e-7, 0.0123, 1.0, 7.0, 990.0, 123_456.0] {
                for ratio in [1.0001, 1.3, 3.0, 9.0, 40.0, 1e4, 1e9] {
                    for size in [WIDE, SMALL] {
                        let scale = Scale::fit(spacing, [low, low * ratio]).unwrap();
                        let frame = Frame::new(size, scale, scale);
                        for pair in frame.x_ticks.windows(2) {
                            let [a, b] = [&pair[0], &pair[1]].map(|t| (frame.x(t.value), width(t)));
                            assert!(
                                a.0 + a.1 / 2.0 < b.0 - b.1 / 2.0,
                                "{spacing:?} {low} {ratio}"
                            );
                        }
                        for pair in frame.y_ticks.windows(2) {
                            let gap = frame.y(pair[0].value) - frame.y(pair[1].value);
                            assert!(gap > LINE - 0.1, "{spacing:?} {low} {ratio}");
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn axis_names_are_escaped() {
        let scale = Scale::fit(Spacing::Linear, [0.0, 1.0]).unwrap();
        let frame = Frame::new(SMALL, scale, scale);
        let text = frame.draw(&ChartAxis::linear("a<b"), &ChartAxis::linear("c&d"));
        assert!(text.contains("a&lt;b") && text.contains("c&amp;d"));
    }
}
