//! Methods that give their answer at once.

use super::*;
use crate::fit::StopReason;
use crate::ranking::{PopularityScorer, RankRequest, rank};

fn svd_params(lambda: f32) -> Params {
    Small::params(false, Baseline::Svd).regularization(lambda)
}

const EVERYWHERE: Scheme = Scheme::uniform(1.0);
const NOWHERE: Scheme = Scheme::uniform(0.0);

#[test]
fn svd_leaves_what_the_smaller_singular_values_hold() {
    let small = Small::new(1.0, false);
    let fitted = small.train(&EVERYWHERE, svd_params(0.0));
    assert_eq!(fitted.reason, StopReason::Converged);
    let want: f64 = eigenvalues(gram(&small.r))[K..].iter().sum();
    let got = fitted.model.history()[0].objective.total();
    assert!((got - want).abs() < 1e-5 * want, "{got} against {want}");
}

/// With penalties the decomposition is still the minimum of J: its gradient is zero, and longer
/// training from elsewhere finds nothing better.
#[test]
fn svd_minimises_the_penalised_objective() {
    let small = Small::new(1.0, false);
    for (lambda, nu) in [(0.4_f32, 0.0_f32), (0.03, 1.0)] {
        let params = svd_params(lambda).reg_exponent(nu);
        let model = small.train(&EVERYWHERE, params.clone()).model;
        let (p, q) = (matrix(model.user_factors()), matrix(model.item_factors()));
        let lambda_p = f64::from(lambda) * (ITEMS as f64).powf(f64::from(nu));
        let lambda_q = f64::from(lambda) * (USERS as f64).powf(f64::from(nu));
        let x = product(&p, &q);
        let (mut at_p, mut at_q) = (0.0_f64, 0.0_f64);
        for f in 0..K {
            for u in 0..USERS {
                let pull: f64 = (0..ITEMS)
                    .map(|i| (x[u][i] - small.r[u][i]) * q[i][f])
                    .sum();
                at_p = at_p.max((pull + lambda_p * p[u][f]).abs());
            }
            for i in 0..ITEMS {
                let pull: f64 = (0..USERS)
                    .map(|u| (x[u][i] - small.r[u][i]) * p[u][f])
                    .sum();
                at_q = at_q.max((pull + lambda_q * q[i][f]).abs());
            }
        }
        assert!(at_p < 1e-5 && at_q < 1e-5, "{at_p} {at_q}");
        let eals = small
            .train(&EVERYWHERE, params.solver(Solver::Eals).iterations(500))
            .model;
        let (best, other) = (
            model.history()[0].objective.total(),
            eals.history().last().unwrap().objective.total(),
        );
        assert!(
            best <= other * (1.0 + 1e-6) && other < best * 1.001,
            "{best} {other}"
        );
    }
}

/// `S` entry by entry, from its definition.
fn neighbour_scores(small: &Small) -> Matrix {
    let taken = |u: usize, i: usize| small.r[u][i] > 0.0;
    let of_user = |u: usize| (0..ITEMS).filter(|&i| taken(u, i)).count() as f64;
    let of_item = |i: usize| (0..USERS).filter(|&u| taken(u, i)).count() as f64;
    let similarity = |i: usize, j: usize| {
        let both = (0..USERS).filter(|&v| taken(v, i) && taken(v, j));
        let votes: f64 = both.map(|v| 1.0 / of_user(v)).sum();
        votes / (of_item(i).max(1.0) * of_item(j).max(1.0)).sqrt()
    };
    let score = |u: usize, i: usize| {
        let own = (0..ITEMS).filter(|&j| taken(u, j));
        own.map(|j| similarity(j, i)).sum::<f64>() / of_user(u).max(1.0).sqrt()
    };
    (0..USERS)
        .map(|u| (0..ITEMS).map(|i| score(u, i)).collect())
        .collect()
}

#[test]
fn ii_svd_is_the_closest_to_the_neighbour_scores() {
    let small = Small::new(0.0, false);
    let model = small
        .train(&NOWHERE, Small::params(false, Baseline::IiSvd))
        .model;
    let scores = neighbour_scores(&small);
    let got = product(&matrix(model.user_factors()), &matrix(model.item_factors()));
    let off: f64 = scores
        .iter()
        .flatten()
        .zip(got.iter().flatten())
        .map(|(x, y)| (x - y).powi(2))
        .sum();
    let want: f64 = eigenvalues(gram(&scores))[K..].iter().sum();
    assert!(
        (off - want).abs() < 1e-5 * want.max(1.0),
        "{off} against {want}"
    );
}

