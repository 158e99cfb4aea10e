//! Time to quality on Gowalla: Recall@20 on the validation part by seconds of training.
//!
//! Seconds count from the call that trains, with what the library prepares, evaluation left out.
//! All contenders are evaluated by the same code. Each ends with one run on all training entries,
//! for as many iterations as were best on the validation part, measured once on the test set.

use std::path::{Path, PathBuf};

use absentia::evaluate::{FactorScorer, TestSet};
use absentia::linalg::Dense;
use anyhow::{Context, Result};
use serde::Serialize;

use crate::contender::{Contender, contender, eals, fast_peers, subspace};
use crate::data::{Gowalla, Matrix, read};
use crate::npy;
use crate::options::Options;
use crate::request::{Answer, Objective, Request, Task};
use crate::runner::Runner;
use crate::worker::recall;

/// Share of the best Recall@20 that counts as reaching it.
const REACHED: f64 = 0.99;

/// Curves of all contenders.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Quality {
    /// Best Recall@20 of a peer on the validation part.
    pub(crate) best_of_peers: Option<f64>,
    pub(crate) curves: Vec<Curve>,
}

/// One contender's way to its quality.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Curve {
    pub(crate) contender: Contender,
    /// Name with objective and factors.
    pub(crate) name: String,
    pub(crate) factors: usize,
    /// Iterations, seconds and Recall@20 on the validation part.
    pub(crate) points: Vec<(usize, f64, f64)>,
    /// Test Recall@20 of the model of the best number of iterations, and the seconds it took.
    pub(crate) test: Option<(f64, f64)>,
}

impl Curve {
    /// The best point.
    pub(crate) fn best(&self) -> (usize, f64, f64) {
        let by_recall =
            |left: &&(usize, f64, f64), right: &&(usize, f64, f64)| left.2.total_cmp(&right.2);
        // The first of equals: `max_by` would take the last.
        self.points
            .iter()
            .rev()
            .max_by(by_recall)
            .copied()
            .unwrap_or((0, 0.0, 0.0))
    }

    /// Seconds until a recall is reached.
    pub(crate) fn seconds_to(&self, recall: f64) -> Option<f64> {
        self.points
            .iter()
            .find(|point| point.2 >= recall)
            .map(|point| point.1)
    }

    /// Seconds until nearly the contender's own best is reached.
    pub(crate) fn seconds_to_own(&self) -> Option<f64> {
        self.seconds_to(REACHED * self.best().2)
    }
}

impl Quality {
    /// Seconds until a contender reaches nearly the best of the peers.
    pub(crate) fn seconds_to_peers(&self, curve: &Curve) -> Option<f64> {
        curve.seconds_to(REACHED * self.best_of_peers?)
    }
}

/// Who takes part: a contender, its objective, its factors and its iterations.
fn entrants(quick: bool) -> Vec<(Contender, Objective, usize, usize)> {
    let iterations = if quick { 4 } else { 15 };
    let factors = if quick { 64 } else { 256 };
    let same = |contender| (contender, Objective::Implicit, factors, iterations);
    let mut all: Vec<_> = fast_peers().into_iter().map(same).collect();
    all.extend([eals(), subspace(16), contender("absentia", "als-cg", 0)].map(same));
    let own = if quick { vec![64] } else { vec![128, 192, 256] };
    let sweeps = iterations.min(6);
    all.extend(
        own.into_iter()
            .map(|factors| (eals(), Objective::Own, factors, sweeps)),
    );
    all
}

/// Draws every curve, then takes every test figure.
pub(crate) fn measure(
    runner: &Runner,
    options: &Options,
    data: &Gowalla,
    folder: &Path,
) -> Result<Quality> {
    let mut curves = Vec::new();
    for (contender, objective, factors, iterations) in entrants(options.quick) {
        if !runner.has(contender.package) {
            continue;
        }
        let name = match objective {
            Objective::Own => format!("{}, own settings, K={factors}", contender.name),
            _ => format!("{}, K={factors}", contender.name),
        };
        let entrant = Entrant {
            request: Request {
                objective,
                factors,
                iterations,
                ..contender.request(Task::Curve, runner.threads)
            },
            folder: folder.join("factors"),
        };
        match entrant.curve(runner, options, data) {
            Ok((points, test)) => {
                let curve = Curve {
                    contender,
                    name,
                    factors,
                    points,
                    test,
                };
                let (best, own) = (curve.best(), curve.seconds_to_own());
                eprintln!(
                    "{}: {:.4} at best, {own:.2?} s to 99% of it",
                    curve.name, best.2
                );
                curves.push(curve);
            }
            Err(error) => eprintln!("{name} failed: {error:#}"),
        }
    }
    let peers = curves.iter().filter(|curve| !curve.contender.is_ours());
    Ok(Quality {
        best_of_peers: peers.map(|curve| curve.best().2).max_by(f64::total_cmp),
        curves,
    })
}

