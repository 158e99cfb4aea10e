//! Seconds per iteration as bars on a logarithmic axis.

use std::fmt::Write;

use crate::iterations::Case;

const WIDTH: f64 = 900.0;
const LEFT: f64 = 190.0;
const RIGHT: f64 = 60.0;
const BAR: f64 = 18.0;
const TITLE: f64 = 30.0;

/// Yields the chart of all cases.
pub(super) fn bars(cases: &[Case]) -> String {
    let axis = Axis::over(cases);
    let rows: usize = cases.iter().map(|case| case.rows.len()).sum();
    let height = 40.0 + TITLE * cases.len() as f64 + BAR * rows as f64;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" \
         font-family=\"sans-serif\" font-size=\"12\">\n\
         <rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n"
    );
    axis.draw(&mut svg, height);
    let mut y = 10.0;
    for case in cases {
        y += TITLE;
        let title = format!(
            "{} shape, K={}, seconds per iteration",
            case.shape, case.factors
        );
        text(
            &mut svg,
            (LEFT, y - 8.0),
            "start\" font-weight=\"bold",
            &title,
        );
        for row in &case.rows {
            let fill = if row.contender.is_ours() {
                "#c2410c"
            } else {
                "#94a3b8"
            };
            let end = axis.place(row.seconds);
            let _ = writeln!(
                svg,
                "<rect x=\"{LEFT}\" y=\"{y}\" width=\"{:.1}\" height=\"{}\" fill=\"{fill}\"/>",
                end - LEFT,
                BAR - 4.0
            );
            text(&mut svg, (LEFT - 6.0, y + 11.0), "end", &row.contender.name);
            text(
                &mut svg,
                (end + 4.0, y + 11.0),
                "start",
                &format!("{:.3}", row.seconds),
            );
            y += BAR;
        }
    }
    svg.push_str("</svg>\n");
    svg
}

fn text(svg: &mut String, (x, y): (f64, f64), anchor: &str, words: &str) {
    let words = words.replace('&', "&amp;").replace('<', "&lt;");
    let _ = writeln!(
        svg,
        "<text x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\">{words}</text>"
    );
}

/// Whole powers of ten around all numbers.
struct Axis {
    low: i32,
    high: i32,
}

impl Axis {
    fn over(cases: &[Case]) -> Self {
        let seconds = || {
            cases
                .iter()
                .flat_map(|case| &case.rows)
                .map(|row| row.seconds)
        };
        let low = seconds().fold(f64::INFINITY, f64::min).max(1e-6);
        let high = seconds().fold(0.0, f64::max).max(low);
        let low = low.log10().floor() as i32;
        Self {
            low,
            high: (high.log10().ceil() as i32).max(low + 1),
        }
    }

    fn place(&self, seconds: f64) -> f64 {
        let share =
            (seconds.max(1e-6).log10() - f64::from(self.low)) / f64::from(self.high - self.low);
        LEFT + share * (WIDTH - LEFT - RIGHT)
    }

    fn draw(&self, svg: &mut String, height: f64) {
        for power in self.low..=self.high {
            let x = self.place(10.0_f64.powi(power));
            let bottom = height - 24.0;
            let _ = writeln!(
                svg,
                "<line x1=\"{x:.1}\" x2=\"{x:.1}\" y1=\"10\" y2=\"{bottom}\" stroke=\"#e2e8f0\"/>"
            );
            text(
                svg,
                (x, height - 8.0),
                "middle",
                &format!("{} s", 10.0_f64.powi(power)),
            );
        }
    }
}
