//! Curves in the terminal: a braille canvas with axes, ticks and a legend.

use std::fmt::Write as _;

use console::measure_text_width;

use super::canvas::Canvas;
use super::screen::{Paint, Screen};
use crate::scale::{Scale, Spacing, Tick};

const ROWS: usize = 12;
/// Columns between two ticks of the x axis.
const TICK_SPACE: usize = 12;
/// A long tail of millions of ranks is drawn from this many of them.
const TAIL_POINTS: usize = 400;

#[derive(Clone, Debug)]
struct PlotCurve {
    name: String,
    points: Vec<(f64, f64)>,
}

/// Curves over a common x axis.
///
/// ```
/// use absentia_report::terminal::{LinePlot, Screen};
///
/// let plot = LinePlot::new("objective").x_label("sweep").whole_x().curve("train", &[9.0, 4.0, 3.0]);
/// assert!(plot.render(&Screen::plain()).contains("sweep"));
/// ```
#[derive(Clone, Debug)]
pub struct LinePlot {
    title: String,
    x_label: String,
    spacing: (Spacing, Spacing),
    series: Vec<PlotCurve>,
}

impl LinePlot {
    /// A plot without curves.
    pub fn new(title: impl Into<String>) -> Self {
        Self {
            title: title.into(),
            x_label: String::new(),
            spacing: (Spacing::Linear, Spacing::Linear),
            series: Vec::new(),
        }
    }

    /// Names the x axis.
    #[must_use]
    pub fn x_label(mut self, label: impl Into<String>) -> Self {
        self.x_label = label.into();
        self
    }

    /// Puts ticks of the x axis on whole numbers only.
    #[must_use]
    pub fn whole_x(mut self) -> Self {
        self.spacing.0 = Spacing::Whole;
        self
    }

    /// Makes the x axis logarithmic.
    #[must_use]
    pub fn log_x(mut self) -> Self {
        self.spacing.0 = Spacing::Log;
        self
    }

    /// Makes the y axis logarithmic.
    #[must_use]
    pub fn log_y(mut self) -> Self {
        self.spacing.1 = Spacing::Log;
        self
    }

