//! Markup that holds escaped text only, tables, and the frame of a page.

use std::fmt::Write as _;

use absentia_io::time::Moment;
use absentia_report::html::Chart;

use crate::api::{Answer, escaped};
use crate::auth::{Principal, Scope};

/// Markup. Text from data gets into it escaped, whatever way it takes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Html(String);

impl Html {
    /// Text from anywhere.
    pub(super) fn text(text: &str) -> Self {
        Self(escaped(text))
    }

    /// Markup that is written in this program.
    pub(super) fn trusted(markup: impl Into<String>) -> Self {
        Self(markup.into())
    }

    /// Something within a tag.
    pub(super) fn tag(tag: &'static str, inner: &Self) -> Self {
        Self(format!("<{tag}>{}</{tag}>", inner.0))
    }

    /// Something within a tag that has a class.
    pub(super) fn of_class(tag: &'static str, class: &'static str, inner: &Self) -> Self {
        Self(format!("<{tag} class=\"{class}\">{}</{tag}>", inner.0))
    }

    /// A link; its target is made of [`encoded`] parts.
    pub(super) fn link(to: &str, text: &str) -> Self {
        Self(format!("<a href=\"{}\">{}</a>", escaped(to), escaped(text)))
    }

    /// Both, one after the other.
    pub(super) fn and(mut self, more: &Self) -> Self {
        self.0.push_str(&more.0);
        self
    }

    pub(super) fn as_str(&self) -> &str {
        &self.0
    }
}

