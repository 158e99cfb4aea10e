//! Two types of a crate must not share a name. Tests are free.

use std::collections::HashMap;
use std::path::Path;

use crate::imports::{code, packages, sources};

/// Fails with a list of the names that several types of a crate have.
pub(crate) fn check(repository: &Path) -> Result<(), String> {
    let mut shared = Vec::new();
    for (name, folder) in packages(repository)? {
        let mut places: HashMap<String, Vec<String>> = HashMap::new();
        for file in sources(&folder.join("src")) {
            let text = std::fs::read_to_string(&file).map_err(|error| error.to_string())?;
            let shown = file.strip_prefix(repository).unwrap_or(&file).display();
            for (line, text) in code(&text).lines().enumerate() {
                if let Some(declared) = declared(text) {
                    let place = format!("{shown}:{}", line + 1);
                    places.entry(declared.to_owned()).or_default().push(place);
                }
            }
        }
        places.retain(|_, places| places.len() > 1);
        shared.extend(places.into_iter().map(|(declared, places)| {
            format!("{name} has several types {declared}: {}", places.join(", "))
        }));
    }
    if shared.is_empty() {
        return Ok(());
    }
    shared.sort();
    Err(shared.join("\n"))
}

/// The type or trait that a line of code declares. Types of an implementation, which are indented, are not declared
/// there.
fn declared(line: &str) -> Option<&str> {
    let is_indented = line.starts_with(' ');
    let mut words = line
        .split_whitespace()
        .skip_while(|word| word.starts_with("pub") || *word == "unsafe");
    let is_type = match words.next()? {
        "struct" | "enum" | "union" | "trait" => true,
        "type" => !is_indented,
        _ => false,
    };
    let name = words.next().filter(|_| is_type)?;
    let end = name.find(|c: char| !c.is_alphanumeric() && c != '_');
    Some(&name[..end.unwrap_or(name.len())])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn declarations_are_found_by_their_first_words() {
        for (line, name) in [
            ("pub(crate) struct Row<'a> {", Some("Row")),
            ("    enum Kind {", Some("Kind")),
            ("pub unsafe trait Lanes: Sized {", Some("Lanes")),
            ("type Pairs = Vec<(u32, u32)>;", Some("Pairs")),
            ("    type Error = Never;", None),
            ("let struct_of = 1;", None),
            ("", None),
        ] {
            assert_eq!(declared(line), name, "{line}");
        }
    }
}
