//! Curves: several series over a common x axis.

use std::fmt::Write as _;

use super::axis::ChartAxis;
use super::frame::{Frame, Size, nothing, svg};
use super::marks;
use crate::format;

/// Longer curves show only some of their points; the others appear under the pointer.
const MOST_POINTS_SHOWN: usize = 20;

#[derive(Clone, Debug)]
struct Curve {
    name: String,
    points: Vec<(f64, f64)>,
}

/// Curves with a legend and a tooltip at every point.
#[derive(Clone, Debug)]
pub struct LineChart {
    title: String,
    x: ChartAxis,
    y: ChartAxis,
    series: Vec<Curve>,
}

impl LineChart {
    /// A chart without curves.
    pub fn new(title: impl Into<String>, x: ChartAxis, y: ChartAxis) -> Self {
        Self {
            title: title.into(),
            x,
            y,
            series: Vec::new(),
        }
    }

    /// Adds a curve through `points`, which are `(x, y)`; one that cannot be drawn leaves a gap.
    #[must_use]
    pub fn series(mut self, name: impl Into<String>, points: &[(f64, f64)]) -> Self {
        self.series.push(Curve {
            name: name.into(),
            points: points.to_vec(),
        });
        self
    }

    /// Adds a curve with one value per sweep, the first at 1.
    #[must_use]
    pub fn curve(self, name: impl Into<String>, values: &[f64]) -> Self {
        let points: Vec<(f64, f64)> = (1..).map(f64::from).zip(values.iter().copied()).collect();
        self.series(name, &points)
    }

    pub(super) fn title(&self) -> &str {
        &self.title
    }

    pub(super) fn legend(&self) -> String {
        marks::legend(self.series.iter().map(|s| s.name.as_str()))
    }

    pub(super) fn draw(&self, size: Size) -> String {
        let Some(frame) = self.frame(size) else {
            return nothing(size, &self.title);
        };
        let mut parts = frame.draw(&self.x, &self.y);
        for (n, series) in self.series.iter().enumerate() {
            parts.push_str(&line(n, series, &frame));
        }
        // All points are drawn over all lines, so that every tooltip can be reached.
        for (n, series) in self.series.iter().enumerate() {
            parts.push_str(&self.points(n, series, &frame));
        }
        svg(size, &self.title, &parts)
    }

    fn frame(&self, size: Size) -> Option<Frame> {
        let shown = || {
            let points = self.series.iter().flat_map(|s| &s.points);
            points.filter(|p| self.x.can_draw(p.0) && self.y.can_draw(p.1))
        };
        let x = self.x.fit(shown().map(|p| p.0))?;
        let y = self.y.fit(shown().map(|p| p.1))?.padded(0.06);
        Some(Frame::new(size, x, y))
    }

    fn points(&self, n: usize, series: &Curve, frame: &Frame) -> String {
        let stride = series.points.len().div_ceil(MOST_POINTS_SHOWN);
        let several = self.series.len() > 1;
        let shown = series.points.iter().enumerate();
        let shown = shown.filter(|(_, p)| frame.holds(**p));
        shown
            .map(|(place, &(x, y))| {
                let at = (frame.x(x), frame.y(y));
                let tooltip = self.tooltip(&series.name, x, y);
                // Neighbouring series show different points, so that close curves can be distinguished.
                if stride == 1 || (several && (place + n).is_multiple_of(stride)) {
                    marks::point(n, at, 3.4, &tooltip)
                } else {
                    marks::target(n, at, &tooltip)
                }
            })
            .collect()
    }

    fn tooltip(&self, name: &str, x: f64, y: f64) -> String {
        format!(
            "{name}\n{} {}\n{} {}",
            self.x.label(),
            format::significant(x, 6),
            self.y.label(),
            format::significant(y, 6)
        )
    }
}

fn line(n: usize, series: &Curve, frame: &Frame) -> String {
    let mut path = String::new();
    let mut pen = 'M';
    for &(x, y) in &series.points {
        if frame.holds((x, y)) {
            let _ = write!(path, "{pen}{:.1} {:.1}", frame.x(x), frame.y(y));
            pen = 'L';
        } else {
            pen = 'M';
        }
    }
    let class = marks::class(n);
    format!("<path class=\"line stroke {class}\" d=\"{path}\"/>")
}

#[cfg(test)]
mod tests {
    use super::super::frame::WIDE;
    use super::*;

    fn chart() -> LineChart {
        LineChart::new(
            "Objective",
            ChartAxis::whole("sweep"),
            ChartAxis::log("value"),
        )
    }

    #[test]
    fn a_gap_lifts_the_pen() {
        let text = chart().curve("a", &[4.0, -1.0, 2.0, 1.0]).draw(WIDE);
        let path = text.split("line stroke").nth(1).unwrap();
        let path = path.split("/>").next().unwrap();
        assert_eq!(
            (path.matches('M').count(), path.matches('L').count()),
            (2, 1)
        );
        assert_eq!(text.matches("<title>").count(), 3);
    }

    #[test]
    fn long_curves_hide_most_of_their_points() {
        let values: Vec<f64> = (1..100).map(f64::from).collect();
        let alone = chart().curve("a", &values);
        assert_eq!(alone.draw(WIDE).matches("mark target").count(), 99);
        let text = alone.curve("b", &values).draw(WIDE);
        assert_eq!(text.matches("mark point").count(), 39);
        assert_eq!(text.matches("mark target").count(), 159);
    }

    #[test]
    fn no_values_is_no_panic() {
        assert!(chart().draw(WIDE).contains("no values"));
        assert!(
            chart()
                .curve("a", &[f64::NAN])
                .draw(WIDE)
                .contains("no values")
        );
    }
}
