//! Wheels of the Python package for every platform that can be built for from here, and the trial of one.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::python::{has_modules, make_environment, pip};
use crate::{has_program, install, repository, run};

/// A platform that wheels are built for.
struct Platform {
    triple: &'static str,
    /// The tag of the wheel's name, which is also that of the oldest system that it runs on.
    tag: &'static str,
    /// What maturin is given beside the target.
    arguments: &'static [&'static str],
}

/// Zig brings the C library of Linux, old enough for manylinux2014, and that of macOS. `xtask/macos` lists the functions of
/// the other libraries of macOS that are linked with, in place of Apple's files, which only come with Xcode.
const PLATFORMS: [Platform; 5] = [
    Platform {
        triple: "x86_64-unknown-linux-gnu",
        tag: "manylinux_2_17_x86_64",
        arguments: &["--zig", "--compatibility", "manylinux2014"],
    },
    Platform {
        triple: "aarch64-unknown-linux-gnu",
        tag: "manylinux_2_17_aarch64",
        arguments: &["--zig", "--compatibility", "manylinux2014"],
    },
    Platform {
        triple: "aarch64-apple-darwin",
        tag: "macosx_11_0_arm64",
        arguments: &["--zig"],
    },
    Platform {
        triple: "x86_64-apple-darwin",
        tag: "macosx_10_12_x86_64",
        arguments: &["--zig"],
    },
    Platform {
        triple: "x86_64-pc-windows-gnu",
        tag: "win_amd64",
        arguments: &[],
    },
];

/// Builds the wheels of the platforms that are named by their triples, or of all, and follows the tutorial with the one
/// that runs here.
pub(crate) fn wheels(named: &[String]) -> Result<(), String> {
    let known = |name: &String| PLATFORMS.iter().any(|one| one.triple == name);
    if let Some(unknown) = named.iter().find(|name| !known(name)) {
        let triples: Vec<&str> = PLATFORMS.iter().map(|one| one.triple).collect();
        return Err(format!(
            "xtask: no wheel for {unknown}; there are {}",
            triples.join(", ")
        ));
    }
    let is_wanted =
        |one: &&Platform| named.is_empty() || named.iter().any(|name| name == one.triple);
    let python = environment()?;
    let mut failed = Vec::new();
    for platform in PLATFORMS.iter().filter(is_wanted) {
        let done = build(platform, &python).and_then(|wheel| {
            if platform.runs_here() {
                try_out(&wheel)
            } else {
                Ok(())
            }
        });
        match done {
            Ok(()) if platform.runs_here() => {
                eprintln!("xtask: {}: built and tried", platform.triple);
            }
            Ok(()) => eprintln!("xtask: {}: built, not run", platform.triple),
            Err(error) => {
                eprintln!("{error}");
                failed.push(platform.triple);
            }
        }
    }
    if failed.is_empty() {
        Ok(())
    } else {
        Err(format!("xtask: no wheel for {}", failed.join(", ")))
    }
}

impl Platform {
    fn runs_here(&self) -> bool {
        let arch = std::env::consts::ARCH;
        cfg!(target_os = "linux") && self.triple == format!("{arch}-unknown-linux-gnu")
    }
}

/// The interpreter of an environment with maturin and zig.
fn environment() -> Result<PathBuf, String> {
    let folder = repository().join("target/wheel-python");
    let python = folder.join("bin/python");
    if !has_modules(&python, &["maturin", "ziglang"]) {
        make_environment(&folder)?;
        run(&mut pip(&python, &["maturin>=1.7,<2", "ziglang"]))?;
    }
    Ok(python)
}

/// Builds the wheel of a platform, and yields its path.
fn build(platform: &Platform, python: &Path) -> Result<PathBuf, String> {
    let triple = platform.triple;
    if has_program("rustup") {
        run(Command::new("rustup").args(["target", "add", triple]))?;
    }
    if triple.ends_with("windows-gnu") && !has_program("x86_64-w64-mingw32-gcc") {
        install("gcc-mingw-w64-x86-64")?;
    }
    let out = repository().join("target/wheels");
    // Maturin asks the first python3 it finds for zig.
    let programs = python.parent().unwrap_or(python);
    run(Command::new(python)
        .args(["-m", "maturin", "build", "--release", "--target", triple])
        .args(platform.arguments)
        .args(["--manifest-path", "bindings/python/Cargo.toml", "--out"])
        .arg(&out)
        .env("PATH", with_folder_first(programs)?)
        .env("RUSTFLAGS", rust_flags(platform)?)
        .current_dir(repository()))?;
    let wheels = std::fs::read_dir(&out).map_err(|error| error.to_string())?;
    let mut paths = wheels.filter_map(|wheel| Some(wheel.ok()?.path()));
    let is_own = |path: &PathBuf| path.to_string_lossy().contains(platform.tag);
    let wheel = paths.find(is_own).ok_or_else(|| {
        let (out, tag) = (out.display(), platform.tag);
        format!("xtask: {out} has no wheel of {tag} for {triple}")
    })?;
    run(Command::new(python)
        .arg(repository().join("xtask/python/check_wheel.py"))
        .arg(&wheel)
        .args(own_folders()?))?;
    Ok(wheel)
}

/// Folders of this machine whose names do not belong into a wheel: of the sources, of the crates and of the compiler.
fn own_folders() -> Result<Vec<PathBuf>, String> {
    let home = |name: &str, folder: &str| {
        let default = std::env::home_dir().map(|home| home.join(folder));
        let named = std::env::var_os(name).map(PathBuf::from).or(default);
        named.ok_or_else(|| format!("xtask: neither {name} nor a home folder is set"))
    };
    Ok(vec![
        repository(),
        home("CARGO_HOME", ".cargo")?,
        home("RUSTUP_HOME", ".rustup")?,
    ])
}

/// The compiler's options that leave these folders out of messages and debugging information, and name the libraries of
/// macOS.
fn rust_flags(platform: &Platform) -> Result<String, String> {
    let names = ["absentia", "cargo", "rustup"];
    let folders = own_folders()?;
    let remap = |(folder, name): (&PathBuf, &str)| {
        format!("--remap-path-prefix={}={name}", folder.display())
    };
    let mut options: Vec<String> = folders.iter().zip(names).map(remap).collect();
    if platform.triple.ends_with("apple-darwin") {
        let stubs = repository().join("xtask/macos").display().to_string();
        options.extend([
            format!("-Clink-arg=-F{stubs}"),
            format!("-Clink-arg=-L{stubs}"),
        ]);
    }
    Ok(options.join(" "))
}

/// Installs a wheel in an empty environment and follows the tutorial there.
fn try_out(wheel: &Path) -> Result<(), String> {
    let folder = repository().join("target/wheel-trial");
    if folder.exists() {
        std::fs::remove_dir_all(&folder).map_err(|error| error.to_string())?;
    }
    make_environment(&folder)?;
    let python = folder.join("bin/python");
    run(pip(&python, &[]).arg(wheel))?;
    run(Command::new(&python)
        .arg(repository().join("xtask/python/follow_tutorial.py"))
        .arg(repository()))
}

fn with_folder_first(folder: &Path) -> Result<OsString, String> {
    let others = std::env::var_os("PATH").unwrap_or_default();
    let folders = std::iter::once(folder.to_owned()).chain(std::env::split_paths(&others));
    std::env::join_paths(folders).map_err(|error| error.to_string())
}
