//! A finished part of the report, stored as JSON so that an interrupted run can be resumed.

use absentia_report::format::{p_value, signed};
use absentia_report::html::{BarChart, Chart, ChartAxis, LineChart, Report};
use absentia_report::terminal::{Cell, Column, Table};
use serde::{Deserialize, Serialize};

/// One thing that a part shows.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Block {
    Text(String),
    Table(Grid),
    Lines(Lines),
    Bars(Bars),
    /// Small charts in rows.
    Small(Vec<Lines>),
    /// Shown in the summary alone.
    Finding(Finding),
}

/// A part that was just finished.
#[derive(Serialize)]
pub struct FinishedPart<'a> {
    pub(super) blocks: &'a [Block],
    #[serde(rename = "part")]
    pub(super) id: &'a str,
    pub(super) seconds: f64,
}

impl FinishedPart<'_> {
    /// Its tables with their captions.
    pub fn tables(&self) -> impl Iterator<Item = (String, Table)> {
        self.blocks.iter().filter_map(Block::as_table)
    }
}

/// One model against another on one data set, by one metric.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Finding {
    pub(super) claim: String,
    pub(super) set: String,
    pub(super) metric: String,
    pub(super) difference: f64,
    pub(super) low: f64,
    pub(super) high: f64,
    pub(super) p: f64,
    pub(super) verdict: String,
}

/// All findings in one table.
pub(super) fn summary(findings: &[Finding]) -> Block {
    let mut grid = Grid::new(
        "Differences between models, paired by user: mean, 95 % bootstrap interval, t-test",
        [
            "claim tested",
            "data",
            "metric",
            "difference",
            "interval",
            "p",
            "so it is",
        ],
    );
    for found in findings {
        grid.row([
            found.claim.clone(),
            found.set.clone(),
            found.metric.clone(),
            signed(found.difference),
            format!("{} to {}", signed(found.low), signed(found.high)),
            p_value(found.p),
            // The column is narrow, and its heading says the rest.
            match found.verdict.strip_prefix("significantly ") {
                Some(word) => word.to_owned(),
                None => "neither".to_owned(),
            },
        ]);
    }
    Block::Table(grid)
}

/// A table: the first column is left-aligned, the others right-aligned.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Grid {
    pub(super) caption: String,
    pub(super) columns: Vec<String>,
    pub(super) rows: Vec<Vec<String>>,
    /// Whether all columns are left-aligned, because they hold sentences.
    pub(super) words: bool,
}

/// The scale of an axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum AxisScale {
    Linear,
    Whole,
    Log,
}

/// Curves over a common axis.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Lines {
    pub(super) title: String,
    pub(super) x: (AxisScale, String),
    pub(super) y: (AxisScale, String),
    pub(super) series: Vec<(String, Vec<(f64, f64)>)>,
}

/// Bars with an interval to both sides.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Bars {
    pub(super) title: String,
    pub(super) bars: Vec<(String, f64, f64)>,
}

impl Grid {
    pub(super) fn new<T: Into<String>>(
        caption: impl Into<String>,
        columns: impl IntoIterator<Item = T>,
    ) -> Self {
        Self {
            caption: caption.into(),
            columns: columns.into_iter().map(Into::into).collect(),
            rows: Vec::new(),
            words: false,
        }
    }

    /// Says that the columns hold sentences.
    pub(super) fn of_words(mut self) -> Self {
        self.words = true;
        self
    }

    pub(super) fn row<T: Into<String>>(&mut self, cells: impl IntoIterator<Item = T>) {
        self.rows.push(cells.into_iter().map(Into::into).collect());
    }

    fn table(&self) -> Table {
        let column = |(at, name): (usize, &String)| match at {
            0 => Column::left(name.as_str()),
            _ if self.words => Column::left(name.as_str()),
            _ => Column::right(name.as_str()),
        };
        let mut table = Table::new(self.columns.iter().enumerate().map(column));
        for row in &self.rows {
            table.row(row.iter().map(|cell| Cell::text(cell.as_str())));
        }
        table
    }
}

impl Lines {
    pub(super) fn new(
        title: impl Into<String>,
        x: (AxisScale, &str),
        y: (AxisScale, &str),
    ) -> Self {
        Self {
            title: title.into(),
            x: (x.0, x.1.to_owned()),
            y: (y.0, y.1.to_owned()),
            series: Vec::new(),
        }
    }

    /// Adds a curve; points that no file could hold are left out.
    pub(super) fn series(mut self, name: impl Into<String>, points: Vec<(f64, f64)>) -> Self {
        let finite = |point: &(f64, f64)| point.0.is_finite() && point.1.is_finite();
        let points = points.into_iter().filter(finite).collect();
        self.series.push((name.into(), points));
        self
    }

    fn chart(&self) -> LineChart {
        let axis = |(along, label): &(AxisScale, String)| match along {
            AxisScale::Linear => ChartAxis::linear(label.as_str()),
            AxisScale::Whole => ChartAxis::whole(label.as_str()),
            AxisScale::Log => ChartAxis::log(label.as_str()),
        };
        let chart = LineChart::new(self.title.as_str(), axis(&self.x), axis(&self.y));
        self.series.iter().fold(chart, |chart, (name, points)| {
            chart.series(name.as_str(), points)
        })
    }
}

impl Block {
    pub(super) fn text(text: impl Into<String>) -> Self {
        Block::Text(text.into())
    }

    /// Adds the block to a page.
    pub(super) fn add_to(&self, report: Report) -> Report {
        match self {
            Block::Text(text) => report.paragraph(text),
            Block::Finding(_) => report,
            Block::Table(grid) => report.table(&grid.caption, &grid.table()),
            Block::Lines(lines) => report.chart(lines.chart()),
            Block::Small(charts) => {
                report.small_multiples(charts.iter().map(|lines| Chart::from(lines.chart())))
            }
            Block::Bars(bars) => {
                let mut chart = BarChart::new(bars.title.as_str());
                for (label, value, half) in &bars.bars {
                    chart = chart.interval(label.as_str(), *value, *half);
                }
                report.chart(chart)
            }
        }
    }

    /// What the summary takes from it.
    pub(super) fn finding(&self) -> Option<&Finding> {
        match self {
            Block::Finding(found) => Some(found),
            _ => None,
        }
    }

    /// What a person reads in the terminal: tables and texts, not charts.
    fn as_table(&self) -> Option<(String, Table)> {
        match self {
            Block::Table(grid) => Some((grid.caption.clone(), grid.table())),
            _ => None,
        }
    }
}
