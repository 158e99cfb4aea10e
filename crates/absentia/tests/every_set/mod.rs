//! The tests of a binary, run again for every choice of kernels that the machine has.

use std::process::Command;

/// Runs tests of this binary in processes of their own: once for each instruction set, with `eals`
/// on its lane-parallel path and without. `filters` are arguments of the test binary: names of tests to
/// run, all if there are none, and names to skip.
///
/// The calling test must have `every_set` in its name. It does nothing in those processes.
pub(crate) fn run_again(sets: &[String], in_use: &str, filters: &[&str]) {
    if std::env::var_os("ABSENTIA_SIMD").is_some() {
        return;
    }
    let program = std::env::current_exe().unwrap();
    for set in sets {
        for lane_parallel in ["on", "off"] {
            let usual = if set == "avx512" { "on" } else { "off" };
            if set == in_use && lane_parallel == usual {
                continue;
            }
            let output = Command::new(&program)
                .env("ABSENTIA_SIMD", set)
                .env("ABSENTIA_LANE_PARALLEL", lane_parallel)
                .args(filters)
                // The dense backend of the tests uses no kernels.
                .args(["--skip", "every_set", "--skip", "on_dense"])
                .output()
                .unwrap();
            let message = String::from_utf8_lossy(&output.stdout);
            assert!(output.status.success(), "{set}, {lane_parallel}: {message}");
            assert!(
                !message.contains("running 0 tests"),
                "{filters:?}: {message}"
            );
        }
    }
}
