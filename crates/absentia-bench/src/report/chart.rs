//! Seconds per iteration as bars on a logarithmic axis.

use std::fmt::Write;

use super::svg::{ChartAxis, start, text};
use crate::iterations::Case;

const WIDTH: f64 = 900.0;
const LEFT: f64 = 190.0;
const RIGHT: f64 = WIDTH - 60.0;
const BAR: f64 = 18.0;
const TITLE: f64 = 30.0;

/// Yields the chart of all cases.
pub(super) fn bars(cases: &[Case]) -> String {
    let rows = || cases.iter().flat_map(|case| &case.rows);
    let axis = ChartAxis::over(rows().map(|row| row.seconds), (LEFT, RIGHT));
    let height = 40.0 + TITLE * cases.len() as f64 + BAR * rows().count() as f64;
    let mut svg = start((WIDTH, height));
    axis.draw(&mut svg, height);
    let mut y = 10.0;
    for case in cases {
        y += TITLE;
        let title = format!(
            "{} shape, K={}, seconds per iteration",
            case.shape, case.factors
        );
        text(&mut svg, (LEFT, y - 8.0), "start", &title);
        for row in &case.rows {
            let fill = if row.contender.is_ours() {
                "#c2410c"
            } else {
                "#94a3b8"
            };
            let end = axis.place(row.seconds);
            let (width, thickness) = (end - LEFT, BAR - 4.0);
            let _ = writeln!(
                svg,
                "<rect x=\"{LEFT}\" y=\"{y}\" width=\"{width:.1}\" height=\"{thickness}\" fill=\"{fill}\"/>"
            );
            let base = y + 11.0;
            text(&mut svg, (LEFT - 6.0, base), "end", &row.contender.name);
            text(
                &mut svg,
                (end + 4.0, base),
                "start",
                &format!("{:.3}", row.seconds),
            );
            y += BAR;
        }
    }
    svg.push_str("</svg>\n");
    svg
}
