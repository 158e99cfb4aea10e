//! Tasks of the repository: `cargo xtask <task>`.

mod accuracy;
mod bench;

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

const HELP: &str = "\
cargo xtask <task>

  test     everything a change must pass: unit, property, command-line and documentation tests
  lint     formatting, clippy and documentation, warnings denied
  setup    what the tests use beyond Rust, where it can be installed: Chromium (Debian's package),
           and a Python environment; tests that miss them say so and are skipped
  python   the tests of the Python package alone
  wheel    wheels of the Python package for Linux, x86-64 and aarch64, in target/wheels; needs
           maturin and, for the other processor, zig (both from PyPI) and rustup's target
  bench    against implicit, irspack, cmfrec and buffalo, installed in an environment each: seconds
           per iteration, memory, recommending, time to quality; tables, numbers and a chart in
           target/bench. --only yelp,amazon,weights,ranking,quality  --factors 64,128  --rounds 3
           --iterations 4  --threads 2  --quick  --no-peers
  bench --big [--entries 1000000,10000000]
           seconds and memory of building and sweeping generated data, up to a billion entries
  bench --kernels [K,K] [ROWS]
           each inner loop's share of the machine's peak
  bench reading | ranking
           seconds and peak memory of reading ten million generated rows; seconds of ranking
           41,000 items for 30,000 users
  accuracy study | gowalla
           whether held-out rows predict the test, and the figure of the Gowalla leaderboard
  fuzz S   every fuzz target for S seconds (default 60); needs cargo-fuzz
";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let outcome = match arguments.first().map(String::as_str) {
        Some("test") => {
            setup();
            test()
        }
        Some("lint") => lint(),
        Some("python") => {
            setup_python();
            python_tests()
        }
        Some("wheel") => wheel(),
        Some("setup") => {
            setup();
            Ok(())
        }
        Some("bench") => bench::bench(&arguments[1..]),
        Some("accuracy") => accuracy::accuracy(&arguments[1..]),
        Some("fuzz") => fuzz(arguments.get(1).map_or("60", String::as_str)),
        _ => Err(HELP.to_owned()),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("{message}");
            ExitCode::FAILURE
        }
    }
}

fn test() -> Result<(), String> {
    let mut command = cargo(&["test", "--workspace", "--all-features"]);
    if let Some(python) = test_python().filter(|python| python.exists()) {
        command.env("ABSENTIA_PYTHON", python);
    }
    run(&mut command)?;
    python_tests()
}

/// Builds the Python module with what `cargo test` compiled, and runs pytest beside it.
fn python_tests() -> Result<(), String> {
    let python = test_python().filter(|python| has_modules(python, &["pytest", "scipy", "tqdm"]));
    let Some(python) = python else {
        eprintln!(
            "xtask: no Python environment with pytest and scipy; tests of the Python package are skipped"
        );
        return Ok(());
    };
    // The features of the whole workspace, so that nothing is compiled a second time.
    run(&mut cargo(&["build", "--workspace", "--all-features"]))?;
    let package = repository().join("bindings/python");
    let built = target().join("debug").join(format!(
        "{}_core{}",
        std::env::consts::DLL_PREFIX,
        std::env::consts::DLL_SUFFIX
    ));
    let module = package.join("python/absentia/_core.abi3.so");
    std::fs::copy(&built, &module).map_err(|error| format!("{}: {error}", built.display()))?;
    let cli = format!("absentia{}", std::env::consts::EXE_SUFFIX);
    run(Command::new(python)
        .args(["-m", "pytest", "-q"])
        .env("PYTHONPATH", package.join("python"))
        .env("ABSENTIA_CLI", target().join("debug").join(cli))
        .env("OPENBLAS_NUM_THREADS", "1")
        .current_dir(package))
}

/// Builds wheels with maturin in an environment of its own.
fn wheel() -> Result<(), String> {
    let folder = repository().join("target/wheel-python");
    let python = folder.join("bin/python");
    if !has_modules(&python, &["maturin", "ziglang"]) {
        run(Command::new("python3").args(["-m", "venv"]).arg(&folder))?;
        run(&mut pip(&python, &["maturin>=1.7,<2", "ziglang"]))?;
    }
    let mut outcome = Ok(());
    for triple in ["x86_64-unknown-linux-gnu", "aarch64-unknown-linux-gnu"] {
        let built = run(Command::new(&python)
            .args(["-m", "maturin", "build", "--release", "--zig"])
            .args(["--compatibility", "manylinux2014", "--target", triple])
            .args(["--manifest-path", "bindings/python/Cargo.toml", "--out"])
            .arg(repository().join("target/wheels"))
            .current_dir(repository()));
        if built.is_err() {
            eprintln!("xtask: no wheel for {triple}; `rustup target add {triple}` may be missing");
            outcome = built;
        }
    }
    outcome
}

