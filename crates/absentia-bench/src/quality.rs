//! Time to quality on Gowalla: Recall@20 on the validation part by seconds of training.
//!
//! Seconds count from the call that trains, with what the library prepares, evaluation left out.
//! All contenders are evaluated by the same code. Each ends with one run on all training entries,
//! for as many iterations as were best on the validation part, measured once on the test set.

use std::path::{Path, PathBuf};

use absentia::Dense;
use absentia::evaluate::TestSet;
use absentia::ranking::FactorScorer;
use anyhow::{Context, Result};
use serde::Serialize;

use crate::arrays;
use crate::contender::{Contender, eals, fast_peers, subspace};
use crate::data::{Gowalla, Matrix, read};
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

/// Products of the sketch that some of our runs start from.
const PASSES: usize = 4;

/// Who takes part: the peers and ours with `implicit`'s objective, then ours with our own.
fn entrants(quick: bool, threads: usize) -> Vec<(Contender, Request)> {
    let (factors, most) = if quick { (64, 4) } else { (256, 10) };
    let entrant = |contender: Contender, objective, factors, iterations, passes| {
        let request = Request {
            objective,
            passes,
            factors,
            iterations,
            ..contender.request(Task::Curve, threads)
        };
        (contender, request)
    };
    let same = |contender, iterations, passes| {
        entrant(contender, Objective::Implicit, factors, iterations, passes)
    };
    let mut all: Vec<_> = fast_peers().map(|peer| same(peer, most, 0)).into();
    all.push(same(eals(), most, 0));
    all.push(same(eals(), 4, PASSES));
    all.push(same(subspace(16), 4, PASSES));
    let own = if quick {
        vec![64]
    } else {
        vec![128, 160, 192, 256]
    };
    let own = own.into_iter();
    all.extend(own.map(|factors| entrant(eals(), Objective::Own, factors, 4, PASSES)));
    all
}

/// Draws every curve, then takes every test figure.
pub(crate) fn measure(
    runner: &Runner,
    options: &Options,
    data: &Gowalla,
    folder: &Path,
) -> Result<Quality> {
    let entrants: Vec<Entrant> = entrants(options.quick, runner.threads)
        .into_iter()
        .filter(|(contender, _)| runner.has(contender.package))
        .map(|(contender, request)| Entrant {
            contender,
            request,
            folder: folder.join("factors"),
        })
        .collect();
    let mut curves: Vec<Option<Curve>> = Vec::new();
    for entrant in &entrants {
        let drawn = entrant.draw(runner, data);
        curves.push(or_left_out(&entrant.name(), drawn));
    }
    // What can be reached is known; further rounds only take the time again.
    for _ in 1..options.rounds {
        for (entrant, curve) in entrants.iter().zip(curves.iter_mut().flatten()) {
            entrant.take_time(runner, data, curve)?;
        }
    }
    for (entrant, curve) in entrants.iter().zip(curves.iter_mut().flatten()) {
        curve.test = entrant.test(runner, data, curve.best().0)?;
    }
    let curves: Vec<Curve> = curves.into_iter().flatten().collect();
    let peers = curves.iter().filter(|curve| !curve.contender.is_ours());
    Ok(Quality {
        best_of_peers: peers.map(|curve| curve.best().2).max_by(f64::total_cmp),
        curves,
    })
}

fn or_left_out(name: &str, drawn: Result<Curve>) -> Option<Curve> {
    match drawn {
        Ok(curve) => {
            let (best, own) = (curve.best().2, curve.seconds_to_own().unwrap_or(f64::NAN));
            eprintln!("quality: {name}: {best:.4} at best, {own:.2} s to 99% of it");
            Some(curve)
        }
        Err(error) => {
            eprintln!("quality: {name} is left out: {error:#}");
            None
        }
    }
}

/// A contender with its settings.
struct Entrant {
    contender: Contender,
    request: Request,
    folder: PathBuf,
}

impl Entrant {
    fn name(&self) -> String {
        let own = match self.request.objective {
            Objective::Own => ", own settings",
            _ => "",
        };
        let start = if self.request.passes > 0 {
            " from a sketch"
        } else {
            ""
        };
        let factors = self.request.factors;
        format!("{}{start}{own}, K={factors}", self.contender.name)
    }

    fn draw(&self, runner: &Runner, data: &Gowalla) -> Result<Curve> {
        let answer = self.evaluated(runner, &data.part, &data.validation, &self.request)?;
        let numbers = answer.measured.into_iter().zip(answer.elapsed);
        Ok(Curve {
            contender: self.contender.clone(),
            name: self.name(),
            factors: self.request.factors,
            points: numbers
                .zip(answer.recall)
                .map(|((iteration, seconds), recall)| (iteration, seconds, recall))
                .collect(),
            test: None,
        })
    }

    /// Runs again without evaluating, and keeps the least seconds to every point.
    fn take_time(&self, runner: &Runner, data: &Gowalla, curve: &mut Curve) -> Result<()> {
        let answer = runner.run(&Request {
            data: data.part.folder.clone(),
            items: data.part.items,
            ..self.request.clone()
        })?;
        eprintln!("quality: {} again", curve.name);
        for (point, elapsed) in curve.points.iter_mut().zip(answer.elapsed) {
            point.1 = point.1.min(elapsed);
        }
        Ok(())
    }

    /// Trains on all training entries and yields Recall@20 on the test set, with the seconds.
    fn test(
        &self,
        runner: &Runner,
        data: &Gowalla,
        iterations: usize,
    ) -> Result<Option<(f64, f64)>> {
        let request = Request {
            iterations,
            last_only: true,
            ..self.request.clone()
        };
        let answer = self.evaluated(runner, &data.train, &data.test, &request)?;
        Ok(answer
            .recall
            .last()
            .copied()
            .zip(answer.elapsed.last().copied()))
    }

    fn evaluated(
        &self,
        runner: &Runner,
        train: &Matrix,
        test: &Matrix,
        request: &Request,
    ) -> Result<Answer> {
        let _ = std::fs::remove_dir_all(&self.folder);
        std::fs::create_dir_all(&self.folder)?;
        let mut answer = runner.run(&Request {
            data: train.folder.clone(),
            test: Some(test.folder.clone()),
            items: train.items,
            out: Some(self.folder.clone()),
            ..request.clone()
        })?;
        if answer.recall.is_empty() {
            self.evaluate(&mut answer, train, test)?;
        }
        std::fs::remove_dir_all(&self.folder)?;
        Ok(answer)
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
    let (shape, values) = arrays::read_f32(path)?;
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
