//! All that was measured, with the machine it was measured on.

use absentia::InstructionSet;
use serde::Serialize;

use crate::big::BigRow;
use crate::iterations::Case;
use crate::quality::Quality;
use crate::ranking::Ranking;
use crate::weights::Weights;

/// The results of a benchmark; parts that were not requested are absent.
#[derive(Clone, Debug, Default, Serialize)]
pub(crate) struct Results {
    pub(crate) machine: String,
    pub(crate) command: String,
    pub(crate) threads: usize,
    /// Load average of the minute before the benchmark started.
    pub(crate) load: f64,
    pub(crate) rounds: usize,
    /// Peers that could not be run.
    pub(crate) missing: Vec<String>,
    pub(crate) cases: Vec<Case>,
    pub(crate) weights: Option<Weights>,
    pub(crate) ranking: Option<Ranking>,
    pub(crate) quality: Option<Quality>,
    pub(crate) big: Vec<BigRow>,
}

/// Load average of the last minute, on Linux.
pub(crate) fn load() -> f64 {
    let text = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    let first = text.split_whitespace().next();
    first.and_then(|word| word.parse().ok()).unwrap_or(0.0)
}

/// Processor, number of processors and memory.
pub(crate) fn machine() -> String {
    let line = |path: &str, name: &str| -> Option<String> {
        let text = std::fs::read_to_string(path).ok()?;
        let found = text.lines().find(|line| line.starts_with(name))?;
        Some(found.split_once(':')?.1.trim().to_owned())
    };
    let processor =
        line("/proc/cpuinfo", "model name").unwrap_or_else(|| std::env::consts::ARCH.to_owned());
    let processors = absentia::fit::default_threads();
    let memory = line("/proc/meminfo", "MemTotal")
        .and_then(|text| text.split_whitespace().next()?.parse::<u64>().ok())
        .map_or_else(String::new, |kib| {
            format!(", {} GiB", (kib + (1 << 19)) >> 20)
        });
    format!(
        "{processor} with {}, {processors} processors{memory}, {}",
        InstructionSet::in_use(),
        std::env::consts::OS
    )
}
