//! The engine on NEON: tests built for aarch64 and run in emulation.

use std::process::Command;

use super::{cargo, has_program, install, run};

const TARGET: &str = "aarch64-unknown-linux-gnu";
const LINKER: &str = "aarch64-linux-gnu-gcc";
const EMULATOR: &str = "qemu-aarch64";

/// Tests every kernel against its formula, and fast solvers against slow ones.
pub(super) fn test() -> Result<(), String> {
    if !(has_program(LINKER) && has_program(EMULATOR)) {
        install("qemu-user gcc-aarch64-linux-gnu libc6-dev-arm64-cross")?;
    }
    // Where Rust did not come by rustup, the target may still be there.
    if has_program("rustup") {
        run(Command::new("rustup").args(["target", "add", TARGET]))?;
    }
    tests(&["--lib", "linalg"])?;
    tests(&["--test", "exactness"])
}

fn tests(which: &[&str]) -> Result<(), String> {
    let mut command = cargo(&["test", "--package", "absentia", "--target", TARGET]);
    command
        .args(which)
        .env("CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER", LINKER)
        .env(
            "CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_RUNNER",
            format!("{EMULATOR} -L /usr/aarch64-linux-gnu"),
        );
    run(&mut command)
}
