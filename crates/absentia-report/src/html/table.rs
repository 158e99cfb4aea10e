//! The tables of the terminal, as HTML.

use super::escape::escape;
use crate::terminal::{Align, Cell, Column, Table};

/// A captioned table whose best values are marked and whose numbers sort as numbers.
pub(super) fn html(caption: &str, table: &Table) -> String {
    let headings: String = table.columns().iter().map(heading).collect();
    let rows: String = (0..table.rows().len()).map(|n| row(table, n)).collect();
    let caption = if caption.is_empty() {
        String::new()
    } else {
        format!("<caption>{}</caption>", escape(caption))
    };
    format!(
        "<div class=\"scroll\"><table>{caption}\
         <thead><tr>{headings}</tr></thead>\n<tbody>{rows}</tbody></table></div>\n"
    )
}

fn heading(column: &Column) -> String {
    let class = class(column.align(), false);
    format!("<th scope=\"col\"{class}>{}</th>", escape(column.heading()))
}

fn row(table: &Table, n: usize) -> String {
    let cells = table.rows()[n].iter().enumerate().map(|(c, cell)| {
        let class = class(table.columns()[c].align(), table.is_best(n, c));
        let key = cell.value().filter(|v| v.is_finite());
        let key = key.map_or(String::new(), |v| format!(" data-value=\"{v}\""));
        format!("<td{class}{key}>{}</td>", content(cell))
    });
    format!("<tr>{}</tr>\n", cells.collect::<String>())
}

/// The interval is set more quietly than the mean it belongs to.
fn content(cell: &Cell) -> String {
    match cell.as_text().split_once(" ± ") {
        Some((mean, half)) if cell.value().is_some() => format!(
            "{} <span class=\"half\">± {}</span>",
            escape(mean),
            escape(half)
        ),
        // Long ids and schemes may break after their separators rather than within a word.
        _ => escape(cell.as_text()).replace(',', ",<wbr>"),
    }
}

fn class(align: Align, best: bool) -> &'static str {
    match (align, best) {
        (Align::Right, true) => " class=\"number best\"",
        (Align::Right, false) => " class=\"number\"",
        (Align::Left, true) => " class=\"best\"",
        (Align::Left, false) => "",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_are_escaped_marked_and_sortable() {
        let mut table = Table::new([
            Column::left("weights & more"),
            Column::right("ndcg@10").highest_is_best(),
        ]);
        table.row([Cell::text("<b>"), Cell::mean(0.17, 0.002)]);
        table.row([Cell::text("b"), Cell::metric(0.18)]);
        let text = html("Both \"models\"", &table);
        assert!(text.contains("weights &amp; more") && text.contains("&lt;b&gt;"));
        assert!(text.contains("<caption>Both &quot;models&quot;</caption>"));
        assert!(text.contains("data-value=\"0.17\">0.1700 <span class=\"half\">± 0.0020</span>"));
        assert_eq!(text.matches("number best").count(), 1);
    }
}
