//! Requests to a measured run and its answers: the same JSON for ours and for the peers'.
//!
//! Every run is a process of its own, so that its peak memory is its own and no run warms or
//! fragments the memory of the next.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// What to measure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Task {
    /// Seconds of each iteration.
    Sweeps,
    /// Quality after each iteration, with the seconds it took to get there.
    Curve,
    /// Seconds of recommending to all users.
    Recommend,
    /// Seconds of a large product of matrices.
    Peak,
    /// Building and sweeping generated data of any size.
    Big,
}

/// Which objective is minimised.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Objective {
    /// What the library does by default; ours weighs missing entries by popularity.
    Default,
    /// Weight 50 on observed entries, 1 on missing ones, a penalty of 60: `implicit` with
    /// `alpha=50, regularization=60`.
    Implicit,
    /// Normalised targets and popularity weights: our own settings.
    Own,
}

/// A measured run.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Request {
    pub(crate) task: Task,
    /// `PyPI` name of a peer, or `absentia`.
    pub(crate) package: String,
    /// `eals`, `subspace`, `als-cg`; `cg`, `ialspp`.
    pub(crate) solver: String,
    /// Block of `subspace` and `ialspp`.
    pub(crate) block: usize,
    pub(crate) objective: Objective,
    /// Products of a sketch that training starts from, 0 for a Gaussian start; ours only.
    pub(crate) passes: usize,
    /// Folder of the training matrix.
    pub(crate) data: PathBuf,
    /// Folder of the held-out matrix, for curves; without it only seconds are taken.
    pub(crate) test: Option<PathBuf>,
    /// Number of items, which the rows do not tell.
    pub(crate) items: usize,
    pub(crate) factors: usize,
    /// Rank Z of random weights on missing entries, 0 for the objective's own.
    pub(crate) rank: usize,
    pub(crate) iterations: usize,
    /// Whether a curve has its last point only.
    pub(crate) last_only: bool,
    pub(crate) threads: usize,
    /// Folder for factors.
    pub(crate) out: Option<PathBuf>,
    /// Entries of generated data, for `big`.
    pub(crate) entries: u64,
}

impl Request {
    /// Yields a request that trains nothing yet: the parts that few runs use are left out.
    pub(crate) fn new(task: Task, package: &str, threads: usize) -> Self {
        Self {
            task,
            package: package.to_owned(),
            solver: String::new(),
            block: 16,
            objective: Objective::Default,
            passes: 0,
            data: PathBuf::new(),
            test: None,
            items: 0,
            factors: 64,
            rank: 0,
            iterations: 1,
            last_only: false,
            threads,
            out: None,
            entries: 0,
        }
    }
}

/// What a run measured.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Answer {
    /// Seconds of each iteration, or of each repetition.
    pub(crate) seconds: Vec<f64>,
    /// Iterations after which a point of the curve was taken.
    pub(crate) measured: Vec<usize>,
    /// Seconds since the start of training at each point, evaluation left out.
    pub(crate) elapsed: Vec<f64>,
    /// Recall@20 at each point; peers leave their factors instead.
    pub(crate) recall: Vec<f64>,
    /// Most memory the process had.
    pub(crate) peak_bytes: u64,
    /// Memory of the process before it read any data.
    pub(crate) rest_bytes: u64,
    /// Version of the package.
    pub(crate) version: String,
    /// What building and sweeping generated data took.
    #[serde(default)]
    pub(crate) big: Option<BigAnswer>,
}

/// Building and sweeping generated data of one size.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct BigAnswer {
    pub(crate) users: usize,
    pub(crate) items: usize,
    pub(crate) entries: u64,
    pub(crate) factors: usize,
    pub(crate) build_seconds: f64,
    pub(crate) estimate_bytes: u64,
}

impl Answer {
    /// The least of the seconds.
    pub(crate) fn best(&self) -> f64 {
        self.seconds.iter().copied().fold(f64::INFINITY, f64::min)
    }

    /// Memory taken beyond the process at rest.
    pub(crate) fn own_bytes(&self) -> u64 {
        self.peak_bytes.saturating_sub(self.rest_bytes)
    }
}
