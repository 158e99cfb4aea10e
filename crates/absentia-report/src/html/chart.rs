//! Any chart, as a figure of a page.

use super::bar_chart::BarChart;
use super::escape::escape;
use super::frame::{SMALL, Size, WIDE};
use super::line_chart::LineChart;
use super::parallel::ParallelChart;
use super::scatter::ScatterChart;

/// Any chart of a report, so that different kinds can share a row.
#[derive(Clone, Debug)]
pub enum Chart {
    /// Curves.
    Line(LineChart),
    /// Bars with intervals.
    Bar(BarChart),
    /// Points.
    Scatter(ScatterChart),
    /// Lines through upright axes.
    Parallel(ParallelChart),
}

impl Chart {
    /// The chart over the width of a page, for pages that are not a [`Report`](super::Report) and have its
    /// [`STYLE`](super::STYLE).
    #[must_use]
    pub fn wide(&self) -> String {
        self.figure(WIDE)
    }

    /// The chart as one of several in a row.
    #[must_use]
    pub fn small(&self) -> String {
        self.figure(SMALL)
    }

    /// A figure with caption, legend and drawing.
    pub(super) fn figure(&self, size: Size) -> String {
        let (title, legend, drawing) = match self {
            Self::Line(chart) => (chart.title(), chart.legend(), chart.draw(size)),
            Self::Bar(chart) => (chart.title(), String::new(), chart.draw(size)),
            Self::Scatter(chart) => (chart.title(), chart.legend(), chart.draw(size)),
            Self::Parallel(chart) => (chart.title(), String::new(), chart.draw(size)),
        };
        format!(
            "<figure><figcaption>{}</figcaption>{legend}{drawing}</figure>\n",
            escape(title)
        )
    }
}

macro_rules! charts {
    ($($kind:ident: $chart:ident),*) => {
        $(impl From<$chart> for Chart {
            fn from(chart: $chart) -> Self {
                Self::$kind(chart)
            }
        })*
    };
}

charts!(Line: LineChart, Bar: BarChart, Scatter: ScatterChart, Parallel: ParallelChart);
