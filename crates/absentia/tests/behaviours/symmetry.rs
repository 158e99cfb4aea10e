//! Threads, transposition and labels change nothing.

use absentia::Dense;
use absentia::data::{Duplicates, Triplets};
use absentia::fit::{Init, Run};
use absentia::model::Factors;
use absentia::weights::{LowRank, Scheme, Term};

use super::{fit, train};
use crate::oracle::{Problem, Shape, relative_distance};
use crate::{SOLVERS, bits, params, shape};

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
