//! Licences and sources of dependencies, and whether the crates can be published.

use serde::Deserialize;

use crate::{cargo, run};

/// Licences that a dependency may have.
const ALLOWED: [&str; 13] = [
    "0BSD",
    "Apache-2.0",
    "Apache-2.0 WITH LLVM-exception",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "BSL-1.0",
    "CC0-1.0",
    "MIT",
    "Unicode-3.0",
    "Unlicense",
    "Zlib",
    "bzip2-1.0.6",
    "ISC",
];

#[derive(Deserialize)]
struct Metadata {
    packages: Vec<Package>,
}

#[derive(Deserialize)]
struct Package {
    name: String,
    version: String,
    license: Option<String>,
    /// Nothing for the crates of this repository.
    source: Option<String>,
}

/// Fails where a dependency has another licence, or does not come from the registry.
pub(crate) fn check() -> Result<(), String> {
    let output = cargo(&["metadata", "--format-version", "1", "--locked"])
        .output()
        .map_err(|error| error.to_string())?;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).into_owned());
    }
    let metadata: Metadata =
        serde_json::from_slice(&output.stdout).map_err(|error| error.to_string())?;
    let wrong: Vec<String> = metadata.packages.iter().filter_map(complaint).collect();
    if wrong.is_empty() {
        return Ok(());
    }
    Err(wrong.join("\n"))
}

fn complaint(package: &Package) -> Option<String> {
    let of = format!("{} {}", package.name, package.version);
    let source = package.source.as_deref();
    if source.is_some_and(|source| !source.starts_with("registry+")) {
        return Some(format!("{of} does not come from the registry"));
    }
    match package.license.as_deref() {
        Some(licence) if is_allowed(licence) => None,
        Some(licence) => Some(format!("{of} has the licence {licence}")),
        None => Some(format!("{of} has no licence")),
    }
}

/// Whether an expression of licences, joined by OR, AND and parentheses, can be met by allowed ones.
fn is_allowed(expression: &str) -> bool {
    let plain = expression.replace('/', " OR ");
    let spaced = plain.replace('(', " ( ").replace(')', " ) ");
    let words: Vec<&str> = spaced.split_whitespace().collect();
    let mut rest = &words[..];
    let allowed = any(&mut rest);
    allowed && rest.is_empty()
}

fn any(words: &mut &[&str]) -> bool {
    let mut allowed = all(words);
    while take(words, "OR") {
        allowed |= all(words);
    }
    allowed
}

fn all(words: &mut &[&str]) -> bool {
    let mut allowed = one(words);
    while take(words, "AND") {
        allowed &= one(words);
    }
    allowed
}

fn one(words: &mut &[&str]) -> bool {
    if take(words, "(") {
        let allowed = any(words);
        return take(words, ")") && allowed;
    }
    let Some((&name, rest)) = words.split_first() else {
        return false;
    };
    *words = rest;
    let mut name = name.to_owned();
    if let ["WITH", exception, rest @ ..] = *words {
        name = format!("{name} WITH {exception}");
        *words = rest;
    }
    ALLOWED.contains(&&name[..])
}

fn take(words: &mut &[&str], word: &str) -> bool {
    match words.split_first() {
        Some((first, rest)) if *first == word => {
            *words = rest;
            true
        }
        _ => false,
    }
}

/// Packs every crate that is to be published as it would be uploaded, without compiling it again.
pub(crate) fn package() -> Result<(), String> {
    run(&mut cargo(&[
        "publish",
        "--workspace",
        "--dry-run",
        "--no-verify",
        "--allow-dirty",
    ]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn expressions_are_met_by_what_is_allowed() {
        for (expression, expected) in [
            ("MIT OR Apache-2.0", true),
            ("MIT/Apache-2.0", true),
            ("GPL-3.0", false),
            ("MIT OR GPL-3.0", true),
            ("MIT AND GPL-3.0", false),
            ("(MIT OR Apache-2.0) AND Unicode-3.0", true),
            ("(MIT OR Apache-2.0) AND GPL-3.0", false),
            ("Apache-2.0 WITH LLVM-exception", true),
            ("GPL-2.0 WITH LLVM-exception", false),
            ("MIT MIT", false),
            ("", false),
        ] {
            assert_eq!(is_allowed(expression), expected, "{expression}");
        }
    }
}
