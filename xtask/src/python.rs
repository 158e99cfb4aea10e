//! The Python package: its environment and its tests.

use std::fs::OpenOptions;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::test::{SKIPPED_TESTS, skipped_tests};
use crate::{cargo, repository, run, target};

/// What tests use from Python: the modules that show it is there, and what pip installs. Those that
/// the package needs come first; without the others some tests are skipped.
const PACKAGES: &[(&[&str], &[&str])] = &[
    (&["numpy", "safetensors"], &["numpy", "safetensors"]),
    (
        &["scipy", "tqdm", "pytest"],
        &["scipy>=1.8", "tqdm", "pytest"],
    ),
    (
        &["implicit", "pandas", "polars", "pyarrow", "sklearn"],
        &[
            "implicit>=0.7,<0.8",
            "pandas",
            "polars",
            "pyarrow",
            "scikit-learn",
        ],
    ),
    // The examples of docs/serving.md.
    (&["requests"], &["requests"]),
    // The documentation as a site.
    (&["mkdocs"], &["mkdocs>=1.6,<2"]),
    (
        &["faiss", "onnx", "onnxruntime"],
        &["faiss-cpu", "onnx", "onnxruntime"],
    ),
    // The version of the extra `ray` in pyproject.toml.
    (&["ray"], &["ray==2.60.0"]),
    (
        &["mypy", "pyright", "matplotlib", "optuna"],
        &["mypy", "pyright[nodejs]", "matplotlib", "optuna"],
    ),
];

/// The interpreter that tests use.
pub(crate) fn interpreter() -> Option<PathBuf> {
    cfg!(unix).then(|| environment().join("bin/python"))
}

fn environment() -> PathBuf {
    repository().join("target/test-python")
}

/// Makes an environment with what tests use from Python; tests whose packages cannot be installed are skipped.
pub(crate) fn setup() {
    let Some(python) = interpreter() else {
        return;
    };
    if !has_modules(&python, &[]) && make_environment(&environment()).is_err() {
        eprintln!("xtask: no Python environment; tests that use Python will be skipped");
        let _ = std::fs::remove_dir_all(environment());
        return;
    }
    for (modules, packages) in PACKAGES {
        if !has_modules(&python, modules) && run(&mut pip(&python, packages)).is_err() {
            eprintln!("xtask: could not install {packages:?}; tests that use them will be skipped");
        }
    }
}

/// Builds the Python module with what `cargo test` compiled, and runs pytest beside it.
pub(crate) fn test() -> Result<(), String> {
    let python = interpreter().filter(|python| has_modules(python, &["pytest", "scipy", "tqdm"]));
    let Some(python) = python else {
        let line = "SKIPPED tests of the Python package: no environment with pytest and scipy";
        eprintln!("xtask: {line}");
        note_skipped(line);
        return Ok(());
    };
    // The features of the whole workspace, so that nothing is compiled a second time.
    run(&mut cargo(&["build", "--workspace", "--all-features"]))?;
    run(package(&python, "debug")?
        .args(["-m", "pytest", "-q", "-rs"])
        .env(SKIPPED_TESTS, skipped_tests())
        .current_dir(repository().join("bindings/python")))
}

/// Builds the documentation as a site, and fails where a link leads nowhere.
pub(crate) fn site() -> Result<(), String> {
    let python = interpreter().filter(|python| has_modules(python, &["mkdocs"]));
    let Some(python) = python else {
        let line = "SKIPPED the site of the documentation: no environment with mkdocs";
        eprintln!("xtask: {line}");
        note_skipped(line);
        return Ok(());
    };
    // Without --quiet, which would also leave warnings uncounted.
    run(Command::new(python)
        .args(["-m", "mkdocs", "build", "--strict"])
        .current_dir(repository()))
}

/// Measures the package: `cargo xtask bench python`.
pub(crate) fn speed() -> Result<(), String> {
    setup();
    let python = interpreter().ok_or("no Python environment")?;
    crate::bench::build(&["absentia-python", "absentia-cli"])?;
    run(package(&python, "release")?.arg(repository().join("xtask/python/package_speed.py")))
}

/// Python with the package as it was built under this profile.
pub(crate) fn package(python: &Path, profile: &str) -> Result<Command, String> {
    let folder = repository().join("bindings/python/python");
    let built = target().join(profile).join(format!(
        "{}_core{}",
        std::env::consts::DLL_PREFIX,
        std::env::consts::DLL_SUFFIX
    ));
    let module = folder.join("absentia/_core.abi3.so");
    std::fs::copy(&built, &module).map_err(|error| format!("{}: {error}", built.display()))?;
    let program = format!("absentia{}", std::env::consts::EXE_SUFFIX);
    let mut command = Command::new(python);
    command
        .env("PYTHONPATH", folder)
        .env("ABSENTIA_CLI", target().join(profile).join(program))
        .env("OPENBLAS_NUM_THREADS", "1");
    Ok(command)
}

/// Adds a line to the list of skipped tests.
fn note_skipped(line: &str) {
    let list = OpenOptions::new()
        .create(true)
        .append(true)
        .open(skipped_tests());
    let _ = list.and_then(|mut list| writeln!(list, "{line}"));
}

pub(crate) fn has_modules(python: &Path, modules: &[&str]) -> bool {
    // `import` alone is not a statement.
    let script = match modules {
        [] => String::new(),
        modules => format!("import {}", modules.join(", ")),
    };
    let found = Command::new(python)
        .args(["-c", &script])
        .stderr(Stdio::null())
        .status();
    found.is_ok_and(|status| status.success())
}

pub(crate) fn make_environment(folder: &Path) -> Result<(), String> {
    run(Command::new("python3").args(["-m", "venv"]).arg(folder))
}

pub(crate) fn pip(python: &Path, packages: &[&str]) -> Command {
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
