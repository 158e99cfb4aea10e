//! Threads, transposition and labels change nothing.

use absentia::Dense;
use absentia::data::{Confidence, Duplicates, Interactions, Targets, Triplets};
use absentia::fit::{Fitted, Init, Run, fit};
use absentia::model::Factors;
use absentia::weights::{LowRank, Scheme, Strength, Term};
use absentia::{Params, Solver};

use crate::oracle::{Problem, Shape, relative_distance};
use crate::{SOLVERS, all, bits, params, shape, train, with_long_rows};

#[test]
fn any_number_of_threads_gives_the_same_bits() {
    let problem = Problem::random(shape());
    let (data, scheme) = (problem.interactions(), problem.scheme());
    for solver in SOLVERS {
        let one = bits(&train(&data, &scheme, params(solver).threads(1)));
        for threads in [2, 7] {
            assert_eq!(
                one,
                bits(&train(&data, &scheme, params(solver).threads(threads))),
                "{solver:?}"
            );
        }
    }
    let (long, scheme) = (
        with_long_rows(),
        Scheme::popularity(Strength::Mean(0.01), 0.5),
    );
    for solver in [
        Solver::Eals,
        Solver::Subspace { block: 16 },
        Solver::Als,
        Solver::AlsCg { steps: 2 },
    ] {
        let params = params(solver)
            .targets(Targets::Binary)
            .confidence(Confidence::default())
            .iterations(2);
        let one = bits(&train(&long, &scheme, params.clone().threads(1)));
        assert_eq!(
            one,
            bits(&train(&long, &scheme, params.threads(7))),
            "{solver:?} with long rows"
        );
    }
}

/// `J` over every entry of a model with one penalty for all rows and one weight for what is missing.
fn objective_by_hand(fitted: &Fitted, data: &Interactions<'_>, weight: f64, lambda: f64) -> f64 {
    let (p, q) = (fitted.model.user_factors(), fitted.model.item_factors());
    let squares = |all: Vec<f64>| all.iter().map(|x| x * x).sum::<f64>();
    let mut total = lambda * (squares(all(p)) + squares(all(q)));
    for user in 0..data.n_users() {
        let row = data.by_user().row(user);
        for item in 0..data.n_items() {
            let pairs = p.row(user).iter().zip(q.row(item));
            let score: f64 = pairs.map(|(p, q)| f64::from(*p) * f64::from(*q)).sum();
            let observed = row.indices.binary_search(&(item as u32)).is_ok();
            total += if observed {
                (1.0 - score).powi(2)
            } else {
                weight * score * score
            };
        }
    }
    total
}

/// So many factors that the lines of a user's entries pass the limit: of several pieces, and of one.
#[test]
fn rows_too_long_to_be_packed_are_solved_as_all_others() {
    for (entries, factors) in [(9000, 128), (3000, 512), (1500, 768)] {
        check_long_row(entries, factors);
    }
}

fn check_long_row(entries: u32, factors: usize) {
    let (mut users, mut items) = (
        vec![0; entries as usize],
        (0..entries).collect::<Vec<u32>>(),
    );
    for user in 1..12 {
        users.extend([user; 300]);
        items.extend((0..300).map(|n| (n * 29 + user * 31) % entries));
    }
    let data = Triplets::new(&users, &items)
        .build(12, entries as usize, Duplicates::Last)
        .unwrap();
    let (weight, lambda) = (0.02, 0.1);
    let scheme = Scheme::uniform(weight);
    let base = Params::new()
        .factors(factors)
        .iterations(1)
        .regularization(lambda)
        .reg_exponent(0.0)
        .init_std(0.1);
    let vanilla = train(&data, &scheme, base.clone().solver(Solver::EalsVanilla));
    for solver in [
        Solver::Eals,
        Solver::Subspace { block: 4 },
        Solver::Subspace { block: 16 },
        Solver::Subspace { block: 32 },
        Solver::AlsCg { steps: 2 },
    ] {
        let one = train(&data, &scheme, base.clone().solver(solver).threads(1));
        let three = train(&data, &scheme, base.clone().solver(solver).threads(3));
        assert_eq!(bits(&one), bits(&three), "{solver:?}");
        let by_hand = objective_by_hand(&one, &data, f64::from(weight), f64::from(lambda));
        let got = one.model.history()[0].objective.total();
        assert!(
            (got - by_hand).abs() < 1e-5 * by_hand,
            "{solver:?}: {got}, by hand {by_hand}"
        );
        if solver == Solver::Eals {
            let distance = relative_distance(
                all(one.model.item_factors()).into_iter(),
                all(vanilla.model.item_factors()).into_iter(),
            );
            assert!(distance < 1e-3, "differs by {distance:.2e}");
        }
    }
}

