//! The fast solvers against the slow one, and both against an oracle that shares no code with them.
#![allow(missing_docs, clippy::unwrap_used)]

mod every_set;
mod oracle;

use absentia::data::{Confidence, Targets};
use absentia::fit::{FitError, Fitted, Init, Run, fit};
use absentia::model::Factors;
use absentia::{CheckedParams, InstructionSet, Params, Solver};
use oracle::{Problem, Shape, relative_distance};
use proptest::prelude::*;

const SOLVERS: [Solver; 9] = [
    Solver::Eals,
    Solver::EalsVanilla,
    Solver::Subspace { block: 1 },
    Solver::Subspace { block: 4 },
    Solver::Subspace { block: 16 },
    Solver::Subspace { block: 32 },
    Solver::Als,
    Solver::AlsCg { steps: 2 },
    Solver::AlsCg { steps: 7 },
];

fn shapes() -> impl Strategy<Value = Shape> {
    (
        (
            1_usize..40,
            1_usize..40,
            1_usize..36,
            prop_oneof![Just(1_usize), Just(2), Just(5)],
        ),
        (
            0.05_f64..0.6,
            any::<u64>(),
            0.0_f64..0.5,
            prop_oneof![Just(0.0), Just(1.0), Just(0.5)],
            any::<bool>(),
        ),
    )
        .prop_map(
            |((users, items, k, z), (density, seed, lambda, nu, exceptions))| Shape {
                users,
                items,
                k,
                z,
                density,
                seed,
                lambda: f64::from((0.05 + lambda) as f32),
                nu,
                exceptions,
            },
        )
}

fn params(shape: Shape, solver: Solver, iterations: usize) -> CheckedParams {
    Params::new()
        .factors(shape.k)
        .iterations(iterations)
        .regularization(shape.lambda as f32)
        .reg_exponent(shape.nu as f32)
        .targets(Targets::Raw)
        .confidence(Confidence::Column)
        .solver(solver)
        .threads(2)
        .check()
        .unwrap()
}

fn init(problem: &Problem) -> Init {
    Init::Given {
        users: Factors::from(problem.dense(&problem.p, problem.shape.users)),
        items: Factors::from(problem.dense(&problem.q, problem.shape.items)),
    }
}

fn train(problem: &Problem, solver: Solver, iterations: usize) -> Option<Fitted> {
    let data = problem.interactions();
    if data.n_interactions() == 0 {
        return None;
    }
    let run = Run {
        init: init(problem),
        ..Run::default()
    };
    Some(
        fit(
            &data,
            &problem.scheme(),
            &params(problem.shape, solver, iterations),
            run,
        )
        .unwrap(),
    )
}

fn norm(x: &[f64]) -> f64 {
    x.iter().map(|x| x * x).sum::<f64>().sqrt()
}

fn all(factors: &Factors) -> impl Iterator<Item = f64> + '_ {
    (0..factors.rows()).flat_map(|row| factors.row(row).iter().map(|x| f64::from(*x)))
}

/// The problem with the factors of a trained model.
fn with_factors(problem: &Problem, fitted: &Fitted) -> Problem {
    let mut problem = problem.clone();
    problem.p = all(fitted.model.user_factors()).collect();
    problem.q = all(fitted.model.item_factors()).collect();
    problem
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn fast_equals_vanilla_equals_the_oracle(shape in shapes()) {
        let mut problem = Problem::random(shape);
        let Some(fast) = train(&problem, Solver::Eals, 3) else { return Ok(()) };
        let vanilla = train(&problem, Solver::EalsVanilla, 3).unwrap();
        for _ in 0..2 {
            problem.sweep();
        }
        let before = norm(&problem.p) + norm(&problem.q);
        problem.sweep();
        // A sweep rounds in proportion to what it starts from. If the minimum is at 0, the factors are a thousandth of
        // that after it, and what is left of them is mostly rounding.
        prop_assume!(norm(&problem.p) + norm(&problem.q) > 0.01 * before);
        for (name, got) in [("eals", &fast), ("eals-vanilla", &vanilla)] {
            let p = relative_distance(all(got.model.user_factors()), problem.p.iter().copied());
            let q = relative_distance(all(got.model.item_factors()), problem.q.iter().copied());
            prop_assert!(p < 1e-4 && q < 1e-4, "{name}: P differs by {p:.2e}, Q by {q:.2e}");
        }
        let p = relative_distance(all(fast.model.user_factors()), all(vanilla.model.user_factors()));
        let q = relative_distance(all(fast.model.item_factors()), all(vanilla.model.item_factors()));
        prop_assert!(p < 1e-4 && q < 1e-4, "P differs by {p:.2e}, Q by {q:.2e}");
    }

    #[test]
    fn the_objective_is_exact_and_never_rises(shape in shapes()) {
        let problem = Problem::random(shape);
        for solver in SOLVERS {
            let mut before = { let (o, m, r) = problem.objective(); o + m + r };
            let Some(fitted) = train(&problem, solver, 4) else { return Ok(()) };
            for sweep in fitted.model.history() {
                let total = sweep.objective.total();
                prop_assert!(total <= before * (1.0 + 1e-6), "{solver:?}: {before} rose to {total}");
                before = total;
            }
            let by_hand = with_factors(&problem, &fitted);
            let (observed, missing, regularization) = by_hand.objective();
            let got = fitted.model.history()[3].objective;
            let total = observed + missing + regularization;
            for (name, got, want) in [
                ("observed", got.observed, observed),
                ("missing", got.missing, missing),
                ("regularization", got.regularization, regularization),
                ("total", got.total(), total),
            ] {
                prop_assert!((got - want).abs() <= 1e-6 * total, "{solver:?}: {name} is {got}, by hand {want}");
            }
        }
    }
}

