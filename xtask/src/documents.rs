//! Files that the documents for contributors name.

use std::path::Path;

const DOCUMENTS: [&str; 2] = ["ARCHITECTURE.md", "CONTRIBUTING.md"];

/// Folders that paths in the documents may start from.
const ROOTS: [&str; 4] = [
    "",
    "crates/absentia/src",
    "crates/absentia-search/src",
    "crates",
];

/// Fails with a list of the files that are named and do not exist.
pub(crate) fn check(repository: &Path) -> Result<(), String> {
    let mut missing = Vec::new();
    for document in DOCUMENTS {
        let path = repository.join(document);
        let text = std::fs::read_to_string(&path).map_err(|e| format!("{document}: {e}"))?;
        for (at, line) in text.lines().enumerate() {
            let absent = |named: &&str| {
                !ROOTS
                    .iter()
                    .any(|root| repository.join(root).join(named).exists())
            };
            let named = paths(line).filter(absent);
            missing.extend(
                named.map(|named| format!("{document}:{}: {named} does not exist", at + 1)),
            );
        }
    }
    if missing.is_empty() {
        return Ok(());
    }
    Err(missing.join("\n"))
}

/// Files and folders in a line of Markdown: words between back-ticks that have a slash and end in `.rs`,
/// `.toml` or a slash. Those with a place to fill in, such as `<name>`, are none.
fn paths(line: &str) -> impl Iterator<Item = &str> {
    let quoted = line.split('`').skip(1).step_by(2);
    quoted.filter(|word| {
        let extension = Path::new(word)
            .extension()
            .and_then(std::ffi::OsStr::to_str);
        let is_path = word.ends_with('/') || matches!(extension, Some("rs" | "toml"));
        word.contains('/') && is_path && !word.contains(['<', ' '])
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_distinguished_from_other_code() {
        let line =
            "see `fit/cpu.rs`, `solver/<name>.rs`, `data/`, `a / b`, `text` and `cargo xtask lint`";
        assert_eq!(paths(line).collect::<Vec<_>>(), ["fit/cpu.rs", "data/"]);
    }
}