/// A column of a table.
#[derive(Clone, Copy, Debug)]
pub(super) enum Column {
    /// Text.
    Text(&'static str),
    /// Numbers, at the right.
    Number(&'static str),
}

/// A table; a sentence if it has no row.
pub(super) fn table(columns: &[Column], rows: &[Vec<Html>], if_empty: &str) -> Html {
    if rows.is_empty() {
        return Html::of_class("p", "soft", &Html::text(if_empty));
    }
    let class = |column: &Column| match column {
        Column::Text(_) => "",
        Column::Number(_) => " class=\"number\"",
    };
    let heads = columns.iter().map(|column| {
        let (Column::Text(name) | Column::Number(name)) = column;
        format!("<th scope=\"col\"{}>{}</th>", class(column), escaped(name))
    });
    let heads: String = heads.collect();
    let mut body = String::new();
    for row in rows {
        body.push_str("<tr>");
        for (column, cell) in columns.iter().zip(row) {
            let _ = write!(body, "<td{}>{}</td>", class(column), cell.0);
        }
        body.push_str("</tr>");
    }
    Html(format!(
        "<div class=\"scroll\"><table><thead><tr>{heads}</tr></thead><tbody>{body}</tbody></table></div>"
    ))
}

/// Names and values: `highlights` in large type, or `facts`.
pub(super) fn pairs<V: AsRef<str>>(
    class: &'static str,
    pairs: impl IntoIterator<Item = (&'static str, V)>,
) -> Html {
    let parts = pairs.into_iter().map(|(name, value)| {
        let value = escaped(value.as_ref());
        format!("<div><dt>{}</dt><dd>{value}</dd></div>", escaped(name))
    });
    Html(format!(
        "<dl class=\"{class}\">{}</dl>",
        parts.collect::<String>()
    ))
}

/// A page under construction.
#[derive(Clone, Debug)]
pub(super) struct Page {
    title: String,
    lead: String,
    body: String,
    seconds: Option<u32>,
}

const PAGES: [(&str, &str); 5] = [
    ("/dashboard", "Overview"),
    ("/dashboard/look-up", "Look up"),
    ("/dashboard/model", "Model"),
    ("/dashboard/data", "Data"),
    ("/dashboard/quality", "Quality"),
];

impl Page {
    /// A page with a title and a sentence under it.
    pub(super) fn new(title: &str, lead: &str) -> Self {
        Self {
            title: title.to_owned(),
            lead: lead.to_owned(),
            body: String::new(),
            seconds: None,
        }
    }

    /// Loads it again after some seconds.
    pub(super) fn again_after(mut self, seconds: u32) -> Self {
        self.seconds = Some(seconds);
        self
    }

    /// Starts a section.
    pub(super) fn section(self, heading: &str) -> Self {
        self.push(Html::tag("h2", &Html::text(heading)))
    }

    /// Adds markup.
    #[allow(clippy::needless_pass_by_value, reason = "markup is made for this")]
    pub(super) fn push(mut self, part: Html) -> Self {
        self.body.push_str(part.as_str());
        self.body.push('\n');
        self
    }

    /// The page as an answer.
    pub(super) fn answer(&self, status: u16, reader: Option<&Principal>) -> Answer {
        let again = self.seconds.map_or(String::new(), |seconds| {
            format!("<meta http-equiv=\"refresh\" content=\"{seconds}\">")
        });
        let lead = match self.lead.as_str() {
            "" => String::new(),
            lead => format!("<p>{}</p>", escaped(lead)),
        };
        let page = format!(
            "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\
             <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\
             <meta name=\"color-scheme\" content=\"light dark\">{again}\
             <title>{title} · Absentia</title><link rel=\"icon\" href=\"/dashboard/icon.svg\">\
             <link rel=\"stylesheet\" href=\"/dashboard/style.css\"></head>\n<body>{}\
             <header><h1>{title}</h1>{lead}</header>\n<main>\n{}</main>\n\
             <footer>absentia {} · <a href=\"/docs\">API</a></footer></body></html>\n",
            self.navigation(reader),
            self.body,
            env!("CARGO_PKG_VERSION"),
            title = escaped(&self.title),
        );
        Answer::of(status, "text/html; charset=utf-8", page)
    }

    fn navigation(&self, reader: Option<&Principal>) -> String {
        let Some(reader) = reader else {
            return String::new();
        };
        let links = PAGES.map(|(path, name)| {
            let here = if name == self.title {
                " aria-current=\"page\""
            } else {
                ""
            };
            format!("<a href=\"{path}\"{here}>{name}</a>")
        });
        let out = if reader.key.is_empty() {
            String::new()
        } else {
            format!(
                "<form method=\"post\" action=\"/dashboard/logout\">\
                 <button class=\"quiet\">Log out ({})</button></form>",
                reader.scope.name()
            )
        };
        format!("<nav>{}{out}</nav>", links.concat())
    }
}

/// A chart over the width of the page. On a phone, where its text would be too small to read or the chart
/// wider than the screen, the drawing for one of several in a row takes its place.
pub(super) fn wide_chart(chart: impl Into<Chart>) -> Html {
    let chart = chart.into();
    Html::trusted(format!(
        "<div class=\"on-wide\">{}</div><div class=\"on-phone\">{}</div>",
        chart.wide(),
        chart.small()
    ))
}

/// A moment of the server's clock, in milliseconds of unix time.
pub(super) fn when(milliseconds: i64) -> Html {
    let text = Moment(milliseconds / 1000).to_string();
    let text = text.replacen('T', " ", 1).replace('Z', " UTC");
    Html::of_class("time", "when", &Html::text(&text))
}

/// Whether a reader may act.
pub(super) fn may_act(reader: &Principal) -> bool {
    reader.scope >= Scope::Admin
}

/// A part of a path or query, with everything but letters, digits and a few marks as `%41`.
pub(super) fn encoded(part: &str) -> String {
    let mut text = String::with_capacity(part.len());
    for byte in part.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => {
                text.push(char::from(byte));
            }
            _ => {
                let _ = write!(text, "%{byte:02X}");
            }
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    const EVIL: &str = "\"><script>alert('x')</script>&";

    #[test]
    fn no_text_becomes_markup() {
        let cells = vec![vec![Html::text(EVIL), Html::link(EVIL, EVIL)]];
        let page = Page::new(EVIL, EVIL)
            .section(EVIL)
            .push(table(&[Column::Text("a"), Column::Number("b")], &cells, ""))
            .push(table(&[], &[], EVIL))
            .push(pairs("facts", [("a", EVIL)]))
            .answer(200, None);
        let page = String::from_utf8(page.body.to_vec()).unwrap();
        assert!(
            !page.contains("<script") && !page.contains("\"><s"),
            "{page}"
        );
        assert!(page.contains("&lt;script&gt;"));
    }

    #[test]
    fn encoded_parts_have_no_mark_of_a_query() {
        assert_eq!(encoded("a b&c=d/ü"), "a%20b%26c%3Dd%2F%C3%BC");
    }
}
