//! Points in the plane, each with a name and optional error bars.

use std::fmt::Write as _;

use super::axis::ChartAxis;
use super::escape::{escape, shorten};
use super::frame::{Frame, Size, nothing, svg};
use super::marks;
use crate::format;

const CHARACTER: f64 = 6.6;
const LINE: f64 = 15.0;
/// Characters of a name; the tooltip has the rest.
const LONGEST: usize = 36;

/// One point of a scatter chart.
#[derive(Clone, Debug)]
pub struct Point {
    at: (f64, f64),
    half: (f64, f64),
    label: String,
    /// Whether the name is drawn, not only shown under the pointer.
    is_drawn: bool,
}

impl Point {
    /// A point without a name.
    #[must_use]
    pub fn new(x: f64, y: f64) -> Self {
        Self {
            at: (x, y),
            half: (0.0, 0.0),
            label: String::new(),
            is_drawn: false,
        }
    }

    /// Names the point; the name is drawn where there is room, and is always in the tooltip.
    #[must_use]
    pub fn label(mut self, label: impl Into<String>) -> Self {
        self.label = label.into();
        self.is_drawn = true;
        self
    }

    /// Names the point in its tooltip alone.
    #[must_use]
    pub fn tooltip(mut self, name: impl Into<String>) -> Self {
        self.label = name.into();
        self
    }

    /// Half-widths of the error bars; zero draws none.
    #[must_use]
    pub fn errors(mut self, x: f64, y: f64) -> Self {
        self.half = (x, y);
        self
    }

    fn ends(&self) -> [(f64, f64); 2] {
        let [x, y] = [self.half.0, self.half.1].map(|h| if h.is_finite() { h } else { 0.0 });
        [
            (self.at.0 - x, self.at.1 - y),
            (self.at.0 + x, self.at.1 + y),
        ]
    }
}

#[derive(Clone, Debug)]
struct PointSet {
    name: String,
    points: Vec<Point>,
}

/// Groups of points with a legend.
#[derive(Clone, Debug)]
pub struct ScatterChart {
    title: String,
    x: ChartAxis,
    y: ChartAxis,
    series: Vec<PointSet>,
}

impl ScatterChart {
    /// A chart without points.
    pub fn new(title: impl Into<String>, x: ChartAxis, y: ChartAxis) -> Self {
        Self {
            title: title.into(),
            x,
            y,
            series: Vec::new(),
        }
    }

    /// Adds a group of points in one colour.
    #[must_use]
    pub fn series(
        mut self,
        name: impl Into<String>,
        points: impl IntoIterator<Item = Point>,
    ) -> Self {
        self.series.push(PointSet {
            name: name.into(),
            points: points.into_iter().collect(),
        });
        self
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
        let mut drawn = Vec::new();
        for (n, series) in self.series.iter().enumerate() {
            let shown = series.points.iter().filter(|p| frame.holds(p.at));
            for point in shown {
                parts.push_str(&self.point(n, &series.name, point, &frame));
                drawn.push(point);
            }
        }
        parts.push_str(&labels(drawn, &frame));
        svg(size, &self.title, &parts)
    }

    fn frame(&self, size: Size) -> Option<Frame> {
        let shown = || {
            let points = self.series.iter().flat_map(|s| &s.points);
            points.filter(|p| self.x.can_draw(p.at.0) && self.y.can_draw(p.at.1))
        };
        // An error bar that reaches a place a log axis does not have is cut, and must not decide its extent.
        let ends = || shown().flat_map(|p| [p.at].into_iter().chain(p.ends()));
        let x = self.x.fit(ends().map(|p| p.0))?.padded(0.06);
        let y = self.y.fit(ends().map(|p| p.1))?.padded(0.1);
        Some(Frame::new(size, x, y))
    }

    fn point(&self, n: usize, series: &str, point: &Point, frame: &Frame) -> String {
        let at = (frame.x(point.at.0), frame.y(point.at.1));
        let name = if point.label.is_empty() {
            series
        } else {
            &point.label
        };
        let tooltip = format!(
            "{name}\n{} {}\n{} {}",
            self.x.label(),
            value(point.at.0, point.half.0),
            self.y.label(),
            value(point.at.1, point.half.1)
        );
        error_bars(n, point, frame) + &marks::point(n, at, 5.0, &tooltip)
    }
}

fn value(v: f64, half: f64) -> String {
    let text = format::significant(v, 5);
    if half > 0.0 {
        format!("{text} ± {}", format::significant(half, 2))
    } else {
        text
    }
}

