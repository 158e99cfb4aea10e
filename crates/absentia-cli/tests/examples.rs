//! Every example in the help and in README runs.

mod support;

use std::path::Path;

use absentia::InstructionSet;
use support::Sandbox;

/// Lines that start with a prompt and the program's name.
fn examples(text: &str) -> Vec<String> {
    // A backslash at the end joins lines, as the shell does.
    let joined = text.replace("\\\n", " ");
    let prompted = joined
        .lines()
        .filter_map(|line| line.trim().strip_prefix("$ "));
    let own = prompted.filter(|line| line.starts_with("absentia ") || line.contains("| absentia "));
    own.map(str::to_owned).collect()
}

/// Commands between back-ticks, as tables have them.
fn inline(text: &str) -> Vec<String> {
    let tables = text.lines().filter(|line| line.starts_with('|'));
    let code = tables.flat_map(|line| line.split('`').skip(1).step_by(2));
    let own = code.filter(|code| code.starts_with("absentia ") && code.len() > 20);
    own.map(str::to_owned).collect()
}

fn help(sandbox: &Sandbox, words: &str) -> String {
    let mut command = sandbox.command(&format!("help {words}"));
    // As narrow as terminals are, so that examples are broken into lines.
    let output = command.env("COLUMNS", "80").output().expect("started");
    assert!(output.status.success());
    String::from_utf8(output.stdout).expect("UTF-8")
}

fn verbs(help: &str) -> Vec<String> {
    let commands = help.split("Commands:").nth(1).unwrap_or_default();
    let lines = commands
        .lines()
        .skip(1)
        .take_while(|line| line.starts_with("  "));
    // Descriptions go on in lines that are indented further.
    let first = lines.filter(|line| !line.starts_with("   "));
    let words = first.filter_map(|line| line.split_whitespace().next());
    words.map(str::to_owned).collect()
}

#[track_caller]
fn run_all(sandbox: &Sandbox, examples: &[String]) {
    for line in examples {
        // A server does not end by itself: it starts, learns its events, and stops.
        let is_server = line.starts_with("absentia serve ") && !line.contains("--new-key");
        let end = if is_server {
            " --check --address 127.0.0.1:0"
        } else {
            ""
        };
        let ran = sandbox.shell(&format!("{line}{end}"));
        assert_eq!(ran.code, 0, "$ {line}\n{}\n{}", ran.stdout, ran.stderr);
    }
}

#[test]
fn every_example_of_the_help_runs() {
    let sandbox = Sandbox::with_models();
    let overview = help(&sandbox, "");
    run_all(&sandbox, &examples(&overview));
    let verbs = verbs(&overview);
    assert!(verbs.len() >= 12, "{verbs:?}");
    for verb in verbs {
        let found = examples(&help(&sandbox, &verb));
        assert!(!found.is_empty(), "{verb} has no example");
        run_all(&Sandbox::with_models(), &found);
    }
}

#[test]
fn every_example_of_the_readme_runs() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../README.md");
    let text = std::fs::read_to_string(path).expect("README.md");
    let mut found = examples(&text);
    found.extend(inline(&text));
    assert!(!found.is_empty());
    run_all(&Sandbox::with_models(), &found);
}

#[test]
fn every_example_of_the_pages_runs() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs");
    for page in [
        "index.md",
        "tutorial.md",
        "howto.md",
        "files.md",
        "commands.md",
    ] {
        let text = std::fs::read_to_string(folder.join(page)).expect("a page");
        let found = shell_examples(&text);
        assert!(page == "index.md" || !found.is_empty(), "{page}");
        run_all(&Sandbox::new(), &found);
    }
}

/// Every line after a prompt, whatever the program.
fn shell_examples(text: &str) -> Vec<String> {
    let lines = text.lines();
    lines
        .filter_map(|line| line.strip_prefix("$ ").map(str::to_owned))
        .collect()
}

#[test]
fn help_and_version_need_no_files() {
    let sandbox = Sandbox::new();
    assert!(
        sandbox
            .run("--version")
            .ok()
            .stdout
            .starts_with("absentia ")
    );
    sandbox.run("train").fails(2, &["--help"]);
}

#[test]
fn the_instruction_set_is_chosen_by_the_environment() {
    let sandbox = Sandbox::new();
    let version = |set: &str| {
        let output = sandbox
            .command("--version")
            .env("ABSENTIA_SIMD", set)
            .output();
        let output = output.expect("the program starts");
        let text = |bytes| String::from_utf8(bytes).expect("text");
        (
            output.status.code(),
            text(output.stdout),
            text(output.stderr),
        )
    };
    for set in InstructionSet::available() {
        let (code, out, _) = version(&set.to_string());
        assert_eq!(code, Some(0));
        assert!(out.trim_end().ends_with(&format!("({set})")), "{out}");
    }
    let (code, _, message) = version("mmx");
    assert_eq!(code, Some(2));
    assert!(
        message.contains("ABSENTIA_SIMD") && message.contains("scalar"),
        "{message}"
    );
}
