//! Self-contained HTML reports: one file, readable offline, on paper, in light and in dark.
//!
//! Charts are inline SVG; a small inline script only adds sorting and quicker tooltips, so nothing is lost
//! without it. Everything that comes from outside is escaped, and a content policy forbids loading anything.
//!
//! ```
//! use absentia_report::html::{ChartAxis, LineChart, Report};
//!
//! let curve = LineChart::new("Objective", ChartAxis::whole("sweep"), ChartAxis::linear("objective"))
//!     .curve("uniform:0.01", &[9.0, 4.0, 3.5]);
//! let page = Report::new("Training run").paragraph("Trained with `eals`.").chart(curve).render();
//! assert!(page.starts_with("<!doctype html>"));
//! ```

mod axis;
mod bar_chart;
mod chart;
mod escape;
mod frame;
mod line_chart;
mod marks;
mod page;
mod parallel;
mod scatter;
mod table;

pub use axis::ChartAxis;
pub use bar_chart::BarChart;
pub use chart::Chart;
pub use line_chart::LineChart;
pub use page::{Report, STYLE};
pub use parallel::ParallelChart;
pub use scatter::{Point, ScatterChart};
