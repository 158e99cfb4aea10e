//! What every solver must do, whatever the problem and whatever hardware it runs on.
#![allow(missing_docs, clippy::unwrap_used, clippy::print_stdout)]

mod dense;
#[path = "../every_set/mod.rs"]
mod every_set;
mod on_cpu;
mod on_dense;
#[path = "../oracle/mod.rs"]
mod oracle;
#[path = "../real/mod.rs"]
mod real;

use absentia::data::{Confidence, Targets};
use absentia::fit::Fitted;
use absentia::model::Factors;
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

#[test]
fn solvers_hold_on_every_set() {
    let sets: Vec<String> = InstructionSet::available()
        .iter()
        .map(ToString::to_string)
        .collect();
    // The dense backend has no kernels. Table II takes as long as all other tests and does not test
    // kernels any further.
    let filters = ["on_cpu", "--skip", "table_two"];
    every_set::run_again(&sets, &InstructionSet::in_use().to_string(), &filters);
}