/// A contender with its settings.
struct Entrant {
    request: Request,
    folder: PathBuf,
}

type Points = Vec<(usize, f64, f64)>;

impl Entrant {
    /// Yields the curve, its seconds the least of the rounds, and the test figure.
    fn curve(
        &self,
        runner: &Runner,
        options: &Options,
        data: &Gowalla,
    ) -> Result<(Points, Option<(f64, f64)>)> {
        let mut points: Points = self.run(runner, &data.part, &data.validation, None)?;
        for _ in 1..options.rounds {
            let again = self.run(runner, &data.part, &data.validation, None)?;
            for (point, other) in points.iter_mut().zip(again) {
                point.1 = point.1.min(other.1);
            }
        }
        let best = points
            .iter()
            .rev()
            .max_by(|left, right| left.2.total_cmp(&right.2));
        let iterations = best.context("no points")?.0;
        let test = self.run(runner, &data.train, &data.test, Some(iterations))?;
        Ok((points, test.last().map(|point| (point.2, point.1))))
    }

    fn run(
        &self,
        runner: &Runner,
        train: &Matrix,
        test: &Matrix,
        last: Option<usize>,
    ) -> Result<Points> {
        let _ = std::fs::remove_dir_all(&self.folder);
        std::fs::create_dir_all(&self.folder)?;
        let mut answer = runner.run(&Request {
            data: train.folder.clone(),
            test: Some(test.folder.clone()),
            items: train.items,
            iterations: last.unwrap_or(self.request.iterations),
            last_only: last.is_some(),
            out: Some(self.folder.clone()),
            ..self.request.clone()
        })?;
        if answer.recall.is_empty() {
            self.evaluate(&mut answer, train, test)?;
        }
        let _ = std::fs::remove_dir_all(&self.folder);
        let numbers = answer.measured.into_iter().zip(answer.elapsed);
        Ok(numbers
            .zip(answer.recall)
            .map(|((n, seconds), recall)| (n, seconds, recall))
            .collect())
    }

    /// Evaluates the factors that a peer left.
    fn evaluate(&self, answer: &mut Answer, train: &Matrix, test: &Matrix) -> Result<()> {
        let seen = read(&train.folder, train.items)?;
        let test = TestSet::from_interactions(&read(&test.folder, test.items)?);
        for number in &answer.measured {
            let users = factors(&self.folder.join(format!("{number}-users.npy")))?;
            let items = factors(&self.folder.join(format!("{number}-items.npy")))?;
            answer
                .recall
                .push(recall(&FactorScorer::new(&users, &items)?, &seen, &test)?);
        }
        Ok(())
    }
}

fn factors(path: &Path) -> Result<Dense> {
    let (shape, values) = npy::read::<f32>(path)?;
    let [rows, cols] = shape[..] else {
        anyhow::bail!("{} is no matrix", path.display());
    };
    Dense::from_slice(rows, cols, &values).context("factors of the wrong length")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_to_quality_is_that_of_the_first_point_that_reaches_it() {
        let curve = Curve {
            contender: eals(),
            name: "eals".to_owned(),
            factors: 8,
            points: vec![
                (1, 0.5, 0.10),
                (2, 1.0, 0.199),
                (3, 1.5, 0.2),
                (4, 2.0, 0.2),
            ],
            test: None,
        };
        assert_eq!(curve.best().0, 3);
        assert_eq!(curve.seconds_to_own(), Some(1.0));
        assert_eq!(curve.seconds_to(0.21), None);
        let quality = Quality {
            best_of_peers: Some(0.1),
            curves: vec![curve],
        };
        assert_eq!(quality.seconds_to_peers(&quality.curves[0]), Some(0.5));
    }
}
