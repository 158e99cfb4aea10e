//! What every solver must do, whatever the problem.
#![allow(missing_docs, clippy::unwrap_used, clippy::print_stdout)]

#[path = "../every_set/mod.rs"]
mod every_set;
mod models;
#[path = "../oracle/mod.rs"]
mod oracle;
#[path = "../real/mod.rs"]
mod real;
mod runs;
mod same_end;
mod symmetry;
mod table_two;
mod weighting;

use absentia::data::{Confidence, Duplicates, Interactions, Targets, Triplets};
use absentia::fit::{Fitted, Run, fit};
use absentia::model::Factors;
use absentia::weights::Scheme;
use absentia::{InstructionSet, Params, Solver};
use oracle::Shape;

const SOLVERS: [Solver; 6] = [
    Solver::Eals,
    Solver::EalsVanilla,
    Solver::Subspace { block: 8 },
    Solver::Subspace { block: 32 },
    Solver::Als,
    Solver::AlsCg { steps: 3 },
];

fn shape() -> Shape {
    Shape {
        users: 90,
        items: 70,
        k: 20,
        z: 2,
        density: 0.2,
        seed: 5,
        lambda: 0.1,
        nu: 0.5,
        exceptions: true,
    }
}

fn params(solver: Solver) -> Params {
    Params::new()
        .factors(20)
        .iterations(4)
        .regularization(0.1)
        .reg_exponent(0.5)
        .targets(Targets::Raw)
        .confidence(Confidence::Column)
        .solver(solver)
        .init_std(0.1)
        .seed(3)
}

fn train(data: &Interactions<'_>, scheme: &Scheme, params: Params) -> Fitted {
    fit(data, scheme, &params.check().unwrap(), Run::default()).unwrap()
}

fn all(factors: &Factors) -> Vec<f64> {
    (0..factors.rows())
        .flat_map(|row| factors.row(row).iter().map(|x| f64::from(*x)))
        .collect()
}

fn bits(fitted: &Fitted) -> (Vec<u32>, Vec<u64>) {
    let model = &fitted.model;
    let factors = [model.user_factors(), model.item_factors()];
    let factors = factors
        .iter()
        .flat_map(|f| (0..f.rows()).flat_map(|row| f.row(row).iter().map(|x| x.to_bits())));
    (
        factors.collect(),
        model
            .history()
            .iter()
            .map(|sweep| sweep.objective.total().to_bits())
            .collect(),
    )
}

/// A generated matrix with a long row and a long column, so that sums are cut into pieces.
fn with_long_rows() -> Interactions<'static> {
    let (mut users, mut items) = (Vec::new(), Vec::new());
    for item in 0..9000 {
        users.push(0);
        items.push(item);
    }
    for user in 1..6000_u32 {
        users.push(user);
        items.push(user % 9000);
        users.push(user);
        items.push(4321);
    }
    Triplets::new(&users, &items)
        .build(6000, 9000, Duplicates::Last)
        .unwrap()
}

#[test]
fn solvers_hold_on_every_set() {
    let sets: Vec<String> = InstructionSet::available()
        .iter()
        .map(ToString::to_string)
        .collect();
    // Table II takes as long as all other tests and does not test kernels any further.
    let skipped = ["--skip", "table_two"];
    every_set::run_again(&sets, &InstructionSet::in_use().to_string(), &skipped);
}
