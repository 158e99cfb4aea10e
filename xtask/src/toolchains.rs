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

/// Tests that Miri does not run. One starts processes. The others would take longer than all the rest; a
/// shorter test covers the lane-parallel kernels, and quantised rows have no `unsafe` except for AVX-512.
const NOT_IN_MIRI: [&str; 3] = ["every_set", "rows_side_by_side", "quantised"];

/// Runs the tests of the scalar kernels, which hold all `unsafe` of the engine, and of their memory in Miri:
/// about ten minutes on an idle machine.
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
    command.args(["linalg::kernels", "linalg::dense"]);
    for name in NOT_IN_MIRI {
        command.args(["--skip", name]);
    }
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
