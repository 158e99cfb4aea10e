//! Problems at the edge of what floating-point numbers hold, against an objective that is summed entry
//! by entry in `f64`.
#![allow(missing_docs, clippy::unwrap_used)]

use absentia::data::{Confidence, Duplicates, Interactions, Targets, Triplets};
use absentia::fit::{FitError, Fitted, Init, Run, fit};
use absentia::model::Factors;
use absentia::weights::Scheme;
use absentia::{Dense, Method, Params};
use absentia_testing::extreme::{Extreme, SOLVERS};

/// How far off the reported objective may be.
const OFF: f64 = 1e-5;
/// Sweeps of a run.
const SWEEPS: usize = 6;
/// Problems of the short form; `ABSENTIA_EXTREMES` sets another number.
const PROBLEMS: u64 = 60;

fn data(problem: &Extreme) -> Interactions<'static> {
    let column = |value: fn(&absentia_testing::extreme::Observed) -> f32| -> Vec<f32> {
        problem.observed.iter().map(value).collect()
    };
    let users: Vec<u32> = problem.observed.iter().map(|entry| entry.user).collect();
    let items: Vec<u32> = problem.observed.iter().map(|entry| entry.item).collect();
    Triplets::new(&users, &items)
        .values(&column(|entry| entry.r))
        .weights(&column(|entry| entry.c))
        .build(problem.users, problem.items, Duplicates::Error)
        .unwrap()
        .into_owned()
}

fn dense(rows: usize, values: &[f32]) -> Dense {
    Dense::from_slice(rows, values.len() / rows, values).unwrap()
}

fn train(problem: &Extreme, solver: &str, sweeps: usize) -> Result<Fitted, FitError> {
    let params = Params::new()
        .factors(problem.factors)
        .iterations(sweeps)
        .regularization(problem.lambda)
        .reg_exponent(0.0)
        .targets(Targets::Raw)
        .confidence(Confidence::Column)
        .solver(solver.parse::<Method>().unwrap())
        .threads(1);
    let scheme = Scheme::low_rank(
        dense(problem.users, &problem.a),
        dense(problem.items, &problem.b),
    );
    let run = Run {
        init: Init::Given {
            users: Factors::from(dense(problem.users, &problem.p)),
            items: Factors::from(dense(problem.items, &problem.q)),
        },
        ..Run::default()
    };
    fit(&data(problem), &scheme, &params.check()?, run)
}

fn rows(factors: &Factors) -> Vec<f32> {
    let rows = (0..factors.rows()).flat_map(|row| factors.row(row).to_vec());
    rows.collect()
}

/// What is wrong with a run: the objective that it reports is off, or rises. `None` if it is refused.
fn faults(problem: &Extreme, solver: &str) -> Option<Vec<String>> {
    let mut faults = Vec::new();
    let start: f64 = problem.objective(&problem.p, &problem.q).iter().sum();
    let fitted = match train(problem, solver, SWEEPS) {
        Ok(fitted) => fitted,
        // A stated limit: no model is made.
        Err(FitError::Diverged { .. } | FitError::Rises { .. }) => return None,
        Err(error) => return Some(vec![error.to_string()]),
    };
    let mut before = start;
    for sweep in fitted.model.history() {
        let total = sweep.objective.total();
        if total.is_nan() || total > before * (1.0 + OFF) {
            faults.push(format!(
                "sweep {} raises {before} to {total}",
                sweep.iteration
            ));
        }
        before = total;
    }
    let (p, q) = (
        rows(fitted.model.user_factors()),
        rows(fitted.model.item_factors()),
    );
    let by_hand: f64 = problem.objective(&p, &q).iter().sum();
    if (by_hand - before).abs() > OFF * by_hand {
        faults.push(format!("{before} is reported, {by_hand} by hand"));
    }
    Some(faults)
}

#[test]
fn every_extreme_problem_is_solved_or_refused() {
    let number = std::env::var("ABSENTIA_EXTREMES").ok();
    let problems = number.and_then(|n| n.parse().ok()).unwrap_or(PROBLEMS);
    let (mut all, mut refused) = (Vec::new(), 0);
    for seed in 0..problems {
        let problem = Extreme::of_seed(seed);
        for solver in SOLVERS {
            let Some(found) = faults(&problem, solver) else {
                refused += 1;
                continue;
            };
            let line = |fault| format!("{solver}, {}: {fault}", problem.name);
            all.extend(found.into_iter().map(line));
        }
    }
    let cases = problems as usize * SOLVERS.len();
    assert!(
        all.is_empty(),
        "{} faults in {cases} runs, {refused} refused:\n{}",
        all.len(),
        all.join("\n")
    );
    // Refusing is no way out.
    assert!(refused * 50 <= cases, "{refused} of {cases} are refused");
}
