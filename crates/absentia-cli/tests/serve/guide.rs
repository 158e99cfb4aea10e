//! The examples of `docs/serving.md` run against the demo.

use std::path::Path;
use std::process::{Command, Output};

use crate::client::Server;

/// The blocks of the section on requests in one language.
fn blocks(text: &str, language: &str) -> Vec<String> {
    let section = text
        .split("\n## ")
        .find(|section| section.starts_with("Requests"));
    let fence = format!("```{language}\n");
    let parts = section.unwrap_or_default().split(&fence).skip(1);
    parts
        .filter_map(|part| Some(part.split_once("```")?.0.to_owned()))
        .collect()
}

/// Runs a command; none if the program is missing.
fn ran(command: &mut Command) -> Option<Output> {
    command.output().ok()
}

#[test]
fn the_examples_of_the_guide_run() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/serving.md");
    let text = std::fs::read_to_string(path).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(folder.path(), "--demo");
    let here = |example: &str| example.replace("localhost:8080", &server.address.to_string());
    let (shell, python) = (blocks(&text, "sh"), blocks(&text, "python"));
    assert!(shell.len() >= 5 && python.len() == 1);
    if ran(Command::new("curl").arg("--version")).is_some() {
        for example in &shell {
            let script = format!("set -e\n{}", here(example));
            let output = ran(Command::new("sh").args(["-c", &script])).unwrap();
            let told = String::from_utf8_lossy(&output.stderr);
            assert!(output.status.success(), "{example}\n{told}");
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
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{told}");
}
