//! The objective, entry by entry, around every half-sweep of every solver.

use super::*;
use crate::data::{Confidence, Duplicates, Interactions, Targets, Triplets, Values};
use crate::fit::backend::ProblemParts;
use crate::fit::start::start;
use crate::fit::{FitError, Init};
use crate::params::{CheckedParams, Method, Params};
use crate::weights::Scheme;

/// The problem of a run, as `fit` makes it.
fn problem_of<'a>(
    data: &Interactions<'a>,
    scheme: &'a Scheme,
    params: &CheckedParams,
) -> Result<Problem<'a>, FitError> {
    let transform = data.freeze(params.targets, params.confidence)?;
    let data = data.apply(&transform)?;
    Problem::new(ProblemParts {
        weights: scheme.resolve(&data)?,
        data,
        transform,
        dense: scheme.full_weights(),
        params: (**params).clone(),
    })
}

/// The backend of a run before its first sweep.
fn backend_of<'p>(problem: &'p Problem<'p>) -> CpuBackend<'p> {
    let Method::Solver(solver) = problem.params().solver else {
        panic!("a baseline has no backend");
    };
    let start = start(problem, Init::Gaussian, None).unwrap();
    let mut backend = Cpu.backend(problem, solver, start.factors);
    backend.sum_caches(Axis::Item).unwrap();
    backend
}

/// `Σ_u λ_u |p_u|²`.
fn ridge(factors: &Dense, penalty: &Values<'_>) -> f64 {
    let square =
        |row: usize| -> f64 { factors.row(row).iter().map(|x| f64::from(*x).powi(2)).sum() };
    let rows = 0..factors.rows();
    rows.map(|row| f64::from(penalty.get(row)) * square(row))
        .sum()
}

/// J by visiting all M × N entries.
fn by_hand(backend: &CpuBackend<'_>) -> f64 {
    let (problem, p, q) = (
        backend.problem,
        &backend.factors.users,
        &backend.factors.items,
    );
    let mut total = ridge(p, problem.penalty(Axis::User)) + ridge(q, problem.penalty(Axis::Item));
    for user in 0..problem.data().n_users() {
        let row = problem.data().by_user().row(user);
        for item in 0..problem.data().n_items() {
            let pairs = p.row(user).iter().zip(q.row(item));
            let score: f64 = pairs.map(|(p, q)| f64::from(*p) * f64::from(*q)).sum();
            total += if let Ok(n) = row.indices.binary_search(&(item as u32)) {
                f64::from(row.c.get(n)) * (f64::from(row.r.get(n)) - score).powi(2)
            } else {
                let weight = problem.missing_weights().weight(user as u32, item as u32);
                f64::from(weight) * score * score
            };
        }
    }
    total
}

fn problem() -> (Interactions<'static>, Scheme) {
    let (mut users, mut items, mut values, mut weights) = (vec![], vec![], vec![], vec![]);
    for at in 0..900_u32 {
        if at * at % 7 < 2 {
            users.push(at / 30);
            items.push(at % 30);
            values.push((at % 5) as f32 - 1.0);
            weights.push(0.3 + (at % 3) as f32);
        }
    }
    let triplets = Triplets::new(&users, &items)
        .values(&values)
        .weights(&weights);
    let data = triplets.build(30, 30, Duplicates::Error).unwrap();
    let scheme = Scheme::low_rank(
        Dense::from_fn(30, 2, |u, t| 0.1 * ((u + t) % 4) as f32),
        Dense::from_fn(30, 2, |i, t| 0.2 * ((i * 3 + t) % 5) as f32),
    );
    (data, scheme)
}

#[test]
fn no_half_sweep_raises_the_objective() {
    let (data, scheme) = problem();
    let solvers = [
        Solver::Eals,
        Solver::EalsVanilla,
        Solver::Subspace { block: 4 },
        Solver::Subspace { block: 16 },
        Solver::Als,
        Solver::AlsCg { steps: 2 },
    ];
    for solver in solvers {
        let params = Params::new()
            .factors(19)
            .regularization(0.05)
            .reg_exponent(0.5)
            .solver(solver)
            .init_std(0.5);
        let params = params
            .targets(Targets::Raw)
            .confidence(Confidence::Column)
            .check()
            .unwrap();
        let problem = problem_of(&data, &scheme, &params).unwrap();
        let mut backend = backend_of(&problem);
        let (cancel, mut before) = (Cancel::new(), by_hand(&backend));
        for _ in 0..5 {
            backend.half_sweep(Axis::User, false, &cancel).unwrap();
            let users = by_hand(&backend);
            assert!(
                users <= before * (1.0 + 1e-6),
                "{solver:?}: users raised {before} to {users}"
            );
            backend.sum_caches(Axis::User).unwrap();
            backend.half_sweep(Axis::Item, true, &cancel).unwrap();
            before = by_hand(&backend);
            assert!(
                before <= users * (1.0 + 1e-6),
                "{solver:?}: items raised {users} to {before}"
            );
            backend.sum_caches(Axis::Item).unwrap();
            let fast = backend
                .objective_sums(Precision::Fast)
                .unwrap()
                .objective
                .total();
            assert!(
                (fast - before).abs() <= 1e-6 * before,
                "{solver:?}: {fast} instead of {before}"
            );
        }
    }
}

