//! Imports between crates, and between the folders of the engine, against the order of `imports.toml`.

use std::path::{Path, PathBuf};

use serde::Deserialize;

/// The attribute of code that is compiled for tests alone.
const CFG_TEST: &str = "#[cfg(test)]";

/// The order, as the file has it.
#[derive(Deserialize)]
struct Rules {
    crates: CrateRules,
    engine: EngineRules,
}

#[derive(Deserialize)]
struct CrateRules {
    order: Vec<String>,
    last: Vec<String>,
    tests: Vec<String>,
}

#[derive(Deserialize)]
struct EngineRules {
    order: Vec<String>,
    exceptions: Vec<String>,
}

/// A path of code that names something of another module: the line it is in, and its words.
#[derive(Debug, PartialEq)]
struct Import {
    line: usize,
    path: Vec<String>,
}

/// Fails with a list of all imports that go against the order.
pub(crate) fn check(repository: &Path) -> Result<(), String> {
    let path = repository.join("xtask/imports.toml");
    let text = std::fs::read_to_string(&path).map_err(|e| format!("{}: {e}", path.display()))?;
    let rules: Rules = toml::from_str(&text).map_err(|e| format!("{}: {e}", path.display()))?;
    let mut wrong = Vec::new();
    let packages = packages(repository)?;
    for (name, folder) in &packages {
        for file in sources(&folder.join("src")) {
            let text = std::fs::read_to_string(&file).map_err(|error| error.to_string())?;
            let shown = file.strip_prefix(repository).unwrap_or(&file).display();
            let inside = file.strip_prefix(folder.join("src")).unwrap_or(&file);
            let module = module_of(inside);
            for import in imports(&text, &module) {
                let fault = rules.crates.fault(name, &import.path).or_else(|| {
                    let is_engine = name == "absentia";
                    is_engine.then(|| rules.engine.fault(&module, &import.path))?
                });
                wrong.extend(fault.map(|fault| format!("{shown}:{}: {fault}", import.line)));
            }
        }
    }
    wrong.dedup();
    wrong.extend(rules.unlisted(&packages, repository));
    if wrong.is_empty() {
        return Ok(());
    }
    Err(format!(
        "imports against the order of xtask/imports.toml:\n{}",
        wrong.join("\n")
    ))
}

impl Rules {
    /// Crates and folders that the file does not know.
    fn unlisted(&self, packages: &[(String, PathBuf)], repository: &Path) -> Vec<String> {
        let crates = &self.crates;
        let listed = [&crates.order, &crates.last, &crates.tests];
        let is_listed = |name: &String| listed.iter().any(|names| names.contains(name));
        let names = packages.iter().map(|(name, _)| name);
        let mut missing: Vec<String> = names.filter(|name| !is_listed(name)).cloned().collect();
        let engine = repository.join("crates/absentia/src");
        for entry in std::fs::read_dir(engine).into_iter().flatten().flatten() {
            let path = entry.path();
            let name = path.file_stem().unwrap_or_default().to_string_lossy();
            let is_test = matches!(&*name, "lib" | "testing");
            if !is_test && !self.engine.order.iter().any(|known| *known == name) {
                missing.push(format!("absentia/src/{name}"));
            }
        }
        let said = |name: String| format!("xtask/imports.toml: {name} is not listed");
        missing.into_iter().map(said).collect()
    }
}

impl CrateRules {
    /// What is wrong with a crate's use of another, if it is one.
    fn fault(&self, user: &str, path: &[String]) -> Option<String> {
        let used = path.first()?.replace('_', "-");
        let is_crate = used == "absentia" || used.starts_with("absentia-");
        // A name such as `absentia_text` may also be a variable or a function.
        if !is_crate || used == user || path.len() < 2 {
            return None;
        }
        let place = |name: &str| self.order.iter().position(|known| known == name);
        let allowed = match (place(user), place(&used)) {
            (Some(user), Some(used)) => used < user,
            (None, Some(_)) => self.last.iter().any(|known| known == user),
            (_, None) => false,
        };
        (!allowed).then(|| format!("{user} must not use {used}"))
    }
}

impl EngineRules {
    /// What is wrong with a folder's use of another, if it is one.
    fn fault(&self, module: &[String], path: &[String]) -> Option<String> {
        let [root, used, rest @ ..] = path else {
            return None;
        };
        let user = module.first()?;
        let place = |name: &String| self.order.iter().position(|known| known == name);
        if root != "crate" || used == user {
            return None;
        }
        let (own, other) = (place(user)?, place(used)?);
        let item = rest.first().map(String::as_str).unwrap_or_default();
        let exception = format!("{user} uses {used}::{item}");
        let is_exception = self.exceptions.contains(&exception);
        (other > own && !is_exception).then(|| format!("{user} must not use {used}::{item}"))
    }
}

