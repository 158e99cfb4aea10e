//! Tables that are aligned, fit the screen and highlight the best value.

use console::{measure_text_width, truncate_str};

use super::screen::{Paint, Screen};
use crate::format;

const GAP: &str = "  ";
/// The smallest width that a column of words is shortened to.
const NARROWEST: usize = 8;

/// How the text of a column is aligned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Align {
    /// For words and ids; shortened with `…` if the screen is narrow.
    Left,
    /// For numbers; never shortened.
    Right,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Best {
    Highest,
    Lowest,
}

/// The heading of a column, its alignment, and whether its best value is highlighted.
#[derive(Clone, Debug)]
pub struct Column {
    heading: String,
    align: Align,
    best: Option<Best>,
}

impl Column {
    /// A column of words or ids.
    pub fn left(heading: impl Into<String>) -> Self {
        Self::new(heading.into(), Align::Left)
    }

    /// A column of numbers.
    pub fn right(heading: impl Into<String>) -> Self {
        Self::new(heading.into(), Align::Right)
    }

    fn new(heading: String, align: Align) -> Self {
        Self {
            heading,
            align,
            best: None,
        }
    }

    /// Highlights the largest value.
    #[must_use]
    pub fn highest_is_best(mut self) -> Self {
        self.best = Some(Best::Highest);
        self
    }

    /// Highlights the smallest value.
    #[must_use]
    pub fn lowest_is_best(mut self) -> Self {
        self.best = Some(Best::Lowest);
        self
    }

    /// The heading of the column.
    #[must_use]
    pub fn heading(&self) -> &str {
        &self.heading
    }

    /// The alignment of its texts.
    #[must_use]
    pub fn align(&self) -> Align {
        self.align
    }
}

/// The text of a cell and, for a number, the value behind it.
#[derive(Clone, Debug)]
pub struct Cell {
    text: String,
    value: Option<f64>,
}

impl Cell {
    /// Words, which cannot be the best value.
    pub fn text(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            value: None,
        }
    }

    /// A number written as `text`, for units that [`format`](crate::format) knows.
    pub fn number(value: f64, text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            value: Some(value),
        }
    }

    /// A ranking metric.
    #[must_use]
    pub fn metric(value: f64) -> Self {
        Self::number(value, format::metric(value))
    }

    /// A mean with the half-width of its confidence interval.
    #[must_use]
    pub fn mean(value: f64, half: f64) -> Self {
        Self::number(value, format::mean(value, half))
    }

    /// A count with separated thousands.
    #[must_use]
    pub fn count(n: u64) -> Self {
        Self::number(n as f64, format::count(n))
    }

    /// The text shown.
    #[must_use]
    pub fn as_text(&self) -> &str {
        &self.text
    }

    /// The value behind a number, for sorting.
    #[must_use]
    pub fn value(&self) -> Option<f64> {
        self.value
    }
}

/// Rows under headings; the same table goes to the terminal and into a report.
#[derive(Clone, Debug)]
pub struct Table {
    columns: Vec<Column>,
    rows: Vec<Vec<Cell>>,
    /// The row that was chosen, which is highlighted instead of the best values.
    chosen: Option<usize>,
}

impl Table {
    /// A table without rows.
    pub fn new(columns: impl IntoIterator<Item = Column>) -> Self {
        Self {
            columns: columns.into_iter().collect(),
            rows: Vec::new(),
            chosen: None,
        }
    }

    /// Highlights the last row as the one that was chosen, whole, instead of the best value of each column.
    pub fn choose_last(&mut self) {
        self.chosen = self.rows.len().checked_sub(1);
    }

    /// Adds a row; missing cells are empty and surplus ones are dropped.
    pub fn row(&mut self, cells: impl IntoIterator<Item = Cell>) -> &mut Self {
        let mut row: Vec<Cell> = cells.into_iter().collect();
        row.resize_with(self.columns.len(), || Cell::text(""));
        self.rows.push(row);
        self
    }

    /// The columns from left to right.
    #[must_use]
    pub fn columns(&self) -> &[Column] {
        &self.columns
    }

    /// The rows from top to bottom, each with one cell per column.
    #[must_use]
    pub fn rows(&self) -> &[Vec<Cell>] {
        &self.rows
    }

