//! What a trained model answers.

use absentia::data::{Duplicates, Triplets};
use absentia::fit::{Init, Run};
use absentia::model::{NewEntry, RowWeights, Similarity};
use absentia::ranking::RankRequest;
use absentia::weights::Scheme;
use absentia::{Axis, Params, Solver};
use absentia_lab::generate::{Generator, GeneratorParams};

use super::{fit, train};
use crate::oracle::{Problem, relative_distance};
use crate::{params, shape};

#[test]
fn folding_in_is_the_exact_minimiser_and_explanations_add_up() {
    let problem = Problem::random(shape());
    let data = problem.interactions();
    let fitted = train(&data, &problem.scheme(), params(Solver::Als).iterations(3));
    let model = &fitted.model;
    let fold = model.fold_in(Axis::User);
    let entries: Vec<NewEntry> = (0..data.by_user().row_len(0))
        .map(|n| {
            let row = data.by_user().row(0);
            let at = data.by_user().range(0).start + n;
            NewEntry {
                index: row.indices[n],
                value: row.r.get(n),
                weight: row.c.get(n),
                time: None,
                exposed: data.is_exposed(at),
            }
        })
        .collect();
    let folded = fold.solve(&entries, &RowWeights::Like(0)).unwrap();
    // One more exact half-sweep of the users would give just this row.
    let checked = params(Solver::Als).iterations(1).check().unwrap();
    let init = Init::Given {
        users: model.user_factors().clone(),
        items: model.item_factors().clone(),
    };
    let next = fit(
        &data,
        &problem.scheme(),
        &checked,
        Run {
            init,
            ..Run::default()
        },
    )
    .unwrap();
    let distance = relative_distance(
        folded.iter().map(|x| f64::from(*x)),
        next.model
            .user_factors()
            .row(0)
            .iter()
            .map(|x| f64::from(*x)),
    );
    assert!(distance < 1e-4, "{distance}");
    for user in [Some(0), None] {
        let explained = fold
            .explain(user, &entries, &RowWeights::Like(0), 9)
            .unwrap();
        let sum: f64 = explained
            .contributions
            .iter()
            .map(|part| part.contribution)
            .sum();
        assert!((sum + explained.remainder - explained.score).abs() < 1e-9);
    }
    let alone = fold
        .explain(None, &entries, &RowWeights::Like(0), 9)
        .unwrap();
    let score: f64 = folded
        .iter()
        .zip(model.item_factors().row(9))
        .map(|(p, q)| f64::from(*p) * f64::from(*q))
        .sum();
    assert!((alone.score - score).abs() < 1e-5 * score.abs().max(1.0));
    let text = fold
        .solve(&[NewEntry::new(9999)], &RowWeights::Frozen)
        .unwrap_err()
        .to_string();
    assert!(text.contains("9999"), "{text}");
    let given = RowWeights::Given(vec![f32::NAN, 0.0]);
    assert!(fold.solve(&entries, &given).is_err());
    assert!(
        fold.solve(&[NewEntry::new(1), NewEntry::new(1)], &RowWeights::Like(0))
            .is_err()
    );
}

/// Items are rescaled by recent counts, which stay what they were when the model is kept or folded into.
#[test]
fn items_are_rescaled_by_recent_counts() {
    let users: Vec<u32> = (0..60).map(|at| at % 12).collect();
    let items: Vec<u32> = (0..60).map(|at| (at * at + at / 12) % 9).collect();
    let times: Vec<i64> = (0..60).map(|at| 1_000 * at).collect();
    let rows = Triplets::new(&users, &items).times(&times);
    let data = rows.build(12, 9, Duplicates::Sum).unwrap();
    let base = Params::new().factors(3).iterations(4).post_scale(0.5);
    let model = train(
        &data,
        &Scheme::uniform(0.1),
        base.clone().post_scale_half_life(9_000.0),
    )
    .model;
    let counts = data.recent_item_counts(9_000.0).unwrap();
    let scale = model.item_scale().unwrap();
    for (scale, count) in scale.iter().zip(&counts) {
        assert!((scale - count.sqrt()).abs() < 1e-6, "{scale} {count}");
    }
    let by_all = train(&data, &Scheme::uniform(0.1), base.clone()).model;
    assert_eq!(model.item_factors(), by_all.item_factors());
    assert_ne!(model.item_scale(), by_all.item_scale());
    let bare = Triplets::new(&users, &items)
        .build(12, 9, Duplicates::Sum)
        .unwrap();
    let params = base.post_scale_half_life(9_000.0).check().unwrap();
    let refused = fit(&bare, &Scheme::uniform(0.1), &params, Run::default()).unwrap_err();
    assert!(refused.to_string().contains("time"), "{refused}");
}

