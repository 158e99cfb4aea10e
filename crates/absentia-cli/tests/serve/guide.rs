//! The examples of `docs/serving.md` run against the demo.

use std::path::Path;
use std::process::{Command, Output};

use crate::client::Server;

/// The text of the guide.
pub(crate) fn guide() -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/serving.md");
    std::fs::read_to_string(path).unwrap()
}

/// The blocks of a section in one language.
fn blocks(text: &str, title: &str, language: &str) -> Vec<String> {
    let section = text
        .split("\n## ")
        .find(|section| section.lines().next() == Some(title));
    let fence = format!("```{language}\n");
    let parts = section.unwrap_or_default().split(&fence).skip(1);
    parts
        .filter_map(|part| Some(part.split_once("```")?.0.to_owned()))
        .collect()
}

/// The only block of a section in one language.
pub(crate) fn block(text: &str, title: &str, language: &str) -> String {
    let mut found = blocks(text, title, language);
    assert_eq!(found.len(), 1, "{title}: {language}");
    found.remove(0)
}

/// Runs a command; none if the program is missing.
fn ran(command: &mut Command) -> Option<Output> {
    command.output().ok()
}

#[test]
fn the_examples_of_the_guide_run() {
    let text = guide();
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(folder.path(), "--demo");
    let here = |example: &str| example.replace("localhost:8080", &server.address.to_string());
    let (shell, python) = (
        blocks(&text, "Requests", "sh"),
        blocks(&text, "Requests", "python"),
    );
    assert!(shell.len() >= 5 && python.len() == 1);
    if ran(Command::new("curl").arg("--version")).is_some() {
        for example in &shell {
            let script = format!("set -e\n{}", here(example));
            let output = ran(Command::new("sh").args(["-c", &script])).unwrap();
            let stderr = String::from_utf8_lossy(&output.stderr);
            assert!(output.status.success(), "{example}\n{stderr}");
        }
    } else {
        absentia_testing::skipped("no curl");
    }
    let program = std::env::var("ABSENTIA_PYTHON").unwrap_or_else(|_| "python3".to_owned());
    let has_requests = ran(Command::new(&program).args(["-c", "import requests"]));
    if has_requests.is_none_or(|output| !output.status.success()) {
        absentia_testing::skipped("no Python with requests; set ABSENTIA_PYTHON");
        return;
    }
    let output = ran(Command::new(&program).args(["-c", &here(&python[0])])).unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{stderr}");
}