/// The crates of the workspace with their folders, in order of their names.
pub(crate) fn packages(repository: &Path) -> Result<Vec<(String, PathBuf)>, String> {
    let folder = repository.join("crates");
    let entries = std::fs::read_dir(&folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    let mut packages = vec![(
        "absentia-python".to_owned(),
        repository.join("bindings/python"),
    )];
    for entry in entries.flatten().filter(|entry| entry.path().is_dir()) {
        let name = entry.file_name().to_string_lossy().into_owned();
        packages.push((name, entry.path()));
    }
    packages.sort();
    Ok(packages)
}

/// Rust files of a folder, those of tests left out.
pub(crate) fn sources(folder: &Path) -> Vec<PathBuf> {
    let mut files = files(folder);
    let tests: Vec<PathBuf> = files.iter().flat_map(|file| test_modules(file)).collect();
    files.retain(|file| !tests.contains(&file.with_extension("")));
    files
}

/// The modules that a file declares for tests alone, as paths without an extension.
fn test_modules(file: &Path) -> Vec<PathBuf> {
    let text = std::fs::read_to_string(file).unwrap_or_default();
    let is_root = |name: &std::ffi::OsStr| name == "mod" || name == "lib" || name == "main";
    let folder = match file.file_stem() {
        Some(name) if is_root(name) => file.with_file_name(""),
        _ => file.with_extension(""),
    };
    let lines: Vec<&str> = text.lines().map(str::trim).collect();
    let pairs = lines.windows(2).filter(|pair| pair[0] == CFG_TEST);
    let names = pairs.filter_map(|pair| pair[1].strip_prefix("mod ")?.strip_suffix(';'));
    names.map(|name| folder.join(name)).collect()
}

/// Rust files of a folder, except tests and what they share.
fn files(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        let stem = path.file_stem().unwrap_or_default();
        if stem == "tests" || stem == "testing" {
            continue;
        }
        if path.is_dir() {
            files.extend(self::files(&path));
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
    files.sort();
    files
}

/// The module of a file, such as `data::prepare` for `data/prepare/mod.rs`.
fn module_of(file: &Path) -> Vec<String> {
    let path = file.with_extension("");
    let mut words: Vec<String> = path
        .iter()
        .map(|word| word.to_string_lossy().into_owned())
        .collect();
    if matches!(
        words.last().map(String::as_str),
        Some("mod" | "lib" | "main")
    ) {
        words.pop();
    }
    words
}

/// Paths that start with a crate, `crate` or `super`, up to the module of unit tests; `super` is
/// resolved, so that they start with `crate`.
fn imports(text: &str, module: &[String]) -> Vec<Import> {
    let code = code(text);
    let mut found = Vec::new();
    for (start, word) in words(&code) {
        let is_continued = code[..start].ends_with("::");
        let is_root = word == "crate" || word == "super" || word.starts_with("absentia");
        if is_continued || !is_root {
            continue;
        }
        let line = 1 + code[..start].matches('\n').count();
        for path in paths(&code[start..]) {
            let path = resolved(path, module);
            found.push(Import { line, path });
        }
    }
    found
}

/// The lines of a text without comments and without what is compiled for tests alone.
pub(crate) fn code(text: &str) -> String {
    let (mut code, mut is_test) = (String::new(), false);
    for line in text.lines() {
        let line = line.split("//").next().unwrap_or_default();
        if is_test && line.trim_start().starts_with("mod ") && line.ends_with('{') {
            break;
        }
        if !is_test {
            code.push_str(line);
        }
        code.push('\n');
        is_test = line.trim() == CFG_TEST;
    }
    code
}

/// The words of a text and where they start.
fn words(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    let mut at = 0;
    std::iter::from_fn(move || {
        let start = at + text[at..].find(is_part)?;
        let length = text[start..].find(|c| !is_part(c));
        at = length.map_or(text.len(), |length| start + length);
        Some((start, &text[start..at]))
    })
}

/// The first three words of the path that a text starts with: one path, or one for each member of a
/// group in braces.
fn paths(text: &str) -> Vec<Vec<String>> {
    let mut heads = vec![String::new()];
    let (mut rest, mut path) = (text, Vec::new());
    while let Some((0, word)) = words(rest).next() {
        path.push(word.to_owned());
        rest = &rest[word.len()..];
        let Some(after) = rest.strip_prefix("::") else {
            return vec![path];
        };
        if let Some(group) = after.strip_prefix('{') {
            heads = members(group);
            break;
        }
        rest = after;
    }
    let with_head = |head: String| {
        let mut path = path.clone();
        path.extend(
            head.split("::")
                .filter(|word| !word.is_empty())
                .map(str::to_owned),
        );
        path
    };
    heads.into_iter().map(with_head).collect()
}

/// The members of a group, up to its closing brace; of a group inside, each with its head.
fn members(group: &str) -> Vec<String> {
    let (mut depth, mut members, mut member) = (0_usize, Vec::new(), String::new());
    for c in group.chars() {
        match c {
            '}' if depth == 0 => break,
            '{' => depth += 1,
            '}' => depth -= 1,
            ',' if depth == 0 => members.push(std::mem::take(&mut member)),
            c if c.is_whitespace() => {}
            c if depth == 0 => member.push(c),
            _ => {}
        }
    }
    members.push(member);
    members.retain(|member| !member.is_empty());
    members
}

/// The path with `super` replaced by what it means in a module.
fn resolved(path: Vec<String>, module: &[String]) -> Vec<String> {
    let up = path.iter().take_while(|word| *word == "super").count();
    if up == 0 {
        return path;
    }
    let parents = &module[..module.len().saturating_sub(up)];
    let root = std::iter::once("crate".to_owned());
    root.chain(parents.iter().cloned())
        .chain(path[up..].iter().cloned())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str, module: &[&str]) -> Vec<String> {
        let module: Vec<String> = module.iter().map(|&word| word.to_owned()).collect();
        let imports = imports(text, &module);
        imports
            .iter()
            .map(|import| import.path.join("::"))
            .collect()
    }

    #[test]
    fn imports_are_found_in_groups_and_in_code_and_not_in_comments_or_tests() {
        let text = "use crate::{data::Row, fit::{Run, fit}};\n\
                    // use crate::model::Model;\n\
                    fn f() { crate::weights::resolve(); }\n\
                    #[cfg(test)]\nuse crate::fit::Run;\n\
                    use absentia_io::Error;\n\
                    #[cfg(test)]\nmod tests {\n use crate::fit::Sweep;\n}";
        let expected = [
            "crate::data::Row",
            "crate::fit::",
            "crate::weights::resolve",
            "absentia_io::Error",
        ];
        let found = found(text, &["solver"]);
        assert_eq!(found.len(), expected.len(), "{found:?}");
        for (found, expected) in found.iter().zip(expected) {
            assert!(expected.starts_with(found.as_str()), "{found} {expected}");
        }
    }

    #[test]
    fn super_is_resolved() {
        assert_eq!(
            found("use super::super::fit::Run;", &["data", "split"]),
            ["crate::fit::Run"]
        );
        assert_eq!(
            found("use super::row::Row;", &["data", "split"]),
            ["crate::data::row::Row"]
        );
    }

    #[test]
    fn the_order_is_kept_but_for_exceptions() {
        let rules = EngineRules {
            order: ["data", "model", "fit"].map(str::to_owned).to_vec(),
            exceptions: vec!["model uses fit::Sweep".to_owned()],
        };
        let fault = |user: &str, path: &str| {
            let path: Vec<String> = path.split("::").map(str::to_owned).collect();
            rules.fault(&[user.to_owned()], &path)
        };
        assert_eq!(fault("fit", "crate::data::Row"), None);
        assert_eq!(fault("model", "crate::fit::Sweep"), None);
        assert!(fault("model", "crate::fit::Run").is_some());
        assert!(fault("data", "crate::model::Model").is_some());
    }

    #[test]
    fn crates_may_use_those_before_them() {
        let rules = CrateRules {
            order: ["absentia", "absentia-io"].map(str::to_owned).to_vec(),
            last: vec!["absentia-cli".to_owned()],
            tests: Vec::new(),
        };
        let fault = |user: &str, path: &str| {
            let path: Vec<String> = path.split("::").map(str::to_owned).collect();
            rules.fault(user, &path)
        };
        assert_eq!(fault("absentia-io", "absentia::Model"), None);
        assert_eq!(fault("absentia-cli", "absentia_io::read"), None);
        assert!(fault("absentia", "absentia_io::read").is_some());
        assert!(fault("absentia-io", "absentia_cli::run").is_some());
    }
}