/// Rows with fewer entries than factors, hardly any penalty, and missing entries that hardly count:
/// blocks are singular but for rounding.
#[test]
fn no_half_sweep_raises_the_objective_where_blocks_are_nearly_singular() {
    let pairs: Vec<(u32, u32)> = (0..60_u32)
        .flat_map(|user| (0..5).map(move |n| (user, (user * 7 + n * 11) % 80)))
        .collect();
    let (users, items): (Vec<u32>, Vec<u32>) = pairs.into_iter().unzip();
    let data = Triplets::new(&users, &items)
        .build(60, 80, Duplicates::Last)
        .unwrap();
    let solvers = [
        Solver::Eals,
        Solver::Subspace { block: 8 },
        Solver::Subspace { block: 16 },
        Solver::Subspace { block: 32 },
        Solver::Als,
        Solver::AlsCg { steps: 3 },
    ];
    for (seed, solver) in (0..30).flat_map(|seed| solvers.map(|solver| (seed, solver))) {
        for (lambda, weight, c) in [
            (1e-6, 0.0, 1.0),
            (1e-4, 0.0, 1.0),
            (0.0, 1e-6, 1.0),
            (0.0, 1e-3, 1e4),
            (0.0, 0.0, 1.0),
        ] {
            let params = Params::new()
                .factors(32)
                .regularization(lambda)
                .solver(solver)
                .seed(seed)
                .init_std(0.1);
            let params = params
                .confidence(Confidence::Constant { weight: c })
                .check()
                .unwrap();
            let scheme = Scheme::uniform(weight);
            let problem = problem_of(&data, &scheme, &params).unwrap();
            let mut backend = backend_of(&problem);
            let (cancel, mut before) = (Cancel::new(), by_hand(&backend));
            // A fit this close leaves only the rounding of predictions in f32, relative to Σ c r².
            let floor = 1e-7 * before;
            for _ in 0..12 {
                backend.half_sweep(Axis::User, false, &cancel).unwrap();
                let users = by_hand(&backend);
                let what = format!("{solver:?}, λ {lambda}, w {weight}, c {c}, seed {seed}");
                assert!(
                    users <= before * (1.0 + 1e-6) + floor,
                    "{what}: users raised {before} to {users}"
                );
                backend.sum_caches(Axis::User).unwrap();
                backend.half_sweep(Axis::Item, false, &cancel).unwrap();
                before = by_hand(&backend);
                assert!(
                    before <= users * (1.0 + 1e-6) + floor,
                    "{what}: items raised {users} to {before}"
                );
                backend.sum_caches(Axis::Item).unwrap();
            }
        }
    }
}

/// Layouts that are stored, and layouts that workers make again for every tile.
#[test]
fn storing_layouts_changes_nothing() {
    let data = crate::testing::generated(1_500, 1_200, 40_000);
    let targets = Targets::Normalized {
        user: 0.3,
        item: 0.3,
    };
    let params = Params::new().factors(16).targets(targets).check().unwrap();
    let scheme = Scheme::uniform(0.05);
    let problem = problem_of(&data, &scheme, &params).unwrap();
    let factors = |stored: bool| {
        let mut backend = backend_of(&problem);
        if backend.kernels.uses_lane_parallel() && !stored {
            let stride = backend.factors.users.stride();
            backend.tiles = Sides::from_fn(|axis| Tiles::sorted(problem.entries(axis), stride, 0));
        }
        for _ in 0..3 {
            for axis in [Axis::User, Axis::Item] {
                backend.half_sweep(axis, false, &Cancel::new()).unwrap();
                backend.sum_caches(axis).unwrap();
            }
        }
        backend.factors.map(|factors| factors.as_slice().to_vec())
    };
    assert!(factors(true) == factors(false));
}

/// A half-sweep that measures leaves the same factors as one that does not, and sums that are as good
/// as those taken from the factors afterwards.
#[test]
fn measuring_the_objective_changes_nothing_and_needs_no_second_look_at_the_entries() {
    let data = crate::testing::generated(300, 200, 4_000);
    let scheme = Scheme::uniform(0.05);
    for method in Method::ALL {
        let Method::Solver(solver) = method else {
            continue;
        };
        let params = Params::new().factors(32).solver(solver).check().unwrap();
        let problem = problem_of(&data, &scheme, &params).unwrap();
        let after = |measured: bool| {
            let mut backend = backend_of(&problem);
            for axis in [Axis::User, Axis::Item] {
                backend.half_sweep(axis, measured, &Cancel::new()).unwrap();
                backend.sum_caches(axis).unwrap();
            }
            assert_eq!(backend.loss.is_some(), measured);
            let sums = backend.objective_sums(Precision::Fast).unwrap();
            (backend.factors(), sums.objective.total())
        };
        let ((factors, fast), (same, exact)) = (after(true), after(false));
        assert_eq!(factors, same, "{solver:?}");
        assert!(
            (fast - exact).abs() < 1e-5 * exact,
            "{solver:?}: {fast}, {exact}"
        );
    }
}