/// A problem at the edge of what single precision holds: 90 % observed, and observed entries weigh `c`
/// times what they did and have `r` times the target.
fn extreme(k: usize, seed: u64, lambda: f64, c: f64, r: f64) -> Problem {
    let mut problem = Problem::random(Shape {
        users: 40,
        items: 30,
        k,
        z: 1,
        density: 0.9,
        seed,
        lambda: f64::from(lambda as f32),
        nu: 0.0,
        exceptions: false,
    });
    for (target, weight) in problem.observed.iter_mut().flatten() {
        *weight = f64::from((*weight * c) as f32);
        *target = f64::from((*target * r) as f32);
    }
    problem.a.fill(1.0);
    problem.b.fill(1.0);
    problem
}

/// The history of a run does not rise, and neither does the objective as the oracle computes it.
fn never_rises(problem: &Problem, solver: Solver) -> Result<(), String> {
    let data = problem.interactions();
    let run = Run {
        init: init(problem),
        ..Run::default()
    };
    let params = params(problem.shape, solver, 12);
    let fitted = match fit(&data, &problem.scheme(), &params, run) {
        Ok(fitted) => fitted,
        Err(FitError::Diverged { .. }) => return Ok(()),
        Err(error) => return Err(error.to_string()),
    };
    let at_zero: f64 = problem
        .observed
        .iter()
        .flatten()
        .map(|(r, c)| c * r * r)
        .sum();
    let start = problem.objective();
    let first = (start.0 + start.1 + start.2).max(at_zero);
    let mut before = first;
    for sweep in fitted.model.history() {
        let total = sweep.objective.total();
        if total.is_nan() || total > before * (1.0 + 2e-6) {
            return Err(format!("{before} rose to {total}"));
        }
        before = total;
    }
    let (observed, missing, regularization) = with_factors(problem, &fitted).objective();
    let total = observed + missing + regularization;
    if total.is_nan() || total > first * (1.0 + 2e-6) {
        return Err(format!("{first} rose to {total} by hand"));
    }
    Ok(())
}

#[test]
fn the_objective_never_rises_where_observed_entries_weigh_less_than_missing_ones() {
    let mut faults = Vec::new();
    for seed in 0..3 {
        for (lambda, c) in [
            (1e-6, 1e-2),
            (0.0, 1e-2),
            (0.0, 1e-6),
            (1e-6, 1e-6),
            (0.0, 1e-9),
        ] {
            for (k, r) in [
                (32, 1.0),
                (8, 1.0),
                (32, 1e6),
                (16, 1e-6),
                (32, 1e12),
                (8, 1e-12),
            ] {
                let problem = extreme(k, seed, lambda, c, r);
                for solver in SOLVERS {
                    if let Err(fault) = never_rises(&problem, solver) {
                        faults.push(format!("{solver:?} K={k} λ={lambda} c={c} r={r}: {fault}"));
                    }
                }
            }
        }
    }
    let cases = 3 * 5 * 6 * SOLVERS.len();
    assert!(
        faults.is_empty(),
        "{} of {cases}:\n{}",
        faults.len(),
        faults.join("\n")
    );
}

#[test]
fn solvers_hold_on_every_set() {
    let sets: Vec<String> = InstructionSet::available()
        .iter()
        .map(ToString::to_string)
        .collect();
    every_set::run_again(&sets, &InstructionSet::in_use().to_string(), &[]);
}
