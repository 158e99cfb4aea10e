//! Parallel coordinates: one upright axis per quantity, one line per run through its values.

use std::fmt::Write as _;

use super::axis::ChartAxis;
use super::escape::{escape, shorten};
use super::frame::{Size, nothing, svg};
use super::marks;
use crate::scale::{Scale, Tick, apart};

const TOP: f64 = 52.0;
const BOTTOM: f64 = 16.0;
const SIDE: f64 = 54.0;
/// Most room to the left of the first axis, for the names of its places.
const WIDEST: f64 = 140.0;
/// Height of a line of text, and the room between an axis and its labels.
const LINE: f64 = 15.0;
const GAP: f64 = 6.0;
/// Ticks of an axis, and characters of its name per unit of room.
const TICKS: usize = 5;
const PER_CHARACTER: f64 = 6.6;

/// What an upright axis shows.
#[derive(Clone, Debug)]
enum Values {
    Numbers(ChartAxis),
    /// Places 0, 1, 2, … with names of their own.
    Names(String, Vec<String>),
}

#[derive(Clone, Debug)]
struct TrialLine {
    label: String,
    values: Vec<f64>,
}

/// Lines through vertical axes; the best ones are highlighted.
#[derive(Clone, Debug)]
pub struct ParallelChart {
    title: String,
    axes: Vec<Values>,
    lines: Vec<TrialLine>,
}

impl ParallelChart {
    /// A chart without axes.
    pub fn new(title: impl Into<String>) -> Self {
        Self {
            title: title.into(),
            axes: Vec::new(),
            lines: Vec::new(),
        }
    }

    /// Adds an axis of numbers to the right of those before.
    #[must_use]
    pub fn axis(mut self, axis: ChartAxis) -> Self {
        self.axes.push(Values::Numbers(axis));
        self
    }

    /// Adds an axis of named places; values are 0 for the first name, 1 for the second, and so on.
    #[must_use]
    pub fn names<T: Into<String>>(
        mut self,
        label: impl Into<String>,
        names: impl IntoIterator<Item = T>,
    ) -> Self {
        let names = names.into_iter().map(Into::into).collect();
        self.axes.push(Values::Names(label.into(), names));
        self
    }

    /// Adds a line through one value per axis, the best line first; a value that has no place on
    /// its axis leaves a gap.
    #[must_use]
    pub fn line(mut self, label: impl Into<String>, values: &[f64]) -> Self {
        self.lines.push(TrialLine {
            label: label.into(),
            values: values.to_vec(),
        });
        self
    }

    pub(super) fn title(&self) -> &str {
        &self.title
    }

    pub(super) fn draw(&self, size: Size) -> String {
        let columns: Vec<ParallelAxis<'_>> = (0..self.axes.len())
            .filter_map(|at| self.column(at, size))
            .collect();
        if columns.len() < self.axes.len() || columns.len() < 2 || self.lines.is_empty() {
            return nothing(size, &self.title);
        }
        let room = columns[1].x - columns[0].x;
        let mut parts = String::new();
        for (at, column) in columns.iter().enumerate() {
            parts.push_str(&column.draw(at, room, columns.len()));
        }
        // The best line is drawn last, over the others.
        for (rank, line) in self.lines.iter().enumerate().rev() {
            parts.push_str(&self.path(rank, line, &columns));
        }
        svg(size, &self.title, &parts)
    }

    fn column(&self, at: usize, size: Size) -> Option<ParallelAxis<'_>> {
        let values = self
            .lines
            .iter()
            .filter_map(|line| line.values.get(at))
            .copied();
        let (name, scale, ticks) = match &self.axes[at] {
            Values::Numbers(axis) => {
                let scale = axis.fit(values)?;
                (axis.label(), scale, scale.ticks(TICKS))
            }
            Values::Names(label, names) => {
                let last = names.len().saturating_sub(1) as f64;
                let ticks = names.iter().enumerate().map(|(place, name)| Tick {
                    value: place as f64,
                    label: name.clone(),
                });
                let scale = ChartAxis::whole(label.as_str()).fit([0.0, last])?;
                (label.as_str(), scale, ticks.collect())
            }
        };
        let (left, bottom) = (self.left(), size.height - BOTTOM);
        let room = (size.width - left - SIDE) / (self.axes.len().max(2) - 1) as f64;
        let up = |tick: &Tick| scale.fraction(tick.value) * (bottom - TOP);
        Some(ParallelAxis {
            name,
            scale,
            names: ticks.clone(),
            ticks: apart(ticks, up, |_| LINE),
            x: left + at as f64 * room,
            labels: if at == 0 { left } else { room } - GAP - PER_CHARACTER,
            bottom,
        })
    }

    /// The room to the left of the first axis: what the names of its places need.
    fn left(&self) -> f64 {
        let Some(Values::Names(_, names)) = self.axes.first() else {
            return SIDE;
        };
        let longest = names.iter().map(|name| name.chars().count()).max();
        let text = PER_CHARACTER * (longest.unwrap_or(0) + 1) as f64;
        (text + GAP).clamp(SIDE, WIDEST)
    }

    fn path(&self, rank: usize, line: &TrialLine, columns: &[ParallelAxis<'_>]) -> String {
        let mut path = String::new();
        let mut pen_down = false;
        let mut tooltip = line.label.clone();
        for (column, &value) in columns.iter().zip(&line.values) {
            let Some(y) = column.y(value) else {
                pen_down = false;
                continue;
            };
            let step = if pen_down { 'L' } else { 'M' };
            let _ = write!(path, "{step}{:.1} {y:.1}", column.x);
            let _ = write!(tooltip, "\n{} {}", column.name, column.text(value));
            pen_down = true;
        }
        // From the best, in full colour, to the last, hardly there.
        let share = rank as f64 / self.lines.len().max(2) as f64;
        let (series, opacity, width) = match rank {
            0 => (1, 1.0, 2.6),
            _ => (0, 0.75 * (1.0 - share).powi(2) + 0.06, 1.3),
        };
        let drawing = format!(
            "<path class=\"stroke\" style=\"opacity:{opacity:.2};stroke-width:{width}\" d=\"{path}\"/>"
        );
        marks::marked(series, "run", &tooltip, &drawing)
    }
}

