//! What both charts are drawn with.

use std::fmt::Write;

/// Yields the start of a chart: its frame, white.
pub(super) fn start((width, height): (f64, f64)) -> String {
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" \
         font-family=\"sans-serif\" font-size=\"12\">\n\
         <rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n"
    )
}

/// Adds words; `anchor` is `start`, `middle` or `end`.
pub(super) fn text(svg: &mut String, (x, y): (f64, f64), anchor: &str, words: &str) {
    let words = words.replace('&', "&amp;").replace('<', "&lt;");
    let _ = writeln!(
        svg,
        "<text x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\">{words}</text>"
    );
}

/// A logarithmic axis of seconds from left to right, over whole powers of ten.
pub(super) struct ChartAxis {
    low: i32,
    high: i32,
    left: f64,
    right: f64,
}

impl ChartAxis {
    pub(super) fn over(seconds: impl Iterator<Item = f64>, (left, right): (f64, f64)) -> Self {
        let (mut low, mut high) = (f64::INFINITY, 1e-6_f64);
        for second in seconds {
            low = low.min(second.max(1e-6));
            high = high.max(second);
        }
        let low = low.min(high).log10().floor() as i32;
        Self {
            low,
            high: (high.log10().ceil() as i32).max(low + 1),
            left,
            right,
        }
    }

    pub(super) fn place(&self, seconds: f64) -> f64 {
        let powers = f64::from(self.high - self.low);
        let share = (seconds.max(1e-6).log10() - f64::from(self.low)) / powers;
        self.left + share * (self.right - self.left)
    }

    /// Adds a line and its number at every power of ten.
    pub(super) fn draw(&self, svg: &mut String, height: f64) {
        for power in self.low..=self.high {
            let seconds = 10.0_f64.powi(power);
            let (x, bottom) = (self.place(seconds), height - 24.0);
            let _ = writeln!(
                svg,
                "<line x1=\"{x:.1}\" x2=\"{x:.1}\" y1=\"10\" y2=\"{bottom}\" stroke=\"#e2e8f0\"/>"
            );
            text(svg, (x, height - 8.0), "middle", &format!("{seconds} s"));
        }
    }
}
