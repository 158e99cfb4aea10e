//! The objective, entry by entry, around every half-sweep of every solver.

use super::*;
use crate::data::{Confidence, Duplicates, Targets, Triplets};

/// `Σ_u λ_u |p_u|²`.
fn ridge(factors: &Dense, penalty: &Values<'_>) -> f64 {
    let square =
        |row: usize| -> f64 { factors.row(row).iter().map(|x| f64::from(*x).powi(2)).sum() };
    let rows = 0..factors.rows();
    rows.map(|row| f64::from(penalty.get(row)) * square(row))
        .sum()
}

/// J by visiting all M × N entries.
fn by_hand(trainer: &Trainer<'_>) -> f64 {
    let mut total = ridge(&trainer.p, &trainer.penalty.0) + ridge(&trainer.q, &trainer.penalty.1);
    for user in 0..trainer.data.n_users() {
        let row = trainer.data.by_user().row(user);
        for item in 0..trainer.data.n_items() {
            let pairs = trainer.p.row(user).iter().zip(trainer.q.row(item));
            let score: f64 = pairs.map(|(p, q)| f64::from(*p) * f64::from(*q)).sum();
            total += match row.indices.binary_search(&(item as u32)) {
                Ok(n) => f64::from(row.c.get(n)) * (f64::from(row.r.get(n)) - score).powi(2),
                Err(_) => {
                    f64::from(trainer.weights.weight(user as u32, item as u32)) * score * score
                }
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
    let scheme = Scheme::LowRank {
        a: Dense::from_fn(30, 2, |u, t| 0.1 * ((u + t) % 4) as f32),
        b: Dense::from_fn(30, 2, |i, t| 0.2 * ((i * 3 + t) % 5) as f32),
    };
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
        let mut trainer =
            Trainer::new(&data, &scheme, &params, Init::Gaussian, None, false).unwrap();
        let (cancel, mut before) = (Cancel::new(), by_hand(&trainer));
        for _ in 0..5 {
            trainer
                .half_sweep(solver, Axis::User, None, &cancel)
                .unwrap();
            let users = by_hand(&trainer);
            assert!(
                users <= before * (1.0 + 1e-6),
                "{solver:?}: users raised {before} to {users}"
            );
            let sp = GramCache::new(&trainer.p, trainer.weights.a(), trainer.kernels);
            let loss = trainer
                .half_sweep(solver, Axis::Item, Some(&sp), &cancel)
                .unwrap();
            before = by_hand(&trainer);
            assert!(
                before <= users * (1.0 + 1e-6),
                "{solver:?}: items raised {users} to {before}"
            );
            trainer.sq = GramCache::new(&trainer.q, trainer.weights.b(), trainer.kernels);
            let fast = trainer.objective(&sp, loss).total();
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
            let scheme = Scheme::Uniform { weight };
            let mut trainer =
                Trainer::new(&data, &scheme, &params, Init::Gaussian, None, false).unwrap();
            let (cancel, mut before) = (Cancel::new(), by_hand(&trainer));
            // A fit this close leaves only the rounding of predictions in f32, relative to Σ c r².
            let floor = 1e-7 * before;
            for _ in 0..12 {
                trainer
                    .half_sweep(solver, Axis::User, None, &cancel)
                    .unwrap();
                let users = by_hand(&trainer);
                let what = format!("{solver:?}, λ {lambda}, w {weight}, c {c}, seed {seed}");
                assert!(
                    users <= before * (1.0 + 1e-6) + floor,
                    "{what}: users raised {before} to {users}"
                );
                let sp = GramCache::new(&trainer.p, trainer.weights.a(), trainer.kernels);
                trainer
                    .half_sweep(solver, Axis::Item, Some(&sp), &cancel)
                    .unwrap();
                before = by_hand(&trainer);
                assert!(
                    before <= users * (1.0 + 1e-6) + floor,
                    "{what}: items raised {users} to {before}"
                );
                trainer.sq = GramCache::new(&trainer.q, trainer.weights.b(), trainer.kernels);
            }
        }
    }
}

/// Layouts that are kept and layouts made anew, by workers that have made others before.
#[test]
fn layouts_that_are_kept_change_nothing() {
    let data = crate::testing::generated(1_500, 1_200, 40_000);
    let targets = Targets::Normalized {
        user: 0.3,
        item: 0.3,
    };
    let params = Params::new().factors(16).targets(targets).check().unwrap();
    let scheme = Scheme::Uniform { weight: 0.05 };
    let factors = |keeps: bool| {
        let mut trainer =
            Trainer::new(&data, &scheme, &params, Init::Gaussian, None, false).unwrap();
        if trainer.kernels.uses_lane_parallel() && !keeps {
            let sorted = |entries| Tiles::sorted(entries, trainer.p.stride(), 0);
            trainer.tiles = (
                sorted(trainer.data.by_user()),
                sorted(trainer.data.by_item()),
            );
        }
        for _ in 0..3 {
            trainer.sweep(&Cancel::new()).unwrap().unwrap();
        }
        (trainer.p.as_slice().to_vec(), trainer.q.as_slice().to_vec())
    };
    assert!(factors(true) == factors(false));
}

/// Timed on one thread, the best of many short runs taken in turn: noise only ever adds.
#[test]
fn the_objective_adds_less_than_a_tenth_to_a_sweep() {
    let data = crate::testing::generated(1_500, 1_200, 40_000);
    let scheme = Scheme::Uniform { weight: 0.05 };
    let params = Params::new().factors(64).check().unwrap();
    let mut trainer = Trainer::new(&data, &scheme, &params, Init::Gaussian, None, false).unwrap();
    let cancel = Cancel::new();
    let mut sweep = |measured: bool| {
        let start = Instant::now();
        trainer
            .advance(Solver::Eals, Axis::User, None, &cancel, false)
            .unwrap();
        let sp = GramCache::new(&trainer.p, trainer.weights.a(), trainer.kernels);
        let loss = trainer.advance(Solver::Eals, Axis::Item, Some(&sp), &cancel, measured);
        let loss = loss.unwrap();
        trainer.sq = GramCache::new(&trainer.q, trainer.weights.b(), trainer.kernels);
        if measured {
            assert!(trainer.objective(&sp, loss).total() > 0.0);
        }
        start.elapsed().as_secs_f64()
    };
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(1)
        .build()
        .unwrap();
    let mut ratio = || {
        let (mut with, mut without) = (f64::INFINITY, f64::INFINITY);
        for _ in 0..25 {
            with = with.min(sweep(true));
            without = without.min(sweep(false));
        }
        with / without
    };
    let best = pool.install(|| (0..4).map(|_| ratio()).find(|&ratio| ratio < 1.1));
    assert!(best.is_some(), "more than a tenth, four times in a row");
}
