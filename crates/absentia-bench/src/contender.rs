//! Who takes part.

use serde::Serialize;

use crate::request::{Objective, Request, Task};

/// A library with one of its solvers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Contender {
    /// Name in tables.
    pub(crate) name: String,
    pub(crate) package: &'static str,
    pub(crate) solver: &'static str,
    pub(crate) block: usize,
}

impl Contender {
    pub(crate) fn is_ours(&self) -> bool {
        self.package == "absentia"
    }

    /// The request to this contender.
    pub(crate) fn request(&self, task: Task, threads: usize) -> Request {
        Request {
            solver: self.solver.to_owned(),
            block: self.block,
            objective: Objective::Default,
            ..Request::new(task, self.package, threads)
        }
    }
}

pub(crate) fn contender(package: &'static str, solver: &'static str, block: usize) -> Contender {
    let name = match solver {
        "subspace" | "ialspp" => format!("{package} {solver} {block}"),
        solver => format!("{package} {solver}"),
    };
    Contender {
        name,
        package,
        solver,
        block,
    }
}

pub(crate) fn eals() -> Contender {
    contender("absentia", "eals", 1)
}

pub(crate) fn subspace(block: usize) -> Contender {
    contender("absentia", "subspace", block)
}

/// The peers that are always measured, with their fastest solvers.
pub(crate) fn fast_peers() -> [Contender; 3] {
    [
        contender("implicit", "cg", 0),
        contender("irspack", "cg", 0),
        contender("cmfrec", "cg", 0),
    ]
}
