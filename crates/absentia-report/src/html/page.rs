//! The page: parts in the order in which they are added.

use super::chart::Chart;
use super::escape::{escape, prose};
use super::frame::{SMALL, WIDE};
use super::table;
use crate::terminal::Table;

/// The style sheet of reports and their charts.
pub const STYLE: &str = include_str!("report.css");
const SCRIPT: &str = include_str!("report.js");
/// Nothing may be loaded or sent: the file is complete.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'";

/// A report under construction.
#[derive(Clone, Debug)]
pub struct Report {
    title: String,
    subtitle: String,
    footer: String,
    body: String,
}

impl Report {
    /// An empty report.
    pub fn new(title: impl Into<String>) -> Self {
        Self {
            title: title.into(),
            subtitle: String::new(),
            footer: format!("absentia {}", env!("CARGO_PKG_VERSION")),
            body: String::new(),
        }
    }

    /// A line under the title: the data set, the command, the day.
    #[must_use]
    pub fn subtitle(mut self, text: impl Into<String>) -> Self {
        self.subtitle = text.into();
        self
    }

    /// The line at the end of the page, the version of the program unless set.
    #[must_use]
    pub fn footer(mut self, text: impl Into<String>) -> Self {
        self.footer = text.into();
        self
    }

    /// Starts a section.
    #[must_use]
    pub fn section(self, heading: &str) -> Self {
        self.part(&format!("<h2>{}</h2>\n", escape(heading)))
    }

    /// Adds prose; words between back-ticks are set as code.
    #[must_use]
    pub fn paragraph(self, text: &str) -> Self {
        self.part(&format!("<p>{}</p>\n", prose(text)))
    }

    /// Adds the most important numbers in large type, as `(name, value)`.
    #[must_use]
    pub fn highlights<K: AsRef<str>, V: AsRef<str>>(
        self,
        pairs: impl IntoIterator<Item = (K, V)>,
    ) -> Self {
        self.pairs("highlights", pairs)
    }

    /// Adds names and values, such as parameters.
    #[must_use]
    pub fn key_values<K: AsRef<str>, V: AsRef<str>>(
        self,
        pairs: impl IntoIterator<Item = (K, V)>,
    ) -> Self {
        self.pairs("facts", pairs)
    }

    /// Adds a table, the same that the terminal shows.
    #[must_use]
    pub fn table(self, caption: &str, table: &Table) -> Self {
        self.part(&table::html(caption, table))
    }

    /// Adds text to be read as it is, such as a configuration file.
    #[must_use]
    pub fn code(self, caption: &str, text: &str) -> Self {
        self.part(&format!(
            "<figure><figcaption>{}</figcaption><pre><code>{}</code></pre></figure>\n",
            escape(caption),
            escape(text)
        ))
    }

    /// Adds a chart of any kind over the width of the page.
    #[must_use]
    pub fn chart(self, chart: impl Into<Chart>) -> Self {
        let figure = chart.into().figure(WIDE);
        self.part(&figure)
    }

    /// Adds small charts, two in a row.
    #[must_use]
    pub fn small_multiples<C: Into<Chart>>(self, charts: impl IntoIterator<Item = C>) -> Self {
        let figures = charts.into_iter().map(|chart| chart.into().figure(SMALL));
        let figures: String = figures.collect();
        self.part(&format!("<div class=\"multiples\">{figures}</div>\n"))
    }

    /// The finished page.
    #[must_use]
    pub fn render(&self) -> String {
        let title = escape(&self.title);
        format!(
            "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
             <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
             <meta name=\"color-scheme\" content=\"light dark\">\n\
             <meta http-equiv=\"Content-Security-Policy\" content=\"{POLICY}\">\n\
             <title>{title}</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n\
             <header>\n<h1>{title}</h1>\n{}</header>\n<main>\n{}</main>\n\
             <footer>{}</footer>\n<script>\n{SCRIPT}</script>\n</body>\n</html>\n",
            self.lead(),
            self.body,
            prose(&self.footer)
        )
    }

    fn lead(&self) -> String {
        if self.subtitle.is_empty() {
            return String::new();
        }
        format!("<p>{}</p>\n", prose(&self.subtitle))
    }

    fn pairs<K: AsRef<str>, V: AsRef<str>>(
        self,
        class: &str,
        pairs: impl IntoIterator<Item = (K, V)>,
    ) -> Self {
        let items = pairs.into_iter().map(|(key, value)| {
            let (key, value) = (escape(key.as_ref()), escape(value.as_ref()));
            format!("<div><dt>{key}</dt><dd>{value}</dd></div>")
        });
        let items: String = items.collect();
        self.part(&format!("<dl class=\"{class}\">{items}</dl>\n"))
    }

    fn part(mut self, html: &str) -> Self {
        self.body.push_str(html);
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::html::{BarChart, ChartAxis, LineChart};

    #[test]
    fn parts_keep_their_order() {
        let page = Report::new("T")
            .section("One")
            .paragraph("two")
            .key_values([("three", "3")])
            .code("four", "4")
            .render();
        let places = ["One", "two", "three", "four", "</main>"].map(|p| page.find(p).unwrap());
        assert!(places.is_sorted());
    }

    #[test]
    fn no_text_can_break_out() {
        let evil = "</script><img src=x onerror=alert(1)>";
        let page = Report::new(evil)
            .subtitle(evil)
            .footer(evil)
            .section(evil)
            .paragraph(evil)
            .key_values([(evil, evil)])
            .code(evil, evil)
            .chart(
                LineChart::new(evil, ChartAxis::linear(evil), ChartAxis::linear(evil))
                    .curve(evil, &[1.0, 2.0]),
            )
            .chart(BarChart::new(evil).bar(evil, 1.0))
            .render();
        assert!(!page.contains("<img"));
        assert_eq!(page.matches("</script>").count(), 1);
    }

    #[test]
    fn small_charts_may_be_of_different_kinds() {
        let bars = BarChart::new("b").bar("x", 1.0);
        let line =
            LineChart::new("l", ChartAxis::whole("sweep"), ChartAxis::log("y")).curve("c", &[1.0]);
        let page = Report::new("T").small_multiples([Chart::from(bars), Chart::from(line)]);
        assert_eq!(page.render().matches("<figure>").count(), 2);
    }
}