    /// Whether the cell is highlighted: it is in the chosen row, or holds the best value of its column, which needs
    /// two rows to mean anything.
    #[must_use]
    pub fn is_best(&self, row: usize, column: usize) -> bool {
        if let Some(chosen) = self.chosen {
            return row == chosen;
        }
        let value = self.rows[row][column].value.filter(|v| v.is_finite());
        match (self.columns[column].best, value) {
            (Some(best), Some(value)) => self.none_beats(value, column, best),
            _ => false,
        }
    }

    fn none_beats(&self, value: f64, column: usize, best: Best) -> bool {
        let values = self.rows.iter().filter_map(|row| row[column].value);
        let beaten = values.clone().any(|other| match best {
            Best::Highest => other > value,
            Best::Lowest => other < value,
        });
        !beaten && values.count() > 1
    }

    /// The table as lines of text, each ending in a newline.
    #[must_use]
    pub fn render(&self, screen: &Screen) -> String {
        let widths = self.widths(screen.width());
        let mut text = self.heading_line(&widths, screen);
        text.push_str(&rule(&widths, screen));
        for row in 0..self.rows.len() {
            text.push_str(&self.row_line(row, &widths, screen));
        }
        text
    }

    fn heading_line(&self, widths: &[usize], screen: &Screen) -> String {
        let headings = self.columns.iter().zip(widths).map(|(column, &width)| {
            let padded = pad(&column.heading, width, column.align);
            screen.paint(Paint::Heading, &padded)
        });
        line(headings)
    }

    fn row_line(&self, row: usize, widths: &[usize], screen: &Screen) -> String {
        let cells = self.rows[row].iter().enumerate().map(|(column, cell)| {
            let padded = pad(&cell.text, widths[column], self.columns[column].align);
            if self.is_best(row, column) {
                screen.paint(Paint::Best, &padded)
            } else {
                padded
            }
        });
        line(cells)
    }

    fn widths(&self, limit: Option<usize>) -> Vec<usize> {
        let mut widths: Vec<usize> = (0..self.columns.len())
            .map(|c| self.natural_width(c))
            .collect();
        if let Some(limit) = limit {
            self.shrink(&mut widths, limit);
        }
        widths
    }

    fn natural_width(&self, column: usize) -> usize {
        let cells = self.rows.iter().map(|row| shown_width(&row[column].text));
        let heading = shown_width(&self.columns[column].heading);
        cells.max().unwrap_or(0).max(heading)
    }

    /// Narrows the widest columns of words until a line fits or all are at their smallest width.
    fn shrink(&self, widths: &mut [usize], limit: usize) {
        let gaps = GAP.len() * widths.len().saturating_sub(1);
        while widths.iter().sum::<usize>() + gaps > limit {
            let widest = (0..widths.len())
                .filter(|&c| self.columns[c].align == Align::Left && widths[c] > NARROWEST)
                .max_by_key(|&c| widths[c]);
            match widest {
                Some(column) => widths[column] -= 1,
                None => return,
            }
        }
    }
}

/// A table of names and values without headings, for parameters and sizes.
pub fn key_values<K: AsRef<str>, V: AsRef<str>>(
    pairs: impl IntoIterator<Item = (K, V)>,
    screen: &Screen,
) -> String {
    let pairs: Vec<(K, V)> = pairs.into_iter().collect();
    let width = pairs.iter().map(|(key, _)| shown_width(key.as_ref())).max();
    let width = width.unwrap_or(0);
    let lines = pairs.iter().map(|(key, value)| {
        let key = pad(key.as_ref(), width, Align::Left);
        line([screen.paint(Paint::Faint, &key), clean(value.as_ref())])
    });
    lines.collect()
}

fn rule(widths: &[usize], screen: &Screen) -> String {
    let dashes = widths.iter().map(|&width| "─".repeat(width));
    let text = dashes.collect::<Vec<_>>().join(GAP);
    screen.paint(Paint::Faint, &text) + "\n"
}

/// Joins cells without leaving blanks at the end of the line.
fn line(cells: impl IntoIterator<Item = String>) -> String {
    let text = cells.into_iter().collect::<Vec<_>>().join(GAP);
    text.trim_end().to_owned() + "\n"
}

