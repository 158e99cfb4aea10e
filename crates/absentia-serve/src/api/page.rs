//! `/docs`: the description of the API as a page, without any script.

use std::fmt::Write as _;
use std::sync::OnceLock;

use serde_json::Value;

use super::schema;

const STYLE: &str = "
:root { color-scheme: light dark; }
h2 { margin: 2rem 0 .2rem; } h2 + p { margin-top: 0; opacity: .8; }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 52rem; margin: 0 auto; padding: 1rem; }
code, pre { font-family: ui-monospace, monospace; font-size: .9em; }
pre { overflow-x: auto; padding: .6rem; border: 1px solid #8884; border-radius: .4rem; }
details { border: 1px solid #8884; border-radius: .4rem; margin: .5rem 0; padding: .4rem .8rem; }
summary { cursor: pointer; overflow-wrap: anywhere; }
.method { display: inline-block; min-width: 4.2rem; font-weight: 700; }
.scope { opacity: .7; font-size: .85em; }
table { border-collapse: collapse; display: block; overflow-x: auto; font-size: .93em; } td, th { text-align: left; padding: .15rem .8rem .15rem 0; vertical-align: top; }
";

/// The page, made once.
pub(super) fn page(document: &str) -> &'static str {
    static PAGE: OnceLock<String> = OnceLock::new();
    PAGE.get_or_init(|| rendered(&serde_json::from_str(document).unwrap_or_default()))
}

fn rendered(document: &Value) -> String {
    let mut page = format!(
        "<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" \
         content=\"width=device-width, initial-scale=1\"><title>Absentia API</title><style>{STYLE}</style>\
         </head><body><h1>Absentia API</h1><p>{}</p><p><a href=\"/openapi.json\">openapi.json</a> · <a href=\"/dashboard\">dashboard</a></p>",
        shown(&document["info"]["description"])
    );
    for tag in document["tags"].as_array().into_iter().flatten() {
        let _ = write!(
            page,
            "<h2>{}</h2><p>{}</p>",
            shown(&tag["name"]),
            shown(&tag["description"])
        );
        for (path, methods) in entries(&document["paths"]) {
            let of_tag =
                entries(methods).filter(|(_, operation)| operation["tags"][0] == tag["name"]);
            for (method, operation) in of_tag {
                operation_of(&mut page, document, path, method, operation);
            }
        }
    }
    page.push_str("</body></html>");
    page
}

fn operation_of(page: &mut String, document: &Value, path: &str, method: &str, operation: &Value) {
    let _ = write!(
        page,
        "<details><summary><span class=\"method\">{}</span> <code>{}</code> {} <span class=\"scope\">{}</span>\
         </summary>",
        method.to_uppercase(),
        escaped(path),
        shown(&operation["summary"]),
        match operation["x-scope"].as_str() {
            Some("none") | None => "no key".to_owned(),
            Some(scope) => format!("scope {scope}"),
        }
    );
    if !operation["description"].is_null() {
        let _ = write!(page, "<p>{}</p>", shown(&operation["description"]));
    }
    let parameters = operation["parameters"]
        .as_array()
        .map_or(&[][..], Vec::as_slice);
    if !parameters.is_empty() {
        page.push_str("<table>");
        for parameter in parameters {
            let _ = write!(
                page,
                "<tr><td><code>{}</code></td><td>{}</td><td>{}</td></tr>",
                shown(&parameter["name"]),
                shown(&parameter["in"]),
                shown(&parameter["description"])
            );
        }
        page.push_str("</table>");
    }
    for (kind, content) in entries(&operation["requestBody"]["content"]) {
        let _ = write!(
            page,
            "<p>Body ({}):</p>{}",
            escaped(kind),
            schema::shown(document, &content["schema"])
        );
    }
    for (status, response) in entries(&operation["responses"]) {
        let _ = write!(
            page,
            "<p><strong>{}</strong> {}</p>",
            escaped(status),
            shown(&response["description"])
        );
        if status.starts_with('2') {
            for (_, content) in entries(&response["content"]) {
                page.push_str(&schema::shown(document, &content["schema"]));
            }
        }
    }
    page.push_str("</details>");
}

fn entries(value: &Value) -> impl Iterator<Item = (&String, &Value)> {
    value.as_object().into_iter().flatten()
}

/// A text of the document; what is between backticks is code.
fn shown(value: &Value) -> String {
    let text = escaped(value.as_str().unwrap_or_default());
    let mut shown = String::with_capacity(text.len());
    for (at, part) in text.split('`').enumerate() {
        if at.is_multiple_of(2) {
            shown.push_str(part);
        } else {
            let _ = write!(shown, "<code>{part}</code>");
        }
    }
    shown
}

/// Text as it may be in a page.
pub(crate) fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            other => escaped.push(other),
        }
    }
    escaped
}