fn lint() -> Result<(), String> {
    run(&mut cargo(&["fmt", "--all", "--check"]))?;
    run(&mut cargo(&[
        "clippy",
        "--workspace",
        "--all-targets",
        "--all-features",
        "--",
        "-D",
        "warnings",
    ]))?;
    run(
        cargo(&["doc", "--workspace", "--no-deps", "--all-features"])
            .env("RUSTDOCFLAGS", "-D warnings"),
    )
}

/// Installs what is missing and can be had; what cannot only costs the tests that need it.
fn setup() {
    if !has_chromium() {
        let update = run(&mut shell("apt-get update -qq"));
        let install = update.and_then(|()| {
            run(&mut shell(
                "apt-get install -y -qq --no-install-recommends chromium",
            ))
        });
        if install.is_err() {
            eprintln!(
                "xtask: Chromium could not be installed; tests of reports in a browser will be skipped"
            );
        }
    }
    setup_python();
}

/// Makes an environment with what tests use from Python; what cannot be had only costs those tests.
fn setup_python() {
    let Some(python) = test_python() else {
        return;
    };
    if !has_modules(&python, &["numpy", "safetensors"]) {
        let folder = repository().join("target/test-python");
        let made = run(Command::new("python3").args(["-m", "venv"]).arg(&folder));
        if made
            .and_then(|()| run(&mut pip(&python, &["numpy", "safetensors"])))
            .is_err()
        {
            eprintln!(
                "xtask: no Python environment with safetensors; tests that read our files from Python will be skipped"
            );
            let _ = std::fs::remove_dir_all(folder);
            return;
        }
    }
    // Those the package needs first: without the others only some of its tests are skipped.
    for packages in [
        &["scipy", "tqdm", "pytest"][..],
        &["implicit", "mypy", "pandas", "polars", "pyarrow", "sklearn"][..],
    ] {
        let names: Vec<&str> = packages
            .iter()
            .map(|name| match *name {
                "sklearn" => "scikit-learn",
                name => name,
            })
            .collect();
        if !has_modules(&python, packages) && run(&mut pip(&python, &names)).is_err() {
            eprintln!("xtask: could not install {names:?}; tests that use them will be skipped");
        }
    }
}

fn has_modules(python: &Path, modules: &[&str]) -> bool {
    let script = format!("import {}", modules.join(", "));
    let found = Command::new(python)
        .args(["-c", &script])
        .stderr(std::process::Stdio::null())
        .status();
    found.is_ok_and(|status| status.success())
}

fn pip(python: &Path, packages: &[&str]) -> Command {
    let mut command = Command::new(python);
    command
        .args([
            "-m",
            "pip",
            "install",
            "--quiet",
            "--disable-pip-version-check",
        ])
        .args(packages);
    command
}

fn fuzz(seconds: &str) -> Result<(), String> {
    let targets = std::fs::read_dir(repository().join("fuzz/fuzz_targets"))
        .map_err(|error| error.to_string())?;
    let limit = format!("-max_total_time={seconds}");
    for target in targets.filter_map(Result::ok) {
        if let Some(name) = target.path().file_stem().and_then(|name| name.to_str()) {
            // The stable toolchain takes the sanitizer flags when told that it may.
            run(cargo(&["fuzz", "run", name, "--", &limit]).env("RUSTC_BOOTSTRAP", "1"))?;
        }
    }
    Ok(())
}

fn test_python() -> Option<PathBuf> {
    cfg!(unix).then(|| repository().join("target/test-python/bin/python"))
}

fn has_chromium() -> bool {
    let Some(path) = std::env::var_os("PATH") else {
        return false;
    };
    std::env::split_paths(&path).any(|folder| {
        ["chromium", "chromium-browser", "google-chrome"]
            .iter()
            .any(|name| folder.join(name).exists())
    })
}

fn repository() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.parent().unwrap_or(here).to_owned()
}

/// Where cargo builds.
fn target() -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| repository().join("target"), PathBuf::from)
}

fn cargo(arguments: &[&str]) -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.args(arguments).current_dir(repository());
    command
}

fn shell(line: &str) -> Command {
    let mut command = Command::new("sh");
    command.args(["-c", line]);
    command
}

fn run(command: &mut Command) -> Result<(), String> {
    eprintln!("xtask: {command:?}");
    match command.status() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("xtask: {command:?} ended with {status}")),
        Err(error) => Err(format!("xtask: {command:?} could not be started: {error}")),
    }
}