#[test]
fn popularity_ranks_as_its_scorer_does() {
    let small = Small::new(0.0, false);
    let params = Small::params(false, Baseline::Popularity);
    let run = Run::default();
    let model = fit(&small.data, &NOWHERE, &params.check().unwrap(), run)
        .unwrap()
        .model;
    assert_eq!(model.n_factors(), 1);
    let users: Vec<u32> = (0..USERS as u32).collect();
    let request = RankRequest {
        users: &users,
        top: 6,
        exclude: Some(&small.data),
        ..RankRequest::default()
    };
    let scorer = PopularityScorer::new(USERS, &small.data.item_counts());
    let want = rank(&scorer, &request).unwrap();
    assert_eq!(rank(&model.scorer(), &request).unwrap(), want);
}

/// Item 0 was taken three times long ago, item 1 twice recently.
#[test]
fn popularity_follows_confidence_that_decays() {
    let times = [0, 0, 0, 100, 100, 50];
    let rows = crate::data::Triplets::new(&[0, 1, 2, 0, 1, 2], &[0, 0, 0, 1, 1, 2]).times(&times);
    let data = rows.build(3, 3, crate::data::Duplicates::Error).unwrap();
    let confidence = crate::data::Confidence::Decay {
        half_life: 50.0,
        now: None,
    };
    let scores = |params: Params| {
        let params = params.solver(Baseline::Popularity).check().unwrap();
        let model = fit(&data, &NOWHERE, &params, Run::default()).unwrap().model;
        model.scores(&[(2, 0), (2, 1), (2, 2)]).unwrap()
    };
    assert_eq!(scores(Params::new()), [3.0, 2.0, 1.0]);
    assert_eq!(
        scores(Params::new().confidence(confidence)),
        [0.75, 2.0, 0.5]
    );
    let lately = PopularityScorer::lately(3, &[0, 2, 0], &data.item_counts());
    let request = RankRequest {
        users: &[2],
        top: 3,
        ..RankRequest::default()
    };
    let order: Vec<u32> = rank(&lately, &request).unwrap()[0]
        .top
        .iter()
        .map(|scored| scored.item)
        .collect();
    assert_eq!(order, [1, 0, 2]);
}

#[test]
fn itemknn_scores_are_sums_of_the_nearest_cosines() {
    let small = Small::new(0.0, false);
    let counts: Vec<f64> = (0..ITEMS)
        .map(|i| small.r.iter().map(|row| row[i]).sum())
        .collect();
    let common = gram(&small.r);
    for neighbours in [1, 4, 100] {
        let params = Small::params(false, Baseline::ItemKnn { neighbours });
        let model = fit(
            &small.data,
            &NOWHERE,
            &params.check().unwrap(),
            Run::default(),
        )
        .unwrap()
        .model;
        let mut kept = vec![vec![0.0; ITEMS]; ITEMS];
        for j in 0..ITEMS {
            let cosine = |i: usize| (common[j][i] / (counts[j] * counts[i]).sqrt()) as f32;
            let mut near: Vec<usize> = (0..ITEMS)
                .filter(|&i| i != j && common[j][i] > 0.0)
                .collect();
            near.sort_by(|&x, &y| cosine(y).total_cmp(&cosine(x)).then(x.cmp(&y)));
            for &i in near.iter().take(neighbours) {
                kept[j][i] = f64::from(cosine(i));
            }
        }
        let want: Matrix = small
            .r
            .iter()
            .map(|row| {
                (0..ITEMS)
                    .map(|i| (0..ITEMS).map(|j| row[j] * kept[j][i]).sum())
                    .collect()
            })
            .collect();
        let pairs: Vec<(u32, u32)> = (0..USERS as u32)
            .flat_map(|u| (0..ITEMS as u32).map(move |i| (u, i)))
            .collect();
        let got = model.scores(&pairs).unwrap();
        let got: Matrix = got
            .chunks(ITEMS)
            .map(|row| row.iter().map(|x| f64::from(*x)).collect())
            .collect();
        assert_close(&got, &want, 1e-5);
        check_lists(&model, &got);
    }
}

/// Lists come in the order of the scores, whichever way these are requested.
fn check_lists(model: &crate::Model, scores: &Matrix) {
    let users: Vec<u32> = (0..USERS as u32).collect();
    let allow: Vec<u32> = (0..ITEMS as u32).filter(|i| i % 3 != 1).collect();
    for allow in [None, Some(&allow[..])] {
        let request = RankRequest {
            users: &users,
            top: 5,
            allow,
            ..RankRequest::default()
        };
        for (list, row) in model.recommend(&request).unwrap().iter().zip(scores) {
            let mut items: Vec<u32> = (0..ITEMS as u32)
                .filter(|i| allow.is_none_or(|a| a.contains(i)))
                .collect();
            items.sort_by(|&x, &y| row[y as usize].total_cmp(&row[x as usize]).then(x.cmp(&y)));
            let got: Vec<u32> = list.iter().map(|scored| scored.item).collect();
            assert_eq!(got, items[..5]);
        }
    }
}
