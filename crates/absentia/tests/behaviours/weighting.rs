//! The same weights by any road, weights that cannot be, and rows that have none.

use absentia::Dense;
use absentia::data::{Duplicates, Triplets};
use absentia::fit::{Init, Run};
use absentia::weights::{Decomposition, Rank, Scheme, Strength};
use absentia::{Params, Solver};
use absentia_lab::generate::{Generator, GeneratorParams};

use super::{fit, train};
use crate::oracle::{Problem, Shape, relative_distance};
use crate::{SOLVERS, all, bits, params, shape};

#[test]
fn the_same_weights_by_any_road_give_the_same_model() {
    let data = Generator::new(GeneratorParams::new(300, 200, 4000))
        .unwrap()
        .interactions()
        .unwrap();
    let base = Params::new()
        .factors(8)
        .iterations(5)
        .regularization(0.05)
        .init_std(0.1);
    let popularity = Scheme::popularity(Strength::C0(40.0), 0.6);
    let direct = train(&data, &popularity, base.clone());
    let resolved = popularity.resolve(&data).unwrap();
    let given = Scheme::low_rank(resolved.a().clone(), resolved.b().clone());
    assert_eq!(bits(&direct), bits(&train(&data, &given, base.clone())));
    let w = Dense::from_fn(300, 200, |u, i| resolved.weight(u as u32, i as u32));
    for method in [Decomposition::Svd, Decomposition::NonNegative] {
        let dense = Scheme::dense(w.clone(), Rank::Fixed(1), method);
        let factored = train(&data, &dense, base.clone());
        let distance = relative_distance(
            all(factored.model.user_factors()).into_iter(),
            all(direct.model.user_factors()).into_iter(),
        );
        assert!(distance < 1e-3, "{method:?}: {distance}");
    }
    let vanilla = train(
        &data,
        &Scheme::dense(w, Rank::Fixed(1), Decomposition::Svd),
        base.clone().solver(Solver::EalsVanilla),
    );
    let distance = relative_distance(
        all(vanilla.model.user_factors()).into_iter(),
        all(direct.model.user_factors()).into_iter(),
    );
    assert!(distance < 1e-3, "dense W under vanilla: {distance}");
    let twice = train(
        &data,
        &Scheme::sum(vec![popularity.clone(), popularity]),
        base.clone(),
    );
    let double = train(&data, &Scheme::popularity(Strength::C0(80.0), 0.6), base);
    let distance = relative_distance(
        all(twice.model.user_factors()).into_iter(),
        all(double.model.user_factors()).into_iter(),
    );
    assert!(distance < 1e-4, "summed with itself: {distance}");
}

#[test]
fn an_approximated_dense_matrix_is_taken_as_it_is_by_vanilla() {
    let data = Generator::new(GeneratorParams::new(60, 50, 200))
        .unwrap()
        .interactions()
        .unwrap();
    let w = Dense::from_fn(60, 50, |u, i| 0.05 + 0.1 * ((u * i) % 7) as f32 / 7.0);
    let scheme = Scheme::dense(w.clone(), Rank::Fixed(1), Decomposition::NonNegative);
    let base = Params::new()
        .factors(4)
        .iterations(3)
        .regularization(0.1)
        .reg_exponent(1.0)
        .init_std(0.1);
    let vanilla = train(&data, &scheme, base.solver(Solver::EalsVanilla));
    // By hand, from the exact W.
    let (p, q) = (vanilla.model.user_factors(), vanilla.model.item_factors());
    let mut missing = 0.0;
    for u in 0..60 {
        for i in 0..50 {
            if data
                .by_user()
                .row(u)
                .indices
                .binary_search(&(i as u32))
                .is_err()
            {
                let score: f64 = p
                    .row(u)
                    .iter()
                    .zip(q.row(i))
                    .map(|(p, q)| f64::from(*p) * f64::from(*q))
                    .sum();
                missing += f64::from(w.row(u)[i]) * score * score;
            }
        }
    }
    let got = vanilla.model.history().last().unwrap().objective.missing;
    assert!(
        (got - missing).abs() < 1e-6 * missing,
        "{got} instead of {missing}"
    );
}

#[test]
fn negative_weights_are_named_and_never_diverge_in_silence() {
    let data = Triplets::new(&[0, 1, 2], &[0, 1, 2])
        .build(3, 3, Duplicates::Error)
        .unwrap();
    let scheme = Scheme::low_rank(
        Dense::from_fn(3, 1, |u, _| if u == 1 { -5.0 } else { 1.0 }),
        Dense::from_fn(3, 1, |_, _| 1.0),
    );
    for solver in SOLVERS {
        let base = Params::new()
            .factors(4)
            .solver(solver)
            .init_std(0.5)
            .check()
            .unwrap();
        let error = fit(&data, &scheme, &base, Run::default()).unwrap_err();
        let text = error.to_string();
        assert!(
            text.contains("user 1") && text.contains("non-negative"),
            "{solver:?}: {text}"
        );
    }
    let nu = Params::new().factors(4).reg_exponent(1.0).check().unwrap();
    let text = fit(&data, &scheme, &nu, Run::default())
        .unwrap_err()
        .to_string();
    assert!(
        text.contains("user 1") && text.contains("total weight"),
        "{text}"
    );
}

#[test]
fn a_coordinate_without_curvature_stays_as_it_is() {
    // Factor 1 of every item is 0 and there is no penalty: nothing tells what users' should be.
    let data = Triplets::new(&[0, 1], &[0, 1])
        .build(2, 2, Duplicates::Error)
        .unwrap();
    for solver in SOLVERS {
        let users = Dense::from_slice(2, 2, &[0.5, 0.25, 0.5, -0.75]).unwrap();
        let items = Dense::from_slice(2, 2, &[1.0, 0.0, -1.0, 0.0]).unwrap();
        let init = Init::Given {
            users: users.into(),
            items: items.into(),
        };
        let params = Params::new()
            .factors(2)
            .iterations(1)
            .regularization(0.0)
            .solver(solver)
            .check()
            .unwrap();
        let fitted = fit(
            &data,
            &Scheme::uniform(1.0),
            &params,
            Run {
                init,
                ..Run::default()
            },
        )
        .unwrap();
        let kept: Vec<f32> = (0..2)
            .map(|user| fitted.model.user_factors().row(user)[1])
            .collect();
        assert_eq!(kept, [0.25, -0.75], "{solver:?}");
    }
}

#[test]
fn rows_without_entries_shrink_to_zero() {
    let problem = Problem::random(Shape { nu: 0.0, ..shape() });
    let data = problem.interactions();
    for solver in [Solver::Eals, Solver::Als, Solver::EalsVanilla] {
        let fitted = train(
            &data,
            &problem.scheme(),
            params(solver).reg_exponent(0.0).iterations(30),
        );
        let empty = fitted.model.user_factors().row(3);
        assert!(
            empty.iter().all(|x| x.abs() < 1e-3),
            "{solver:?}: {empty:?}"
        );
    }
}
