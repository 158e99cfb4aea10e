//! Starts measured runs, ours and the peers', each in a process of its own.

use std::path::PathBuf;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};

use crate::request::{Answer, Request, Task};

/// Libraries that ours is compared with, by their names on `PyPI`.
pub(crate) const PEERS: [&str; 4] = ["implicit", "irspack", "cmfrec", "buffalo"];

/// How runs are started.
#[derive(Clone, Debug)]
pub(crate) struct Runner {
    /// Folder with a Python environment for each peer, named after it.
    pub(crate) python: PathBuf,
    pub(crate) threads: usize,
    /// Whether peers are measured where they are there.
    pub(crate) with_peers: bool,
}

impl Runner {
    /// Whether a package can be run.
    pub(crate) fn has(&self, package: &str) -> bool {
        package == "absentia" || (self.with_peers && self.interpreter(package).exists())
    }

    /// Peers that cannot be run.
    pub(crate) fn missing(&self) -> Vec<&'static str> {
        PEERS.into_iter().filter(|peer| !self.has(peer)).collect()
    }

    fn interpreter(&self, package: &str) -> PathBuf {
        self.python.join(package).join("bin/python")
    }

    /// Runs and waits for the answer.
    pub(crate) fn run(&self, request: &Request) -> Result<Answer> {
        let mut command = if request.package == "absentia" {
            let mut command = Command::new(std::env::current_exe()?);
            command.arg("worker");
            command
        } else {
            let mut command = Command::new(self.interpreter(&request.package));
            command.arg(concat!(env!("CARGO_MANIFEST_DIR"), "/python/peers.py"));
            command
        };
        // implicit asks for a single thread of BLAS, since it calls it from threads of its own.
        let of_blas = match request.task {
            Task::Peak => request.threads,
            _ => 1,
        };
        let output = command
            .arg(serde_json::to_string(request)?)
            .env("OPENBLAS_NUM_THREADS", of_blas.to_string())
            .env("MKL_NUM_THREADS", of_blas.to_string())
            .env("OMP_NUM_THREADS", request.threads.to_string())
            // The last line that a failed run prints is the reason.
            .env("RUST_BACKTRACE", "0")
            .stderr(match request.task {
                // It takes minutes, so its progress is shown.
                Task::Big => Stdio::inherit(),
                _ => Stdio::piped(),
            })
            .output()
            .with_context(|| format!("{command:?}"))?;
        let said = String::from_utf8_lossy(&output.stdout);
        let complaint = String::from_utf8_lossy(&output.stderr);
        let why = complaint.trim().lines().last().unwrap_or_default();
        ensure!(
            output.status.success(),
            "{} ended with {}: {why}",
            request.package,
            output.status
        );
        let line = said.trim().lines().last().unwrap_or_default();
        serde_json::from_str(line)
            .with_context(|| format!("{} answered {line:?}; {why}", request.package))
    }
}
