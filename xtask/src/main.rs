//! Tasks of the repository: `cargo xtask <task>`.

mod accuracy;
mod bench;
mod cluster;
mod documents;
mod imports;
mod licences;
mod memory;
mod neon;
mod pages;
mod python;
mod serve;
mod test;
mod toolchains;
mod torture;
mod type_names;
mod versus;
mod wheels;

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

const HELP: &str = "\
cargo xtask <task>

  test     everything a change must pass: unit, property, command-line, documentation and Python tests;
           ends with the list of those that were skipped
  lint     imports, names of types, formatting, clippy and documentation, warnings denied; the engine
           with and without `serde`
  imports, documents
           parts of lint: the order of xtask/imports.toml; files that ARCHITECTURE.md and
           CONTRIBUTING.md name
  licences, package
           licences and sources of all dependencies, a part of lint; every crate that is to be
           published, packed as it would be uploaded (cargo publish --dry-run)
  setup    what the tests use beyond Rust, where it can be installed: Chromium (Debian's package),
           and a Python environment; tests that miss them say so and are skipped
  python   the tests of the Python package alone
  site     the documentation as a site, in target/site; fails where a link leads nowhere
  wheel [TRIPLE ...]
           wheels of the Python package in target/wheels, for Linux (manylinux2014) and macOS, x86-64 and
           aarch64, and Windows, x86-64; the one that runs here is installed in an empty environment, and
           docs/tutorial.md followed there. Installs maturin and zig from PyPI, rustup's targets, and
           Debian's mingw-w64
  bench    against implicit, irspack, cmfrec and buffalo, installed in an environment each: seconds
           per iteration, memory, recommending, time to quality; tables, numbers and charts in
           target/bench. --only yelp,amazon,weights,ranking,quality  --factors 64,128  --rounds 3
           --iterations 4  --threads 2  --quick  --no-peers
  bench --big [--entries 1000000,10000000]
           seconds and memory of building and sweeping generated data, up to a billion entries
  bench --kernels [K,K] [ROWS]
           each inner loop's share of the machine's peak
  bench reading | ranking
           seconds and peak memory of reading ten million generated rows; seconds of ranking
           41,000 items for 30,000 users
  bench online [TRAIN.tsv.gz] [K]
           events that an online model learns in a second, beside a half-sweep; Gowalla's rows if they
           are beside the repository
  bench relations [K] [COLUMNS] [ROUNDS]
           a sweep with tags beside that of the stacked matrix, and what features add to a sweep beside
           their matrix products
  bench serve [--program FILE] [--quick] [--no-peer | --only-events]
           the server under load on Gowalla at K = 128, beside implicit behind FastAPI: lists, lists beside
           events, acknowledgements in synchronisations of the disk, 100,000 events replayed, overload;
           prints every figure beside its target
  bench versus REV [--rounds 5]
           the head against another revision, taking turns: sweeps at K = 32, 64, 128 and 256, reading,
           recommending for all users; prints the best of all rounds and ratios
  bench python
           seconds of a sweep from Python beside the command line's, and how soon Ctrl-C ends a call
  bench cluster [yelp amazon] [--factors 64,128] [--rounds 3] [--nodes 1] [--spark PYTHON]
           seconds of a sweep of two workers of one thread on Ray, beside one process of two threads, and
           Spark's ALS beside them with the pyspark of an interpreter
  bench cluster scale ENTRIES [--workers 2] [--factors 64]
           parquet files of this many rows to a folder of a model
  bench cluster cost [--factors 64] [--nodes 2] [--rates 200,1000]
           the constants of the cost model of docs/cluster.md, runs of several nodes in network namespaces
           whose bandwidth tc limits (root, iproute2) beside it, and what it predicts for larger data
  accuracy study | gowalla
           whether held-out rows predict the test, and the figure of the Gowalla leaderboard
  accuracy relations [--trials 60] [--seeds 1,2,3] [--program FILE] [--no-peers]
           tags of articles for known and new ones, tuned, beside cmfrec: the figures of docs/relations.md
  accuracy table [--seconds 180] [--only amazon-book,kuairec,...] [--again]
           tuned uniform, popularity, everything, learned weights and implicit side by side on every set but
           Gowalla, with intervals and seconds, in target/accuracy/table.md
  memory [WORD ...]
           the memory that every command estimates beside what it takes, on data written to
           target/memory; fails where they differ by more than 15 %. Words choose the commands that
           have one of them; ABSENTIA_CLI names a program to measure instead of building one
  pages    the tables that bench (of the Yelp shape) and accuracy table wrote last, put into README.md
           and docs/accuracy.md
  neon     the tests of kernels and of exactness as an aarch64 machine runs them, in emulation;
           installs Debian's qemu-user and cross compiler, and rustup's target
  msrv     everything built with the oldest Rust that Cargo.toml declares; rustup installs it
  miri     the tests of the scalar kernels in Miri, except a few long ones, in about ten minutes; rustup
           installs it (nightly)
  torture [--minutes 10] [--seed 0] [--only SECTION] [--round N]
           random attacks on the program, an equal share of the time for each section: kills, damaged
           files, random problems, resuming under other conditions, the order of rows and the number of
           threads, and files that are read and written at once; says how to repeat what fails
  faults [--rounds 100] [--seed 7]
           kills a server at random moments of storing, saving, making indexes, exchanging models and
           starting; every acknowledged event must be there once, and the state that of a replay
  cluster [WORD ...]
           training on a Ray cluster of seven nodes, all of them processes of this machine: every solver and
           kind of weights on 2, 3 and 7 workers, kills of workers and nodes at 20 random moments, and eight
           workers with a quarter of the memory each, beside one process; words choose tests
  fuzz S   every fuzz target, or those named after S, for S seconds (default 60); needs cargo-fuzz
";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let outcome = match arguments.first().map(String::as_str) {
        Some("test") => {
            setup();
            test::test()
        }
        Some("lint") => lint(),
        Some("imports") => imports::check(&repository()),
        Some("documents") => documents::check(&repository()),
        Some("python") => {
            python::setup();
            python::test()
        }
        Some("site") => {
            python::setup();
            python::site()
        }
        Some("licences") => licences::check(),
        Some("package") => licences::package(),
        Some("wheel") => wheels::wheels(&arguments[1..]),
        Some("setup") => {
            setup();
            Ok(())
        }
        Some("bench") => bench::bench(&arguments[1..]),
        Some("accuracy") => accuracy::accuracy(&arguments[1..]),
        Some("memory") => memory::memory(&arguments[1..]),
        Some("pages") => pages::write(),
        Some("neon") => neon::test(),
        Some("msrv") => toolchains::oldest_rust(),
        Some("miri") => toolchains::miri(),
        Some("torture") => torture::torture(&arguments[1..]),
        Some("cluster") => cluster::test(&arguments[1..]),
        Some("faults") => torture::faults(&arguments[1..]),
        Some("fuzz") => fuzz(&arguments[1..]),
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

fn lint() -> Result<(), String> {
    imports::check(&repository())?;
    type_names::check(&repository())?;
    licences::check()?;
    documents::check(&repository())?;
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
    // The engine by itself, without the features that other crates turn on.
    run(&mut cargo(&[
        "clippy",
        "--package",
        "absentia",
        "--no-default-features",
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
    let has_chromium = ["chromium", "chromium-browser", "google-chrome"]
        .into_iter()
        .any(has_program);
    if !has_chromium && install("chromium").is_err() {
        eprintln!(
            "xtask: Chromium could not be installed; tests of reports in a browser will be skipped"
        );
    }
    python::setup();
}

/// Fuzzes the targets that are named, or all of them. What the fuzzer finds on its way goes to the target folder: the
/// corpus in the repository is what it starts from.
fn fuzz(arguments: &[String]) -> Result<(), String> {
    let seconds = arguments.first().map_or("60", String::as_str);
    let named = arguments.get(1..).unwrap_or_default();
    let folder = repository().join("fuzz/fuzz_targets");
    let targets = std::fs::read_dir(folder).map_err(|error| error.to_string())?;
    let limit = format!("-max_total_time={seconds}");
    for target in targets.filter_map(Result::ok) {
        let path = target.path();
        let Some(name) = path.file_stem().and_then(|name| name.to_str()) else {
            continue;
        };
        if !named.is_empty() && !named.iter().any(|one| one == name) {
            continue;
        }
        let found = target_folder(name)?;
        let mut seeds = vec![repository().join("fuzz/corpus").join(name)];
        if name == "model" {
            // Files of earlier versions.
            seeds.push(repository().join("crates/absentia-io/tests/fixtures"));
        }
        // The stable toolchain accepts the sanitizer flags with this variable set.
        run(cargo(&["fuzz", "run", name])
            .arg(found)
            .args(seeds)
            .args(["--", &limit])
            .env("RUSTC_BOOTSTRAP", "1"))?;
    }
    Ok(())
}

/// The folder of what the fuzzer finds for a target.
fn target_folder(name: &str) -> Result<PathBuf, String> {
    let folder = target().join("fuzz").join(name);
    let made = std::fs::create_dir_all(&folder);
    made.map_err(|error| format!("xtask: {}: {error}", folder.display()))?;
    Ok(folder)
}

/// Installs packages of Debian.
fn install(packages: &str) -> Result<(), String> {
    run(&mut shell("apt-get update -qq"))?;
    run(&mut shell(&format!(
        "apt-get install -y -qq --no-install-recommends {packages}"
    )))
}

fn has_program(name: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|folder| folder.join(name).exists())
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