#[test]
fn recommendations_leave_out_what_was_seen_and_rank_like_scores() {
    let data = Generator::new(GeneratorParams::new(300, 200, 4000))
        .unwrap()
        .interactions()
        .unwrap();
    let base = Params::new().factors(10).iterations(5).post_scale(0.3);
    let model = train(&data, &Scheme::uniform(0.1), base).model;
    let request = RankRequest {
        users: &[7, 8],
        top: 12,
        exclude: Some(&data),
        deny: &[3, 5],
        ..RankRequest::default()
    };
    let alone = RankRequest {
        users: &[8],
        ..request
    };
    let lists = model.recommend(&request).unwrap();
    assert_eq!(lists[1], model.recommend(&alone).unwrap()[0]);
    for (list, user) in lists.iter().zip([7, 8]) {
        assert_eq!(list.len(), 12);
        let mut candidates: Vec<(u32, f32)> = (0..200)
            .filter(|item| ![3, 5].contains(item) && data.seen(user).all(|seen| seen != *item))
            .map(|item| (item, model.scores(&[(user, item)]).unwrap()[0]))
            .collect();
        candidates.sort_by(|x, y| y.1.total_cmp(&x.1).then(x.0.cmp(&y.0)));
        let got: Vec<(u32, f32)> = list
            .iter()
            .map(|scored| (scored.item, scored.score))
            .collect();
        assert_eq!(got, candidates[..12]);
    }
    let similar = &model
        .similar(Axis::Item, &[11], 5, Similarity::Cosine)
        .unwrap()[0];
    assert!(
        similar.len() == 5
            && similar
                .iter()
                .all(|scored| scored.item != 11 && scored.score <= 1.0001)
    );
    let unknown = RankRequest {
        users: &[300],
        ..request
    };
    assert!(model.recommend(&unknown).is_err());
}

/// A model that gets many requests for single users builds an index of its items; the lists stay the same.
#[test]
fn the_hundredth_user_gets_the_list_that_all_together_get() {
    let data = Generator::new(GeneratorParams::new(300, 700, 6000))
        .unwrap()
        .interactions()
        .unwrap();
    let base = Params::new().factors(10).iterations(3);
    let model = train(&data, &Scheme::uniform(0.1), base).model;
    let users: Vec<u32> = (0..300).collect();
    let unseen = RankRequest {
        users: &users,
        exclude: Some(&data),
        deny: &[3, 5, 600],
        ..RankRequest::default()
    };
    // Another post-scaling is another model, which must not use the index of this one.
    for model in [model.clone(), model.with_post_scale(0.4)] {
        for top in [10, 700] {
            let request = RankRequest { top, ..unseen };
            let all = model.recommend(&request).unwrap();
            for (at, list) in all.iter().enumerate() {
                let alone = RankRequest {
                    users: &users[at..=at],
                    ..request
                };
                assert_eq!(model.recommend(&alone).unwrap()[0], *list);
            }
        }
    }
}

#[test]
fn folding_in_without_a_penalty_and_with_more_factors_than_items_has_a_minimum() {
    let data = Generator::new(GeneratorParams::new(100, 25, 150))
        .unwrap()
        .interactions()
        .unwrap();
    for (seed, k) in (0..20).flat_map(|seed| [(seed, 24), (seed, 32), (seed, 64)]) {
        let base = Params::new()
            .factors(k)
            .iterations(3)
            .regularization(0.0)
            .seed(seed)
            .init_std(0.1);
        let model = train(&data, &Scheme::uniform(0.1), base).model;
        let folded = model
            .fold_in(Axis::User)
            .solve(&[NewEntry::new(3)], &RowWeights::Frozen)
            .unwrap();
        assert!(folded.iter().all(|x| x.is_finite()), "K = {k}, seed {seed}");
    }
}
