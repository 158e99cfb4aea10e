//! Seconds of an iteration, and memory, of all contenders on the same data.

use anyhow::Result;
use serde::Serialize;

use crate::contender::{Contender, contender, eals, fast_peers, subspace};
use crate::data::Matrix;
use crate::options::Options;
use crate::request::{Answer, Request, Task};
use crate::runner::Runner;

/// A shape with a number of factors, and how everyone did.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Case {
    pub(crate) shape: String,
    pub(crate) matrix: Matrix,
    pub(crate) factors: usize,
    pub(crate) rows: Vec<CaseRow>,
}

/// How one contender did.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct CaseRow {
    pub(crate) contender: Contender,
    /// Best seconds of an iteration.
    pub(crate) seconds: f64,
    /// Seconds of all iterations of all rounds.
    pub(crate) all: Vec<f64>,
    /// Most memory beyond the process at rest, the least over the rounds.
    pub(crate) bytes: u64,
    pub(crate) version: String,
}

impl Case {
    /// Best seconds of the contender of this name.
    pub(crate) fn seconds(&self, name: &str) -> Option<f64> {
        self.row(name).map(|row| row.seconds)
    }

    pub(crate) fn row(&self, name: &str) -> Option<&CaseRow> {
        self.rows.iter().find(|row| row.contender.name == name)
    }

    /// Best seconds of any peer.
    pub(crate) fn fastest_peer(&self) -> Option<f64> {
        let peers = self.rows.iter().filter(|row| !row.contender.is_ours());
        peers.map(|row| row.seconds).min_by(f64::total_cmp)
    }
}

/// The contenders of a case; blocks of sixteen are compared where they are a part of all factors.
fn contenders(shape: &str, factors: usize) -> Vec<Contender> {
    let mut all = vec![eals()];
    all.extend(fast_peers());
    all.push(contender("buffalo", "eals", 0));
    if shape == "yelp" && (64..=128).contains(&factors) {
        all.extend([subspace(16), contender("irspack", "ialspp", 16)]);
    }
    all
}

/// Measures a case: every contender once a round, each round starting with the next one.
pub(crate) fn measure(
    runner: &Runner,
    options: &Options,
    (shape, matrix): (&str, &Matrix),
    factors: usize,
) -> Case {
    let all: Vec<Contender> = contenders(shape, factors)
        .into_iter()
        .filter(|contender| runner.has(contender.package))
        .collect();
    let mut answers: Vec<Vec<Answer>> = vec![Vec::new(); all.len()];
    for round in 0..options.rounds {
        for turn in 0..all.len() {
            let at = (turn + round) % all.len();
            eprint!(
                "{shape} K={factors}, round {}: {} ",
                round + 1,
                all[at].name
            );
            match run_once(runner, options, &all[at], matrix, factors) {
                Ok(answer) => {
                    eprintln!("{:.3} s", answer.best());
                    answers[at].push(answer);
                }
                Err(error) => eprintln!("failed: {error:#}"),
            }
        }
    }
    let rows = all.into_iter().zip(answers).filter_map(row).collect();
    Case {
        shape: shape.to_owned(),
        matrix: matrix.clone(),
        factors,
        rows,
    }
}

fn run_once(
    runner: &Runner,
    options: &Options,
    contender: &Contender,
    matrix: &Matrix,
    factors: usize,
) -> Result<Answer> {
    let iterations = match contender.package {
        // An iteration takes many times as long as ours.
        "buffalo" => options.iterations.min(3),
        _ => options.iterations,
    };
    runner.run(&Request {
        data: matrix.folder.clone(),
        items: matrix.items,
        factors,
        iterations,
        ..contender.request(Task::Sweeps, runner.threads)
    })
}

fn row((contender, answers): (Contender, Vec<Answer>)) -> Option<CaseRow> {
    let last = answers.last()?;
    Some(CaseRow {
        version: last.version.clone(),
        bytes: answers.iter().map(Answer::own_bytes).min()?,
        seconds: answers.iter().map(Answer::best).min_by(f64::total_cmp)?,
        all: answers
            .iter()
            .flat_map(|answer| answer.seconds.clone())
            .collect(),
        contender,
    })
}
