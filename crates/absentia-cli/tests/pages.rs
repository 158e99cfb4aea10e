//! What the pages say beside the examples that `examples.rs` runs: commands and flags named in sentences exist, and
//! the files and the backup of the page on serving work.

mod support;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use support::Sandbox;

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Every page with its name: those of the site, and those at the root.
fn pages() -> Vec<(String, String)> {
    let mut paths: Vec<PathBuf> = std::fs::read_dir(repository().join("docs"))
        .expect("a folder")
        .map(|page| page.expect("a page").path())
        .collect();
    for name in ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md"] {
        paths.push(repository().join(name));
    }
    paths.sort();
    let read = |path: PathBuf| {
        let name = path
            .file_name()
            .expect("a name")
            .to_string_lossy()
            .into_owned();
        (name, std::fs::read_to_string(&path).expect("a page"))
    };
    paths.into_iter().map(read).collect()
}

/// What stands between back-ticks, outside of fenced blocks; it may go on in the next line.
fn code(page: &str) -> Vec<String> {
    let mut text = String::new();
    let mut is_fenced = false;
    for line in page.lines() {
        if line.trim_start().starts_with("```") {
            is_fenced = !is_fenced;
        } else if !is_fenced {
            text.push_str(line);
            text.push(' ');
        }
    }
    let parts = text.split('`').skip(1).step_by(2);
    parts.map(str::to_owned).collect()
}

/// The flags in a help, or in a command.
fn flags(text: &str) -> BTreeSet<String> {
    let words = text.split(|c: char| !(c.is_ascii_alphanumeric() || c == '-'));
    let flags = words.filter(|word| word.starts_with("--") && word.len() > 2);
    flags.map(str::to_owned).collect()
}

/// Verbs of the program with the flags that their help names.
fn verbs(sandbox: &Sandbox) -> Vec<(String, BTreeSet<String>)> {
    let overview = sandbox.run("help").ok().stdout;
    let commands = overview.split("Commands:").nth(1).expect("commands");
    let lines = commands
        .lines()
        .skip(1)
        .take_while(|line| line.starts_with("  "));
    let names = lines.filter(|line| !line.starts_with("   "));
    let names = names.filter_map(|line| line.split_whitespace().next());
    let known = |name: &str| {
        (
            name.to_owned(),
            flags(&sandbox.run(&format!("help {name}")).ok().stdout),
        )
    };
    names.map(known).collect()
}

#[test]
fn commands_and_flags_that_sentences_name_exist() {
    let sandbox = Sandbox::new();
    let verbs = verbs(&sandbox);
    let tasks = std::fs::read_to_string(repository().join("xtask/src/main.rs")).expect("a file");
    let of_tasks = flags(&tasks);
    let mut checked = 0;
    for (page, text) in pages() {
        for code in code(&text) {
            let mut words = code.split_whitespace();
            match (words.next(), words.next()) {
                (Some("absentia"), Some(verb)) if verb != "help" && !verb.starts_with('-') => {
                    let known = verbs.iter().find(|(name, _)| name == verb);
                    let (_, known) =
                        known.unwrap_or_else(|| panic!("{page}: no command of `{code}`"));
                    let unknown: Vec<_> = flags(&code).difference(known).cloned().collect();
                    assert!(unknown.is_empty(), "{page}: `{code}` has no {unknown:?}");
                }
                (Some("cargo"), Some("xtask")) => {
                    let task = words.next().expect("a task");
                    assert!(
                        tasks.contains(&format!("Some(\"{task}\")")),
                        "{page}: no task of `{code}`"
                    );
                    let unknown: Vec<_> = flags(&code).difference(&of_tasks).cloned().collect();
                    assert!(unknown.is_empty(), "{page}: `{code}` has no {unknown:?}");
                }
                (Some(first), _) if first.starts_with("--") && first.len() > 2 => {
                    let unknown: Vec<String> = flags(&code)
                        .into_iter()
                        .filter(|flag| {
                            !of_tasks.contains(flag)
                                && verbs.iter().all(|(_, known)| !known.contains(flag))
                        })
                        .collect();
                    assert!(
                        unknown.is_empty(),
                        "{page}: nothing has the {unknown:?} of `{code}`"
                    );
                }
                _ => continue,
            }
            checked += 1;
        }
    }
    assert!(checked >= 100, "{checked}");
}

/// The fenced block of a language that has this text.
fn block(page: &str, language: &str, part: &str) -> String {
    let fence = format!("```{language}\n");
    let blocks = page.split(&fence).skip(1);
    let mut blocks = blocks.filter_map(|rest| rest.split_once("```").map(|(block, _)| block));
    let found = blocks.find(|block| block.contains(part));
    found
        .unwrap_or_else(|| panic!("no block with {part}"))
        .to_owned()
}

#[test]
fn the_settings_and_the_backup_of_the_page_on_serving_work() {
    let page = std::fs::read_to_string(repository().join("docs/serving.md")).expect("a page");
    let sandbox = Sandbox::with_models();
    sandbox.write("settings.toml", &block(&page, "toml", "[kinds.view]"));
    let serve = "serve movies.absentia --train train.csv --folder shop --settings settings.toml \
                 --address 127.0.0.1:0 --check";
    sandbox.run(serve).ok();
    // The same file with a key that does not exist is refused, so that it was read.
    let wrong = sandbox
        .read("settings.toml")
        .replace("body_bytes", "body_bites");
    sandbox.write("wrong.toml", &wrong);
    let refused = sandbox.run(&serve.replace("settings.toml", "wrong.toml"));
    assert_ne!(refused.code, 0, "{}", refused.stdout);

    let backup = block(&page, "sh", "VACUUM INTO");
    std::fs::create_dir(sandbox.path("backup")).expect("a folder");
    let folder = |name: &str| sandbox.path(name).display().to_string();
    let here = backup.replace("/var/lib/absentia", &folder("shop"));
    let here = here.replace("/backup", &folder("backup"));
    let (copy, vacuum) = here.trim().split_once('\n').expect("two lines");
    sandbox.shell(copy).ok();
    // As the program sqlite3 would, which need not be installed.
    let mut parts = vacuum.splitn(3, ' ');
    assert_eq!(parts.next(), Some("sqlite3"));
    let database = rusqlite::Connection::open(parts.next().expect("a path")).expect("a database");
    let statement = parts.next().expect("a statement").trim_matches('"');
    database.execute_batch(statement).expect("copied");
    drop(database);
    sandbox
        .run("serve --folder backup --address 127.0.0.1:0 --check")
        .ok();
}
