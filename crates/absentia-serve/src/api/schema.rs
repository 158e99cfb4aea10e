//! A schema of `openapi.json` for people: an example, and a table of its fields.

use std::fmt::Write as _;

use serde_json::{Map, Value, json};

use super::page::escaped;

/// Schemas within schemas beyond this are left out.
const DEPTH: usize = 6;

/// The example and the fields of a schema.
pub(super) fn shown(document: &Value, schema: &Value) -> String {
    let text = serde_json::to_string_pretty(&example(document, schema, DEPTH)).unwrap_or_default();
    let mut rows = String::new();
    fields(document, schema, "", DEPTH, &mut rows);
    let table = if rows.is_empty() {
        String::new()
    } else {
        format!("<table><tr><th>field</th><th>type</th><th></th></tr>{rows}</table>")
    };
    format!("<pre>{}</pre>{table}", escaped(&text))
}

/// What a reference leads to; the first one of several.
fn resolved<'a>(document: &'a Value, schema: &'a Value) -> &'a Value {
    let schema = schema["oneOf"].get(0).unwrap_or(schema);
    let path = schema["$ref"]
        .as_str()
        .and_then(|path| path.strip_prefix('#'));
    path.and_then(|path| document.pointer(path))
        .unwrap_or(schema)
}

/// The type of a schema; the first one of several.
fn kind(schema: &Value) -> &str {
    let kind = &schema["type"];
    kind.as_str().or(kind[0].as_str()).unwrap_or_default()
}

fn example(document: &Value, schema: &Value, depth: usize) -> Value {
    let schema = resolved(document, schema);
    for given in [&schema["example"], &schema["default"], &schema["enum"][0]] {
        if !given.is_null() {
            return given.clone();
        }
    }
    match kind(schema) {
        _ if depth == 0 => Value::Null,
        "object" => {
            let properties = schema["properties"].as_object();
            let parts = properties.into_iter().flatten();
            let object: Map<String, Value> = parts
                .map(|(name, part)| (name.clone(), example(document, part, depth - 1)))
                .collect();
            Value::Object(object)
        }
        "array" => json!([example(document, &schema["items"], depth - 1)]),
        "integer" => schema.get("minimum").cloned().unwrap_or(json!(1)),
        "number" => json!(0.5),
        "boolean" => json!(false),
        "string" => json!("..."),
        _ => Value::Null,
    }
}

fn fields(document: &Value, schema: &Value, before: &str, depth: usize, rows: &mut String) {
    let schema = resolved(document, schema);
    if depth == 0 {
        return;
    }
    if kind(schema) == "array" {
        return fields(
            document,
            &schema["items"],
            &format!("{before}[]"),
            depth - 1,
            rows,
        );
    }
    let required = schema["required"].as_array().map_or(&[][..], Vec::as_slice);
    for (name, part) in schema["properties"].as_object().into_iter().flatten() {
        let dot = if before.is_empty() { "" } else { "." };
        let path = format!("{before}{dot}{name}");
        let found = resolved(document, part);
        let must = if required.contains(&json!(name)) {
            ""
        } else {
            ", optional"
        };
        let _ = write!(
            rows,
            "<tr><td><code>{}</code></td><td>{}{must}</td><td>{}</td></tr>",
            escaped(&path),
            escaped(kind(found)),
            escaped(&about(found, part))
        );
        fields(document, part, &path, depth - 1, rows);
    }
}

/// What a field is, its values and its limits.
fn about(found: &Value, part: &Value) -> String {
    let description = part["description"]
        .as_str()
        .or(found["description"].as_str());
    let mut parts: Vec<String> = description.map(str::to_owned).into_iter().collect();
    if let Some(values) = found["enum"].as_array() {
        let values: Vec<&str> = values.iter().filter_map(Value::as_str).collect();
        parts.push(values.join(", "));
    }
    for (name, words) in [
        ("minimum", "at least"),
        ("maximum", "at most"),
        ("maxItems", "entries: at most"),
        ("x-maxBytes", "bytes in UTF-8: at most"),
    ] {
        if !found[name].is_null() {
            parts.push(format!("{words} {}", found[name]));
        }
    }
    parts.join("; ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn references_are_followed_and_limits_are_named() {
        let document = json!({"components": {"schemas": {
            "Event": {"type": "object", "required": ["user"], "properties": {
                "user": {"type": "string", "x-maxBytes": 9},
                "kind": {"type": "string", "enum": ["view", "click"]},
            }},
        }}});
        let events = json!({"type": "array", "items": {"$ref": "#/components/schemas/Event"}});
        let page = shown(&document, &events);
        assert!(
            page.contains("&quot;kind&quot;: &quot;view&quot;"),
            "{page}"
        );
        for part in [
            "[].user",
            "bytes in UTF-8: at most 9",
            "view, click",
            "string, optional",
        ] {
            assert!(page.contains(part), "{part}: {page}");
        }
        // A schema that holds itself ends.
        let endless = json!({"a": {"type": "object", "properties": {"a": {"$ref": "#/a"}}}});
        assert!(shown(&endless, &json!({"$ref": "#/a"})).contains("a.a.a"));
    }
}
