//! The fast solvers against the slow one, and both against an oracle that shares no code with them.
#![allow(missing_docs, clippy::unwrap_used)]

mod every_set;
mod oracle;

use absentia::data::{Confidence, Targets};
use absentia::fit::{Fitted, Init, Run, fit};
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
        for _ in 0..3 {
            problem.sweep();
        }
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

#[test]
fn solvers_hold_on_every_set() {
    let sets: Vec<String> = InstructionSet::available()
        .iter()
        .map(ToString::to_string)
        .collect();
    every_set::run_again(&sets, &InstructionSet::in_use().to_string(), &[]);
}