fn pad(text: &str, width: usize, align: Align) -> String {
    let text = clean(text);
    let shown = truncate_str(&text, width, "…");
    let blanks = " ".repeat(width.saturating_sub(measure_text_width(&shown)));
    match align {
        Align::Left => format!("{shown}{blanks}"),
        Align::Right => format!("{blanks}{shown}"),
    }
}

fn shown_width(text: &str) -> usize {
    measure_text_width(&clean(text))
}

/// Ids come from files: control characters in them must not move the cursor or colour the screen.
fn clean(text: &str) -> String {
    text.chars()
        .map(|c| if c.is_control() { '\u{fffd}' } else { c })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> Table {
        let mut table = Table::new([
            Column::left("weights"),
            Column::right("ndcg@10").highest_is_best(),
            Column::right("seconds").lowest_is_best(),
        ]);
        table.row([
            Cell::text("uniform:0.01"),
            Cell::mean(0.1712, 0.0021),
            Cell::number(3.25, "3.3"),
        ]);
        table.row([
            Cell::text("日本"),
            Cell::mean(0.1834, 0.0022),
            Cell::number(12.5, "12.5"),
        ]);
        table
    }

    #[test]
    fn columns_line_up_whatever_the_width_of_a_character() {
        let text = sample().render(&Screen::plain());
        let expected = "\
weights               ndcg@10  seconds
────────────  ───────────────  ───────
uniform:0.01  0.1712 ± 0.0021      3.3
日本          0.1834 ± 0.0022     12.5
";
        assert_eq!(text, expected);
    }

    #[test]
    fn the_best_value_is_the_only_one_coloured() {
        let table = sample();
        assert!(table.is_best(1, 1) && !table.is_best(0, 1));
        assert!(table.is_best(0, 2) && !table.is_best(0, 0));
        let text = table.render(&Screen::plain().with_colour(true));
        assert_eq!(text.matches("\u{1b}[32m").count(), 2);
    }

    #[test]
    fn a_row_that_was_chosen_is_highlighted_whole() {
        let mut table = Table::new([Column::left("a"), Column::right("x").highest_is_best()]);
        table.row([Cell::text("chosen"), Cell::metric(0.4)]);
        table.choose_last();
        table.row([Cell::text("higher"), Cell::metric(0.5)]);
        assert!(table.is_best(0, 0) && table.is_best(0, 1));
        assert!(!table.is_best(1, 0) && !table.is_best(1, 1));
    }

    #[test]
    fn a_single_row_has_no_best() {
        let mut table = Table::new([Column::right("x").highest_is_best()]);
        table.row([Cell::metric(0.5)]);
        assert!(!table.is_best(0, 0));
    }

    #[test]
    fn nan_is_never_best() {
        let mut table = Table::new([Column::right("x").highest_is_best()]);
        table.row([Cell::metric(f64::NAN)]).row([Cell::metric(0.5)]);
        assert!(!table.is_best(0, 0) && table.is_best(1, 0));
    }

    #[test]
    fn long_ids_are_shortened_and_numbers_are_not() {
        let mut table = Table::new([Column::left("item"), Column::right("score")]);
        table.row([Cell::text("x".repeat(100)), Cell::metric(0.5)]);
        let text = table.render(&Screen::plain().with_width(30));
        assert!(text.contains('…') && text.contains("0.5000"));
        assert!(text.lines().all(|line| measure_text_width(line) <= 30));
    }

    #[test]
    fn escape_sequences_in_ids_are_disarmed() {
        let mut table = Table::new([Column::left("item")]);
        table.row([Cell::text("\u{1b}[31mred\nline")]);
        let text = table.render(&Screen::plain());
        assert!(!text.contains('\u{1b}'));
        assert_eq!(text.lines().count(), 3);
    }

    #[test]
    fn short_rows_are_filled() {
        let mut table = Table::new([Column::left("a"), Column::left("b")]);
        table.row([Cell::text("1")]);
        assert_eq!(table.rows()[0].len(), 2);
    }

    #[test]
    fn key_values_line_up() {
        let text = key_values([("factors", "64"), ("λ", "0.01")], &Screen::plain());
        assert_eq!(text, "factors  64\nλ        0.01\n");
    }
}
