//! The page on the method names functions: they must be where it says.
#![allow(missing_docs, clippy::unwrap_used)]

use std::path::Path;

#[test]
fn every_function_the_page_links_to_is_there() {
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs");
    let page = std::fs::read_to_string(docs.join("method.md")).unwrap();
    let mut found = 0;
    for link in page.split("[`").skip(1) {
        let Some((name, rest)) = link.split_once("`](") else {
            continue;
        };
        let path = rest.split(')').next().unwrap();
        let text = std::fs::read_to_string(docs.join(path)).unwrap_or_else(|_| panic!("{path}"));
        let defined = ["fn ", "struct ", "enum "].iter().any(|kind| {
            let after = |end: char| text.contains(&format!("{kind}{name}{end}"));
            ['(', '<', ' ', ';'].into_iter().any(after)
        });
        assert!(defined, "{name} is not in {path}");
        found += 1;
    }
    assert!(found > 30, "{found}");
}

/// Formulas are in indented lines; what is said of each up to the next one names a function.
#[test]
fn every_formula_has_a_function() {
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs");
    let page = std::fs::read_to_string(docs.join("method.md")).unwrap();
    let mut formulas: Vec<(&str, String)> = Vec::new();
    let mut before = "";
    for line in page.lines() {
        let is_formula = line.starts_with("    ");
        if is_formula && before.is_empty() {
            formulas.push((line, String::new()));
        } else if line.starts_with("## ") {
            formulas.push(("", "[`".to_owned()));
        } else if let Some((_, text)) = formulas.last_mut() {
            text.push_str(line);
        }
        before = line;
    }
    let named = formulas.iter().filter(|(formula, _)| !formula.is_empty());
    assert!(named.clone().count() >= 7);
    for (formula, text) in named {
        assert!(text.contains("[`"), "no function for {formula}");
    }
}
