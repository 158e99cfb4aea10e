//! `cargo xtask memory`: what every command says it will take, and what it takes.
//!
//! A command says at its end how much memory it held at its peak (the kernel's high-water mark, less
//! what the process held before the command began) and how much it had estimated. The sizes are such
//! that the peak is about 100 MiB or more, where a few megabytes of the allocator do not matter.

mod cases;

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::{cargo, run, target};
use cases::{CASES, write_data};

/// How far an estimate may be from what was measured.
const MARGIN: f64 = 0.15;
/// Megabytes below which a peak says little.
const FLOOR: f64 = 90.0;

/// Measures every case whose line has a word of the arguments, or all of them.
///
/// # Errors
/// A command that failed, or an estimate that is too far off.
#[allow(clippy::print_stdout, reason = "the result of the command")]
pub(crate) fn memory(arguments: &[String]) -> Result<(), String> {
    let program = if let Ok(program) = std::env::var("ABSENTIA_CLI") {
        PathBuf::from(program)
    } else {
        run(&mut cargo(&[
            "build",
            "--release",
            "--package",
            "absentia-cli",
        ]))?;
        target().join(format!("release/absentia{}", std::env::consts::EXE_SUFFIX))
    };
    let folder = target().join("memory");
    write_data(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    println!(
        "{:>9} {:>9} {:>6}  command",
        "estimate", "measured", "ratio"
    );
    let mut failures = Vec::new();
    for line in CASES.lines().map(str::trim).filter(|line| !line.is_empty()) {
        let (line, is_measured) = match line.strip_prefix("- ") {
            Some(line) => (line, false),
            None => (line, true),
        };
        let is_wanted = arguments.is_empty() || arguments.iter().any(|word| line.contains(word));
        if is_measured && !is_wanted {
            continue;
        }
        match measure(&program, &folder, line) {
            Ok(_) if !is_measured => {}
            Ok(Some(found)) => failures.extend(found.show(line)),
            Ok(None) => failures.push(format!("{line}: its peak is too small to measure")),
            Err(error) => failures.push(format!("{line}: {error}")),
        }
    }
    if failures.is_empty() {
        return Ok(());
    }
    Err(format!("xtask: {}", failures.join("\nxtask: ")))
}

/// Megabytes of one command.
struct Peak {
    estimated: f64,
    measured: f64,
}

impl Peak {
    /// Prints the line of a command, and yields what is wrong with its estimate.
    #[allow(clippy::print_stdout, reason = "the result of the command")]
    fn show(&self, line: &str) -> Option<String> {
        let Self {
            estimated,
            measured,
        } = self;
        let ratio = estimated / measured;
        println!("{estimated:>9.1} {measured:>9.1} {ratio:>6.2}  {line}");
        if *measured < FLOOR {
            return Some(format!("{line}: a peak of {measured:.1} MiB says little"));
        }
        let is_off = (ratio - 1.0).abs() > MARGIN;
        is_off.then(|| format!("{line}: estimated {estimated:.1}, took {measured:.1} MiB"))
    }
}

fn measure(program: &Path, folder: &Path, line: &str) -> Result<Option<Peak>, String> {
    let mut command = Command::new(program);
    command.args(line.split_whitespace()).current_dir(folder);
    let output = command.output().map_err(|error| error.to_string())?;
    let text = String::from_utf8_lossy(&output.stderr);
    if !output.status.success() {
        return Err(text.lines().last().unwrap_or("failed").to_owned());
    }
    let said = text.lines().find_map(|line| line.strip_prefix("took "));
    let Some((measured, rest)) = said.and_then(|said| said.split_once(" of memory")) else {
        return Ok(None);
    };
    let estimated = rest.rsplit(": ").next().and_then(megabytes);
    Ok(megabytes(measured)
        .zip(estimated)
        .map(|(measured, estimated)| Peak {
            estimated,
            measured,
        }))
}

/// The number of MiB in a text such as `1.20 GiB`.
fn megabytes(text: &str) -> Option<f64> {
    let (number, unit) = text.trim().split_once(' ')?;
    let number: f64 = number.parse().ok()?;
    match unit {
        "KiB" => Some(number / 1024.0),
        "MiB" => Some(number),
        "GiB" => Some(number * 1024.0),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read() {
        assert_eq!(megabytes("512.0 KiB"), Some(0.5));
        assert_eq!(megabytes("2.00 GiB"), Some(2048.0));
        assert_eq!(megabytes("many"), None);
    }
}