    /// Adds a curve through `points`, which are `(x, y)`.
    #[must_use]
    pub fn series(mut self, name: impl Into<String>, points: &[(f64, f64)]) -> Self {
        self.series.push(PlotCurve {
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

    /// The plot as lines of text, each ending in a newline.
    #[must_use]
    pub fn render(&self, screen: &Screen) -> String {
        let Some((x, y)) = self.scales() else {
            return format!("{}: nothing to draw\n", self.title);
        };
        let y_ticks = y.ticks(ROWS / 3);
        let margin = y_ticks.iter().map(|t| t.label.chars().count()).max();
        let margin = margin.unwrap_or(0);
        let columns = screen.plot_width().saturating_sub(margin + 3).max(16);
        let canvas = self.draw(x, y, columns);
        let mut text = self.heading(screen);
        text.push_str(&body(&canvas, &y_labels(y, &y_ticks), margin, screen));
        text.push_str(&x_axis(x, columns, margin, screen));
        text.push_str(&self.x_caption(columns, margin, screen));
        text
    }

    fn scales(&self) -> Option<(Scale, Scale)> {
        let points = || self.series.iter().flat_map(|s| &s.points);
        let drawable = |s: Spacing, v: f64| v.is_finite() && (s != Spacing::Log || v > 0.0);
        let shown =
            || points().filter(|p| drawable(self.spacing.0, p.0) && drawable(self.spacing.1, p.1));
        let x = Scale::fit(self.spacing.0, shown().map(|p| p.0))?;
        let y = Scale::fit(self.spacing.1, shown().map(|p| p.1))?;
        Some((x, y))
    }

    fn draw(&self, x: Scale, y: Scale, columns: usize) -> Canvas {
        let mut canvas = Canvas::new(columns, ROWS);
        for (n, series) in self.series.iter().enumerate() {
            let mut last = None;
            for &point in &series.points {
                let at = place(point, x, y);
                match (last, at) {
                    (Some(from), Some(to)) => canvas.line(from, to, n),
                    (None, Some(to)) => canvas.dot(to, n),
                    _ => {}
                }
                last = at;
            }
        }
        canvas
    }

    /// The title, and a legend where there is more than one curve.
    fn heading(&self, screen: &Screen) -> String {
        let mut text = screen.paint(Paint::Heading, &self.title);
        if self.series.len() > 1 {
            for (n, series) in self.series.iter().enumerate() {
                let mark = screen.paint(Paint::Series(n), "━━");
                let _ = write!(text, "   {mark} {}", series.name);
            }
        }
        text + "\n"
    }

    fn x_caption(&self, columns: usize, margin: usize, screen: &Screen) -> String {
        if self.x_label.is_empty() {
            return String::new();
        }
        let blanks = columns.saturating_sub(measure_text_width(&self.x_label)) / 2;
        let label = screen.paint(Paint::Faint, &self.x_label);
        format!("{}{label}\n", " ".repeat(margin + 2 + blanks))
    }
}

/// How often each item occurs, from the most popular down, both axes logarithmic.
///
/// `counts` may come in any order; zeros cannot be drawn and are left out.
#[must_use]
pub fn long_tail(title: &str, counts: &[u64]) -> LinePlot {
    let mut sorted: Vec<u64> = counts.iter().copied().filter(|&c| c > 0).collect();
    sorted.sort_unstable_by(|a, b| b.cmp(a));
    let points: Vec<(f64, f64)> = ranks(sorted.len())
        .map(|rank| (rank as f64, sorted[rank - 1] as f64))
        .collect();
    LinePlot::new(title)
        .x_label("rank")
        .log_x()
        .log_y()
        .series("count", &points)
}

/// Ranks from 1 to `n`, evenly spread on a log axis and without repeats.
fn ranks(n: usize) -> impl Iterator<Item = usize> {
    let steps = TAIL_POINTS.min(n);
    let mut last = 0;
    (0..steps)
        .map(move |step| {
            let share = step as f64 / (steps.max(2) - 1) as f64;
            (n as f64).powf(share).round() as usize
        })
        .filter(move |&rank| {
            let fresh = rank > last;
            last = rank;
            fresh
        })
}

fn place((x, y): (f64, f64), x_scale: Scale, y_scale: Scale) -> Option<(f64, f64)> {
    (x_scale.can_draw(x) && y_scale.can_draw(y)).then(|| (x_scale.fraction(x), y_scale.fraction(y)))
}

/// The label of each row that has a tick.
fn y_labels(y: Scale, ticks: &[Tick]) -> Vec<Option<String>> {
    let mut labels = vec![None; ROWS];
    for tick in ticks {
        let row = (1.0 - y.fraction(tick.value)) * ROWS as f64;
        labels[(row as usize).min(ROWS - 1)] = Some(tick.label.clone());
    }
    labels
}

fn body(canvas: &Canvas, labels: &[Option<String>], margin: usize, screen: &Screen) -> String {
    let rows = labels.iter().enumerate().map(|(row, label)| {
        let axis = if label.is_some() { "┤" } else { "│" };
        let label = format!("{:>margin$} {axis}", label.as_deref().unwrap_or(""));
        let dots = painted(canvas.row(row), screen);
        format!("{}{}\n", screen.paint(Paint::Faint, &label), dots)
    });
    rows.collect()
}

/// Colours runs of characters of the same series at once, and drops the blanks at the end.
fn painted(cells: impl Iterator<Item = (char, usize)>, screen: &Screen) -> String {
    let cells: Vec<(char, usize)> = cells.collect();
    let shown = cells.iter().rposition(|c| c.0 != ' ').map_or(0, |p| p + 1);
    let runs = cells[..shown].chunk_by(|a, b| a.1 == b.1);
    runs.map(|run| {
        let text: String = run.iter().map(|c| c.0).collect();
        screen.paint(Paint::Series(run[0].1), &text)
    })
    .collect()
}

/// The x axis with its ticks, and their labels below, centred where there is room.
fn x_axis(x: Scale, columns: usize, margin: usize, screen: &Screen) -> String {
    let ticks = x.ticks((columns / TICK_SPACE).max(2));
    let mut axis = vec!['─'; columns];
    let mut labels = String::new();
    for tick in &ticks {
        let at = (x.fraction(tick.value) * (columns - 1) as f64).round() as usize;
        axis[at.min(columns - 1)] = '┬';
        push_label(&mut labels, &tick.label, at, columns);
    }
    let line = format!("{} └{}", " ".repeat(margin), String::from_iter(axis));
    let below = format!("{}{labels}", " ".repeat(margin + 2));
    let [line, below] = [line, below].map(|text| screen.paint(Paint::Faint, &text));
    format!("{line}\n{below}\n")
}

/// Appends a label centred on column `at`, unless it would touch the one before.
fn push_label(labels: &mut String, label: &str, at: usize, columns: usize) {
    let width = label.chars().count();
    let start = at
        .saturating_sub(width / 2)
        .min(columns.saturating_sub(width));
    let taken = labels.chars().count();
    if taken == 0 || start > taken {
        labels.push_str(&" ".repeat(start.saturating_sub(taken)));
        labels.push_str(label);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fits(text: &str, width: usize) -> bool {
        text.lines().all(|l| measure_text_width(l) <= width)
    }

    #[test]
    fn a_curve_has_title_axes_and_labels() {
        let values: Vec<f64> = (1..30).map(|s| 1e6 / f64::from(s)).collect();
        let plot = LinePlot::new("objective").x_label("sweep").whole_x();
        let text = plot
            .curve("train", &values)
            .render(&Screen::plain().with_width(60));
        assert!(text.starts_with("objective\n"));
        assert!(text.contains('┤') && text.contains('┬') && text.contains("sweep"));
        assert_eq!(text.lines().count(), ROWS + 4);
        assert!(fits(&text, 60));
    }

    #[test]
    fn several_curves_have_a_legend() {
        let plot = LinePlot::new("recall@20")
            .curve("train", &[0.1, 0.2])
            .curve("valid", &[0.1, 0.15]);
        let text = plot.render(&Screen::plain().with_colour(true));
        assert!(text.contains("train") && text.contains("valid"));
        assert!(text.contains("\u{1b}["));
    }

    #[test]
    fn nothing_to_draw_is_said() {
        let text = LinePlot::new("objective")
            .curve("train", &[f64::NAN])
            .render(&Screen::plain());
        assert_eq!(text, "objective: nothing to draw\n");
    }

    #[test]
    fn one_point_and_gaps_are_drawn() {
        let text = LinePlot::new("x")
            .curve("a", &[1.0, f64::NAN, 2.0])
            .render(&Screen::plain());
        let dots = text
            .chars()
            .filter(|c| ('\u{2801}'..='\u{28ff}').contains(c));
        assert_eq!(dots.count(), 2);
    }

    #[test]
    fn the_long_tail_is_thinned_and_sorted() {
        let counts: Vec<u64> = (0..100_000).map(|i| i % 977).collect();
        let plot = long_tail("items", &counts);
        let points = &plot.series[0].points;
        assert!(points.len() <= TAIL_POINTS);
        assert!(
            points
                .windows(2)
                .all(|w| w[0].0 < w[1].0 && w[0].1 >= w[1].1)
        );
        assert!(fits(&plot.render(&Screen::plain()), 80));
        assert!(
            long_tail("none", &[0, 0])
                .render(&Screen::plain())
                .contains("nothing")
        );
    }

    #[test]
    fn ranks_reach_both_ends() {
        for n in [1, 2, 10, 5000] {
            let all: Vec<usize> = ranks(n).collect();
            assert_eq!((all[0], all[all.len() - 1]), (1, n));
        }
    }
}