#[test]
fn pieces_of_long_rows_add_up_to_the_oracle() {
    // One user with more entries than a piece holds, checked against the vanilla solver.
    let data = with_long_rows();
    let scheme = Scheme::uniform(0.02);
    let base = Params::new()
        .factors(3)
        .iterations(2)
        .regularization(0.1)
        .init_std(0.1);
    let fast = train(&data, &scheme, base.clone());
    let slow = train(&data, &scheme, base.solver(Solver::EalsVanilla));
    let distance = relative_distance(
        all(fast.model.user_factors()).into_iter(),
        all(slow.model.user_factors()).into_iter(),
    );
    assert!(distance < 1e-4, "{distance}");
}

#[test]
fn transposing_the_data_swaps_the_factors() {
    let problem = Problem::random(shape());
    let data = problem.interactions();
    let Scheme::One(Term::LowRank(LowRank { a, b })) = problem.scheme() else {
        unreachable!()
    };
    for solver in SOLVERS {
        // The sweep solves users first: solving items first on the transpose is the same half-sweep,
        // so one sweep from the items' side equals the other half of a sweep.
        let p0 = Factors::from(problem.dense(&problem.p, 90));
        let q0 = Factors::from(problem.dense(&problem.q, 70));
        let checked = params(solver).iterations(1).check().unwrap();
        let init = Init::Given {
            users: p0.clone(),
            items: q0.clone(),
        };
        let scheme = Scheme::low_rank(a.clone(), b.clone());
        let straight = fit(
            &data,
            &scheme,
            &checked,
            Run {
                init,
                ..Run::default()
            },
        )
        .unwrap();
        // Users of the straight run after their half-sweep are items of a transposed run that
        // starts from the same fixed side and solves them first.
        let init = Init::Given {
            users: q0,
            items: straight.model.user_factors().clone(),
        };
        let swapped = Scheme::low_rank(b.clone(), a.clone());
        let crossed = fit(
            &data.transposed(),
            &swapped,
            &checked,
            Run {
                init,
                ..Run::default()
            },
        )
        .unwrap();
        assert_eq!(
            crossed.model.user_factors(),
            straight.model.item_factors(),
            "{solver:?}"
        );
    }
}

#[test]
fn relabelling_users_permutes_their_factors() {
    let problem = Problem::random(Shape {
        exceptions: false,
        ..shape()
    });
    let data = problem.interactions();
    let Scheme::One(Term::LowRank(LowRank { a, b })) = problem.scheme() else {
        unreachable!()
    };
    let order = |user: usize| (user * 37 + 11) % 90;
    let moved = |from: &Dense| {
        let mut to = Dense::zeros(from.rows(), from.cols());
        for row in 0..from.rows() {
            to.row_mut(order(row)).copy_from_slice(from.row(row));
        }
        to
    };
    let (mut users, mut items, mut values, mut weights) = (vec![], vec![], vec![], vec![]);
    for user in 0..90 {
        let row = data.by_user().row(user);
        for n in 0..row.len() {
            users.push(order(user) as u32);
            items.push(row.indices[n]);
            values.push(row.r.get(n));
            weights.push(row.c.get(n));
        }
    }
    let relabelled = Triplets::new(&users, &items)
        .values(&values)
        .weights(&weights)
        .build(90, 70, Duplicates::Error)
        .unwrap();
    let p0 = problem.dense(&problem.p, 90);
    let q0 = problem.dense(&problem.q, 70);
    for solver in SOLVERS {
        let checked = params(solver).iterations(2).check().unwrap();
        let run = |p: Dense| Run {
            init: Init::Given {
                users: p.into(),
                items: q0.clone().into(),
            },
            ..Run::default()
        };
        let plain = fit(
            &data,
            &Scheme::low_rank(a.clone(), b.clone()),
            &checked,
            run(p0.clone()),
        )
        .unwrap();
        let scheme = Scheme::low_rank(moved(&a), b.clone());
        let other = fit(&relabelled, &scheme, &checked, run(moved(&p0))).unwrap();
        let rows = |model: &absentia::Model, at: &dyn Fn(usize) -> usize| -> Vec<f64> {
            (0..90)
                .flat_map(|user| model.user_factors().row(at(user)).to_vec())
                .map(f64::from)
                .collect()
        };
        // Sums over users run in another order, so bits may differ in the last place.
        let distance = relative_distance(
            rows(&other.model, &order).into_iter(),
            rows(&plain.model, &|user| user).into_iter(),
        );
        assert!(distance < 1e-4, "{solver:?}: {distance}");
    }
}
