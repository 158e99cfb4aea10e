//! Recall by seconds of training, a line for every contender.

use std::fmt::Write;

use super::svg::{ChartAxis, start, text};
use crate::quality::Quality;

const WIDTH: f64 = 900.0;
const HEIGHT: f64 = 480.0;
const LEFT: f64 = 60.0;
const RIGHT: f64 = WIDTH - 300.0;
const TOP: f64 = 20.0;
const BOTTOM: f64 = HEIGHT - 40.0;

/// Warm colours for ours, cold ones for the others.
const OURS: [&str; 6] = [
    "#c2410c", "#ea580c", "#f59e0b", "#dc2626", "#9f1239", "#78350f",
];
const OTHERS: [&str; 4] = ["#475569", "#2563eb", "#0d9488", "#64748b"];

/// Yields the chart of all curves.
pub(super) fn lines(quality: &Quality) -> String {
    let points = || quality.curves.iter().flat_map(|curve| &curve.points);
    let axis = ChartAxis::over(points().map(|point| point.1), (LEFT, RIGHT));
    let top = points().map(|point| point.2).fold(1e-6, f64::max) * 1.05;
    let mut svg = start((WIDTH, HEIGHT));
    axis.draw(&mut svg, HEIGHT);
    for step in 0..=4 {
        let recall = top * f64::from(step) / 4.0;
        text(
            &mut svg,
            (LEFT - 6.0, height_of(recall, top)),
            "end",
            &format!("{recall:.3}"),
        );
    }
    let (mut ours, mut others) = (OURS.iter().cycle(), OTHERS.iter().cycle());
    for (at, curve) in quality.curves.iter().enumerate() {
        let colours = if curve.contender.is_ours() {
            &mut ours
        } else {
            &mut others
        };
        let colour = colours.next().unwrap_or(&"black");
        let mut path = String::new();
        for (_, seconds, recall) in &curve.points {
            let (x, y) = (axis.place(*seconds), height_of(*recall, top));
            let _ = write!(path, "{x:.1},{y:.1} ");
        }
        let _ = writeln!(
            svg,
            "<polyline points=\"{path}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"2\"/>"
        );
        let y = TOP + 10.0 + 18.0 * at as f64;
        let _ = writeln!(
            svg,
            "<rect x=\"{}\" y=\"{}\" width=\"12\" height=\"4\" fill=\"{colour}\"/>",
            RIGHT + 16.0,
            y - 6.0
        );
        text(&mut svg, (RIGHT + 34.0, y), "start", &curve.name);
    }
    svg.push_str("</svg>\n");
    svg
}

fn height_of(recall: f64, top: f64) -> f64 {
    BOTTOM - recall / top * (BOTTOM - TOP)
}
