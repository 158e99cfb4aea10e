//! What is known about the place where text will be shown.

use console::{Style, Term};

/// Width of a plot when nothing tells how wide the screen is.
const USUAL_WIDTH: usize = 80;
/// Wider plots are harder to read, not better.
const WIDEST_PLOT: usize = 100;

/// The meanings that colour carries; there are no others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Paint {
    /// Column headings and titles.
    Heading,
    /// The best value of a column.
    Best,
    /// Rules, axes and other things to look through.
    Faint,
    /// The marks of the `n`-th series of a plot.
    Series(usize),
}

/// The width of the output and whether it may be coloured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Screen {
    width: Option<usize>,
    colour: bool,
}

impl Screen {
    /// Standard output as it is now: wide as the terminal and coloured, unless piped or `NO_COLOR` is set.
    #[must_use]
    pub fn stdout() -> Self {
        let term = Term::stdout();
        if !term.is_term() {
            return Self::plain();
        }
        Self {
            width: term.size_checked().map(|(_, columns)| usize::from(columns)),
            colour: colour_is_welcome(
                std::env::var_os("NO_COLOR").is_some_and(|v| !v.is_empty()),
                std::env::var("TERM").ok().as_deref(),
            ),
        }
    }

    /// A file or pipe: no colour, and nothing is ever shortened.
    #[must_use]
    pub fn plain() -> Self {
        Self {
            width: None,
            colour: false,
        }
    }

    /// The same screen with a given number of columns.
    #[must_use]
    pub fn with_width(self, columns: usize) -> Self {
        Self {
            width: Some(columns),
            ..self
        }
    }

    /// The same screen with colour switched on or off.
    #[must_use]
    pub fn with_colour(self, colour: bool) -> Self {
        Self { colour, ..self }
    }

    /// The number of columns, if there is a limit.
    #[must_use]
    pub fn width(&self) -> Option<usize> {
        self.width
    }

    /// The number of columns a plot should take.
    #[must_use]
    pub fn plot_width(&self) -> usize {
        self.width.unwrap_or(USUAL_WIDTH).min(WIDEST_PLOT)
    }

    /// `text` in the colour of its meaning, or as it is on a plain screen.
    #[must_use]
    pub fn paint(&self, paint: Paint, text: &str) -> String {
        if !self.colour || text.is_empty() {
            return text.to_owned();
        }
        let style = match paint {
            Paint::Heading => Style::new().bold(),
            Paint::Best => Style::new().green().bold(),
            Paint::Faint => Style::new().dim(),
            Paint::Series(n) => series_style(n),
        };
        style.force_styling(true).apply_to(text).to_string()
    }
}

/// Colours that stay apart for colour-blind readers on light and dark backgrounds.
fn series_style(n: usize) -> Style {
    let style = Style::new();
    match n % 4 {
        0 => style.cyan(),
        1 => style.yellow(),
        2 => style.magenta(),
        _ => style.blue(),
    }
}

fn colour_is_welcome(no_color: bool, term: Option<&str>) -> bool {
    !no_color && term != Some("dumb")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plain_screen_never_colours() {
        assert_eq!(Screen::plain().paint(Paint::Best, "0.18"), "0.18");
    }

    #[test]
    fn colour_is_wrapped_around_the_text() {
        let screen = Screen::plain().with_colour(true);
        let text = screen.paint(Paint::Best, "0.18");
        assert!(text.contains("\u{1b}[") && text.contains("0.18"));
        assert_eq!(console::measure_text_width(&text), 4);
    }

    #[test]
    fn no_color_and_dumb_terminals_are_respected() {
        assert!(colour_is_welcome(false, Some("xterm")));
        assert!(!colour_is_welcome(true, Some("xterm")));
        assert!(!colour_is_welcome(false, Some("dumb")));
    }

    #[test]
    fn plots_do_not_grow_without_bound() {
        assert_eq!(Screen::plain().plot_width(), 80);
        assert_eq!(Screen::plain().with_width(400).plot_width(), 100);
        assert_eq!(Screen::plain().with_width(60).plot_width(), 60);
    }
}
