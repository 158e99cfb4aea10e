//! Measuring: `cargo xtask bench`.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::python::{has_modules, make_environment, pip};
use crate::{cargo, repository, run};

/// Libraries that are measured beside ours, each with the dependencies that its package does not declare.
const PEERS: [(&str, &[&str]); 4] = [
    ("implicit", &["implicit"]),
    ("irspack", &["irspack"]),
    ("cmfrec", &["cmfrec", "threadpoolctl"]),
    ("buffalo", &["buffalo"]),
];

/// Runs the benchmark that the words after `bench` name.
pub(crate) fn bench(words: &[String]) -> Result<(), String> {
    match words.first().map(String::as_str) {
        Some("reading") => reading(),
        Some("ranking") => example("absentia", "ranking_speed", &[]),
        Some("online") => example("absentia", "online_speed", &words[1..]),
        Some("relations") => example("absentia", "relations_speed", &words[1..]),
        Some("serve") => crate::serve::bench(&words[1..]),
        Some("versus") => crate::versus::versus(&words[1..]),
        Some("python") => crate::python::speed(),
        Some("cluster") => crate::cluster::bench(&words[1..]),
        Some("--kernels") => example("absentia", "kernel_speed", &words[1..]),
        _ => against_peers(words),
    }
}

fn example(package: &str, name: &str, words: &[String]) -> Result<(), String> {
    let mut command = cargo(&["run", "--release", "--package", package]);
    run(command.args(["--example", name, "--"]).args(words))
}

/// Builds the programs of packages for measuring.
pub(crate) fn build(packages: &[&str]) -> Result<(), String> {
    let mut command = cargo(&["build", "--release"]);
    for package in packages {
        command.args(["--package", package]);
    }
    run(&mut command)
}

/// Runs the main benchmark, with every peer that can be installed.
fn against_peers(words: &[String]) -> Result<(), String> {
    build(&["absentia-bench"])?;
    let alone = ["--big", "--no-peers"];
    if !words.iter().any(|word| alone.contains(&word.as_str())) {
        install_peers();
    }
    let program = format!("release/absentia-bench{}", std::env::consts::EXE_SUFFIX);
    run(Command::new(crate::target().join(program))
        .args(words)
        .current_dir(repository()))
}

fn install_peers() {
    for (name, _) in PEERS {
        if let Err(why) = peer(name) {
            eprintln!("xtask: {name} is left out, it could not be installed: {why}");
        }
    }
}

/// The interpreter of a peer's own environment, which is created if needed: the dependencies of
/// peers conflict.
pub(crate) fn peer(name: &str) -> Result<PathBuf, String> {
    let known = PEERS.iter().find(|(peer, _)| *peer == name);
    let (_, packages) = known.ok_or_else(|| format!("{name}: no such peer"))?;
    environment(name, packages)
}

/// The interpreter of an environment of this name with these packages, of which the first is imported under its own name.
pub(crate) fn environment(name: &str, packages: &[&str]) -> Result<PathBuf, String> {
    let folder = repository().join("target/bench-python").join(name);
    let python = folder.join("bin/python");
    if !has_modules(&python, &packages[..1])
        && let Err(why) = install(&folder, &python, packages)
    {
        let _ = std::fs::remove_dir_all(folder);
        return Err(why);
    }
    Ok(python)
}

fn install(folder: &Path, python: &Path, packages: &[&str]) -> Result<(), String> {
    make_environment(folder)?;
    run(&mut pip(python, packages))?;
    let import = format!("import {}", packages[0]);
    run(Command::new(python).args(["-c", &import]))
}

/// Seconds and peak memory of reading ten million generated rows.
fn reading() -> Result<(), String> {
    let file = ten_million_rows()?;
    example("absentia-io", "read_speed", &[file.display().to_string()])
}

/// A file of ten million generated rows, made if it does not exist.
pub(crate) fn ten_million_rows() -> Result<PathBuf, String> {
    let folder = crate::target().join("bench");
    std::fs::create_dir_all(&folder).map_err(|error| error.to_string())?;
    let file = folder.join("ten-million.csv");
    if !file.exists() {
        build(&["absentia-cli"])?;
        let sizes = "--users 500000 --items 50000 --entries 10000000";
        run(Command::new(crate::target().join("release/absentia"))
            .arg("generate")
            .args(sizes.split(' '))
            .arg("--out")
            .arg(&file))?;
    }
    Ok(file)
}
