//! The campaigns against the program and the server: `cargo xtask torture`, `cargo xtask faults`.

use crate::{cargo, repository, run};

/// Where every section is a test.
const TESTS: &str = "crates/absentia-cli/tests/torture/main.rs";

/// Gives every section an equal share of the time.
pub(crate) fn torture(arguments: &[String]) -> Result<(), String> {
    let value = |flag: &str| value_of(arguments, flag);
    let minutes = match value("--minutes")? {
        Some(text) => text
            .parse::<f64>()
            .map_err(|_| format!("xtask: --minutes {text} is not a number"))?,
        None => 10.0,
    };
    let only = value("--only")?.map(String::as_str);
    let all = sections()?;
    let of_these = |section: &&String| only.is_none_or(|only| only == section.as_str());
    let sections: Vec<&String> = all.iter().filter(of_these).collect();
    if sections.is_empty() {
        return Err(format!("xtask: the sections are {}", all.join(", ")));
    }
    let seconds = minutes * 60.0 / sections.len() as f64;
    let mut command = cargo(&["test", "--workspace", "--all-features", "--test", "torture"]);
    command
        .args(["--", "--nocapture", "--test-threads", "1", "--exact"])
        .args(&sections)
        .env("ABSENTIA_TORTURE_SECONDS", format!("{seconds:.0}"));
    if let Some(seed) = value("--seed")? {
        command.env("ABSENTIA_TORTURE_SEED", seed);
    }
    if let Some(round) = value("--round")? {
        command.env("ABSENTIA_TORTURE_ROUND", round);
    }
    run(&mut command)
}

/// Kills a server repeatedly.
pub(crate) fn faults(arguments: &[String]) -> Result<(), String> {
    let mut command = cargo(&["test", "--workspace", "--all-features", "--test", "serve"]);
    let rounds = value_of(arguments, "--rounds")?.map_or("100", String::as_str);
    command
        .args(["--", "--nocapture", "--exact"])
        .arg("kills::what_was_acknowledged_survives_kills_exactly_once")
        .env("ABSENTIA_FAULT_ROUNDS", rounds);
    if let Some(seed) = value_of(arguments, "--seed")? {
        command.env("ABSENTIA_FAULT_SEED", seed);
    }
    run(&mut command)
}

/// The value of a flag.
fn value_of<'a>(arguments: &'a [String], flag: &str) -> Result<Option<&'a String>, String> {
    match arguments.iter().position(|word| word == flag) {
        Some(at) => {
            let value = arguments.get(at + 1);
            value
                .map(Some)
                .ok_or(format!("xtask: {flag} needs a value"))
        }
        None => Ok(None),
    }
}

/// The names of all sections.
fn sections() -> Result<Vec<String>, String> {
    let path = repository().join(TESTS);
    let text = std::fs::read_to_string(&path)
        .map_err(|error| format!("xtask: {}: {error}", path.display()))?;
    let calls = text
        .lines()
        .filter_map(|line| line.trim().strip_prefix("section(\""));
    Ok(calls
        .filter_map(|call| Some(call.split_once('"')?.0.to_owned()))
        .collect())
}
