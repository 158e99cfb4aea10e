//! The engine under other toolchains: the oldest Rust that is supported, and Miri.

use std::process::Command;

use super::{has_program, repository, run, target};

/// Builds everything with the Rust version that `Cargo.toml` declares as the oldest.
pub(super) fn oldest_rust() -> Result<(), String> {
    let version = declared_version()?;
    install(&["toolchain", "install", &version, "--profile", "minimal"])?;
    let check = ["check", "--workspace", "--all-targets", "--all-features"];
    run(&mut cargo(&version, &check))
}

/// Runs the tests of the scalar kernels, and of what holds their memory, in Miri.
pub(super) fn miri() -> Result<(), String> {
    install(&["toolchain", "install", "nightly", "--profile", "minimal"])?;
    install(&[
        "component",
        "add",
        "miri",
        "rust-src",
        "--toolchain",
        "nightly",
    ])?;
    let mut command = cargo(
        "nightly",
        &["miri", "test", "--package", "absentia", "--lib", "--"],
    );
    // Tests that start processes cannot run there.
    command.args([
        "linalg::kernels",
        "linalg::dense",
        "solver::",
        "--skip",
        "every_set",
    ]);
    run(command.env("MIRIFLAGS", "-Zmiri-env-set=ABSENTIA_SIMD=scalar"))
}

/// The `rust-version` of the workspace.
fn declared_version() -> Result<String, String> {
    let path = repository().join("Cargo.toml");
    let text = std::fs::read_to_string(&path).map_err(|error| error.to_string())?;
    let line = text
        .lines()
        .find_map(|line| line.strip_prefix("rust-version = "));
    line.map(|version| version.trim_matches('"').to_owned())
        .ok_or_else(|| format!("{} declares no rust-version", path.display()))
}

/// Lets rustup install something, or says what is missing.
fn install(arguments: &[&str]) -> Result<(), String> {
    if !has_program("rustup") {
        return Err("xtask: this task needs rustup, which installs other versions of Rust".into());
    }
    run(Command::new("rustup").args(arguments))
}

/// Cargo of another toolchain, with a target folder of its own.
fn cargo(toolchain: &str, arguments: &[&str]) -> Command {
    let mut command = Command::new("rustup");
    command
        .args(["run", toolchain, "cargo"])
        .args(arguments)
        .current_dir(repository())
        // Set by the cargo that runs this task, they would choose its own toolchain.
        .env_remove("CARGO")
        .env_remove("RUSTUP_TOOLCHAIN")
        .env("CARGO_TARGET_DIR", target().join(toolchain));
    command
}