fn error_bars(n: usize, point: &Point, frame: &Frame) -> String {
    let [low, high] = point.ends();
    let (x, y) = (frame.x(point.at.0), frame.y(point.at.1));
    let mut path = String::new();
    if point.half.0 > 0.0 {
        let from = low_end(frame.x(low.0), frame.left);
        let _ = write!(path, "M{from:.1} {y:.1}H{:.1}", frame.x(high.0));
    }
    if point.half.1 > 0.0 {
        let from = low_end(frame.y(low.1), frame.bottom);
        let _ = write!(path, "M{x:.1} {from:.1}V{:.1}", frame.y(high.1));
    }
    if path.is_empty() {
        return path;
    }
    let class = marks::class(n);
    format!("<path class=\"error stroke {class}\" d=\"{path}\"/>")
}

/// A value that a log axis cannot show is drawn at the edge of the frame.
fn low_end(place: f64, edge: f64) -> f64 {
    if place.is_finite() { place } else { edge }
}

/// Labels from right to left: those near the right edge have the fewest free places.
fn labels(mut points: Vec<&Point>, frame: &Frame) -> String {
    points.sort_by(|a, b| b.at.0.total_cmp(&a.at.0));
    let mut labels = Labels::default();
    for point in points {
        labels.add(point, frame);
    }
    labels.svg
}

/// Labels next to points, left out where they would overlap.
#[derive(Default)]
struct Labels {
    taken: Vec<(f64, f64, f64)>,
    svg: String,
}

impl Labels {
    /// Names a point at the first of its four corners where there is room.
    fn add(&mut self, point: &Point, frame: &Frame) {
        if !point.is_drawn {
            return;
        }
        let label = shorten(&point.label, LONGEST);
        let width = label.chars().count() as f64 * CHARACTER;
        let (x, y) = (frame.x(point.at.0), frame.y(point.at.1));
        let corners = [(9.0, -9.0), (-9.0, -9.0), (9.0, 18.0), (-9.0, 18.0)];
        let free = corners.into_iter().find(|(dx, dy)| {
            let left = if *dx > 0.0 { x + dx } else { x + dx - width };
            let inside = left >= frame.left && left + width <= frame.right;
            inside && self.is_free(left, y + dy, width)
        });
        if let Some((dx, dy)) = free {
            self.draw(&label, (x + dx, y + dy), (dx > 0.0, width));
        }
    }

    fn draw(&mut self, label: &str, (x, y): (f64, f64), (on_right, width): (bool, f64)) {
        let (left, anchor) = if on_right {
            (x, "start")
        } else {
            (x - width, "end")
        };
        self.taken.push((left, y, width));
        let _ = write!(
            self.svg,
            "<text class=\"label\" x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\">{}</text>",
            escape(label)
        );
    }

    fn is_free(&self, left: f64, y: f64, width: f64) -> bool {
        self.taken.iter().all(|&(other, at, wide)| {
            left > other + wide || other > left + width || (y - at).abs() > LINE
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::frame::WIDE;
    use super::*;

    fn chart(x: ChartAxis, points: impl IntoIterator<Item = Point>) -> String {
        let chart = ScatterChart::new("t", x, ChartAxis::linear("y"));
        chart.series("models", points).draw(WIDE)
    }

    #[test]
    fn error_bars_are_drawn_where_given() {
        let points = [
            Point::new(1.0, 2.0).errors(0.1, 0.2).label("a&b"),
            Point::new(3.0, 1.0),
        ];
        let text = chart(ChartAxis::linear("x"), points);
        assert_eq!(text.matches("error stroke").count(), 1);
        assert!(text.contains("a&amp;b") && text.contains("1 ± 0.1"));
    }

    #[test]
    fn an_error_bar_below_zero_stays_on_a_log_axis() {
        let text = chart(ChartAxis::log("x"), [Point::new(1.0, 2.0).errors(5.0, 0.0)]);
        assert!(!text.contains("NaN") && !text.contains("inf"));
        assert!(text.contains("error stroke"));
    }

    #[test]
    fn names_do_not_cover_one_another() {
        let points = (0..20).map(|_| Point::new(1.0, 1.0).label("same place"));
        let text = chart(ChartAxis::linear("x"), points);
        assert!(text.matches("class=\"label\"").count() <= 4);
        assert_eq!(text.matches("mark point").count(), 20);
    }

    #[test]
    fn a_name_for_the_tooltip_is_not_drawn() {
        let text = chart(
            ChartAxis::linear("x"),
            [Point::new(1.0, 1.0).tooltip("trial 7")],
        );
        assert!(text.contains("<title>trial 7"), "{text}");
        assert!(!text.contains("class=\"label\""), "{text}");
    }

    #[test]
    fn no_values_is_no_panic() {
        assert!(chart(ChartAxis::linear("x"), []).contains("no values"));
        assert!(chart(ChartAxis::log("x"), [Point::new(-1.0, 1.0)]).contains("no values"));
    }
}