/// An axis with its place on the drawing.
struct ParallelAxis<'a> {
    name: &'a str,
    scale: Scale,
    ticks: Vec<Tick>,
    /// All places that have names, whether or not there is room for them.
    names: Vec<Tick>,
    x: f64,
    /// Room for labels, to the left of the axis.
    labels: f64,
    bottom: f64,
}

impl ParallelAxis<'_> {
    fn y(&self, value: f64) -> Option<f64> {
        if !self.scale.can_draw(value) {
            return None;
        }
        let share = self.scale.fraction(value).clamp(0.0, 1.0);
        share
            .is_finite()
            .then_some(self.bottom - share * (self.bottom - TOP))
    }

    fn text(&self, value: f64) -> String {
        let named = self
            .names
            .iter()
            .find(|tick| (tick.value - value).abs() < 1e-9);
        named.map_or_else(
            || crate::format::significant(value, 4),
            |tick| tick.label.clone(),
        )
    }

    /// The axis with its ticks; names alternate between two heights, so that neighbours have room.
    fn draw(&self, at: usize, room: f64, columns: usize) -> String {
        let mut svg = format!(
            "<g class=\"axes\"><path class=\"base\" d=\"M{:.1} {TOP}V{:.1}\"/>",
            self.x, self.bottom
        );
        // Labels that reached the axis before would cover its ticks; the tooltip has the whole text.
        let letters = (self.labels / PER_CHARACTER) as usize;
        for tick in &self.ticks {
            if let Some(y) = self.y(tick.value) {
                let _ = write!(
                    svg,
                    "<path class=\"tick\" d=\"M{:.1} {y:.1}h-4\"/>\
                     <text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>",
                    self.x,
                    self.x - GAP,
                    y + 4.0,
                    escape(&shorten(&tick.label, letters))
                );
            }
        }
        let anchor = match at {
            0 => "start",
            at if at + 1 == columns => "end",
            _ => "middle",
        };
        let x = match anchor {
            "start" => 4.0,
            "end" => self.x + SIDE - 4.0,
            _ => self.x,
        };
        let longest = ((2.0 * room / PER_CHARACTER) as usize).max(8);
        let _ = write!(
            svg,
            "<text class=\"name\" x=\"{x:.1}\" y=\"{:.1}\" text-anchor=\"{anchor}\">{}</text></g>",
            if at.is_multiple_of(2) { 14.0 } else { 34.0 },
            escape(&shorten(self.name, longest))
        );
        svg
    }
}

#[cfg(test)]
mod tests {
    use super::super::frame::WIDE;
    use super::*;

    fn chart() -> ParallelChart {
        ParallelChart::new("Trials")
            .axis(ChartAxis::log("penalty"))
            .names("solver", ["eals", "sub<space"])
            .axis(ChartAxis::linear("recall@20"))
    }

    #[test]
    fn every_run_is_a_line_and_the_best_is_on_top() {
        let text = chart()
            .line("first", &[0.1, 0.0, 0.18])
            .line("second", &[0.01, 1.0, 0.17])
            .draw(WIDE);
        assert_eq!(text.matches("mark run").count(), 2);
        assert!(text.find("second").unwrap() < text.find("first").unwrap());
        assert!(text.contains("sub&lt;space") && !text.contains("sub<space"));
    }

    /// Each label ends before the axis to its left, and above the one below it.
    #[test]
    fn labels_stay_between_their_axes() {
        let names: Vec<String> = (0..30)
            .map(|at| format!("popularity*activity {at}"))
            .collect();
        for axes in [2, 5, 14] {
            let mut chart = ParallelChart::new("t");
            for _ in 0..axes {
                chart = chart.names("a long name of a setting", &names);
            }
            let chart = chart.line("one", &vec![0.0; axes]);
            let columns: Vec<_> = (0..axes).filter_map(|at| chart.column(at, WIDE)).collect();
            assert_eq!(columns.len(), axes);
            for (at, column) in columns.iter().enumerate() {
                let before = if at == 0 { 0.0 } else { columns[at - 1].x };
                let letters = (column.labels / PER_CHARACTER) as usize;
                assert!(letters >= 4, "{axes} axes: {letters}");
                assert!(column.x - GAP - letters as f64 * PER_CHARACTER > before);
                for pair in column.ticks.windows(2) {
                    let [low, high] = [&pair[0], &pair[1]].map(|tick| column.y(tick.value));
                    assert!(low.unwrap() - high.unwrap() > LINE - 0.1);
                }
            }
        }
    }

    #[test]
    fn a_value_without_a_place_leaves_a_gap() {
        let text = chart()
            .line("gap", &[0.0, 1.0, 0.1])
            .line("ok", &[1.0, 0.0, 0.2])
            .draw(WIDE);
        assert!(!text.contains("NaN") && !text.contains("inf"), "{text}");
    }

    #[test]
    fn nothing_to_draw_is_no_panic() {
        assert!(chart().draw(WIDE).contains("no values"));
        assert!(
            ParallelChart::new("t")
                .line("x", &[])
                .draw(WIDE)
                .contains("no values")
        );
    }
}
