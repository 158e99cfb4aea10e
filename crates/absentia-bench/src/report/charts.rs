//! The charts, on a page that can be read offline.

use absentia_report::html::{BarChart, ChartAxis, LineChart, Report};

use crate::results::Results;

/// Bars for the seconds per iteration, and curves for the time to quality; `None` if neither was measured.
pub(super) fn page(results: &Results) -> Option<String> {
    if results.cases.is_empty() && results.quality.is_none() {
        return None;
    }
    let subtitle = format!("`{}` on {}", results.command, results.machine);
    let mut page = Report::new("Benchmark").subtitle(subtitle);
    for case in &results.cases {
        let title = format!(
            "Seconds per iteration, {} shape, K={}",
            case.shape, case.factors
        );
        let bars = case.rows.iter().fold(BarChart::new(title), |bars, row| {
            bars.bar(row.contender.name.as_str(), row.seconds)
        });
        page = page.chart(bars);
    }
    if let Some(quality) = &results.quality {
        let axes = (ChartAxis::log("seconds"), ChartAxis::linear("recall@20"));
        let mut lines = LineChart::new("Recall@20 by seconds of training", axes.0, axes.1);
        for curve in &quality.curves {
            let points: Vec<(f64, f64)> = curve.points.iter().map(|p| (p.1, p.2)).collect();
            lines = lines.series(curve.name.as_str(), &points);
        }
        page = page.chart(lines);
    }
    Some(page.render())
}
