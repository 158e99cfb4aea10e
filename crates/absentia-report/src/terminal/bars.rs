//! Horizontal bars, for histograms and quantiles.

use std::fmt::Write as _;

use console::{measure_text_width, truncate_str};

use super::screen::{Paint, Screen};

/// Eighths of a block, so that a bar's length is right to an eighth of a character.
const EIGHTHS: [&str; 8] = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];
const WIDEST_LABEL: usize = 24;

/// One bar per `(label, value, text)`: the label, a bar as long as the value, and the text.
#[must_use]
pub fn histogram(bars: &[(String, f64, String)], screen: &Screen) -> String {
    let labels = widest(bars.iter().map(|bar| bar.0.as_str())).min(WIDEST_LABEL);
    let texts = widest(bars.iter().map(|bar| bar.2.as_str()));
    let room = screen
        .plot_width()
        .saturating_sub(labels + texts + 4)
        .max(8);
    let longest = bars.iter().map(|bar| bar.1).fold(0.0, f64::max);
    let mut drawn = String::new();
    for (label, value, text) in bars {
        let bar = blocks(share(*value, longest) * room as f64);
        let bar = screen.paint(Paint::Series(0), &bar);
        let _ = writeln!(drawn, "{}  {bar} {text}", right(label, labels));
    }
    drawn
}

fn share(value: f64, longest: f64) -> f64 {
    if value > 0.0 && longest > 0.0 {
        value / longest
    } else {
        0.0
    }
}

/// A value that is there is never drawn as nothing.
fn blocks(length: f64) -> String {
    let eighths = (length * 8.0).round() as usize;
    let eighths = eighths.max(usize::from(length > 0.0));
    "█".repeat(eighths / 8) + EIGHTHS[eighths % 8]
}

fn widest<'a>(texts: impl Iterator<Item = &'a str>) -> usize {
    texts.map(measure_text_width).max().unwrap_or(0)
}

fn right(label: &str, width: usize) -> String {
    let shown = truncate_str(label, width, "…");
    let blanks = " ".repeat(width.saturating_sub(measure_text_width(&shown)));
    format!("{blanks}{shown}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bar(label: &str, value: f64) -> (String, f64, String) {
        (label.to_owned(), value, format!("{value}"))
    }

    #[test]
    fn lengths_are_in_proportion() {
        let screen = Screen::plain().with_width(30);
        let text = histogram(
            &[bar("1", 20.0), bar("2–4", 10.0), bar("5+", 0.01)],
            &screen,
        );
        let lengths: Vec<usize> = text.lines().map(|l| l.matches('█').count()).collect();
        assert_eq!(lengths[0], 2 * lengths[1] + lengths[0] % 2);
        assert!(text.lines().last().unwrap().contains('▏'));
        assert!(text.lines().all(|line| measure_text_width(line) <= 30));
    }

    #[test]
    fn zeros_and_nothing_are_fine() {
        assert_eq!(histogram(&[], &Screen::plain()), "");
        assert_eq!(histogram(&[bar("a", 0.0)], &Screen::plain()), "a   0\n");
    }
}
