//! Solvers that minimise the same objective end at the same value of it.

use absentia::{Params, Solver};

use super::train;
use crate::oracle::{Problem, Shape};
use crate::{params, shape};

/// Exact rows (WALS for any rank of the weights), exact blocks and exact coordinates, on problems
/// of several ranks Z with varied targets, weights and exceptions.
#[test]
fn als_eals_and_subspace_end_at_the_same_objective() {
    for z in [1, 2, 5] {
        let problem = Problem::random(Shape {
            k: 6,
            z,
            lambda: 0.5,
            ..shape()
        });
        let (data, scheme) = (problem.interactions(), problem.scheme());
        let end = |solver: Solver| {
            let params = Params {
                factors: 6,
                iterations: 1500,
                regularization: 0.5,
                tolerance: Some(1e-9),
                ..params(solver)
            };
            let model = train(&data, &scheme, params).model;
            model.history().last().unwrap().objective.total()
        };
        let exact = end(Solver::Als);
        for solver in [
            Solver::Eals,
            Solver::Subspace { block: 2 },
            Solver::Subspace { block: 16 },
        ] {
            let off = (end(solver) - exact).abs() / exact;
            assert!(off < 1e-3, "Z = {z}, {solver:?}: {off:e} from exact rows");
        }
    }
}
