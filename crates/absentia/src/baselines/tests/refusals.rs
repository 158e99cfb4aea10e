//! What baselines refuse, and what a run owes whatever the method.

use super::*;
use crate::baselines::{BaselineError, Neighbours};
use crate::error::Axis;
use crate::fit::FitError;
use crate::model::{ModelError, Similarity};
use crate::weights::Strength;

/// What neighbours are stored as.
type Parts = ((Vec<u64>, Vec<u32>), (Vec<u64>, Vec<u32>), Vec<f32>);

const ALL: [(Baseline, f32); 8] = [
    (Baseline::Svd, 1.0),
    (Baseline::Ials1, 0.25),
    (Baseline::Rcd, 0.25),
    (Baseline::IiSvd, 0.0),
    (Baseline::Bpr, 0.25),
    (Baseline::SgdObserved, 0.0),
    (Baseline::Popularity, 0.0),
    (Baseline::ItemKnn { neighbours: 5 }, 0.0),
];

fn popularity() -> Scheme {
    Scheme::popularity(Strength::Mean(0.1), 0.5)
}

fn try_fit(data: &Interactions<'_>, scheme: &Scheme, params: Params) -> Result<Fitted, FitError> {
    fit(data, scheme, &params.check().unwrap(), Run::default())
}

#[track_caller]
fn assert_refused(result: Result<Fitted, FitError>, solver: Baseline) {
    match result {
        Err(FitError::Baseline(BaselineError::Unsupported { solver: name, .. })) => {
            assert_eq!(name, solver.name());
        }
        other => panic!("{}: {other:?}", solver.name()),
    }
}

#[test]
fn weights_that_would_be_ignored_are_refused() {
    let small = Small::new(0.0, false);
    let activity = Scheme::activity(Strength::Mean(0.1), 1.0);
    for (solver, _) in ALL {
        let params = || Small::params(false, solver);
        assert_refused(try_fit(&small.data, &activity, params()), solver);
        let by_item = try_fit(&small.data, &popularity(), params());
        if solver == Baseline::Bpr {
            by_item.unwrap();
        } else {
            assert_refused(by_item, solver);
        }
        let takes_any_uniform = matches!(solver, Baseline::Ials1 | Baseline::Rcd | Baseline::Bpr);
        let uniform = try_fit(&small.data, &Scheme::uniform(0.7), params());
        assert_eq!(uniform.is_ok(), takes_any_uniform, "{}", solver.name());
    }
}

#[test]
fn entries_that_would_be_ignored_are_refused() {
    let small = Small::new(0.0, true);
    let shown = small
        .data
        .with_exposed(&[0, 1], &[16, 16], &[2.0, 2.0])
        .unwrap();
    for (solver, weight) in ALL {
        let takes_weights = matches!(
            solver,
            Baseline::Ials1 | Baseline::Rcd | Baseline::SgdObserved
        );
        let scheme = Scheme::uniform(weight);
        let varied = try_fit(&small.data, &scheme, Small::params(true, solver));
        assert_eq!(varied.is_ok(), takes_weights, "{}", solver.name());
        let exposed = try_fit(&shown, &scheme, Small::params(false, solver));
        assert_eq!(exposed.is_ok(), takes_weights, "{}", solver.name());
    }
}

#[test]
fn a_rank_above_the_smaller_side_is_refused() {
    let small = Small::new(0.0, false);
    let params = Small::params(false, Baseline::Svd).factors(ITEMS + 1);
    let error = try_fit(&small.data, &Scheme::uniform(1.0), params).unwrap_err();
    assert!(
        matches!(error, FitError::Baseline(BaselineError::Decomposition(_))),
        "{error}"
    );
}

#[test]
fn threads_and_resumption_change_no_bit() {
    let small = Small::new(0.0, false);
    let bits = |fitted: &Fitted| {
        let all = |factors: &Factors| -> Vec<u32> {
            (0..factors.rows())
                .flat_map(|row| {
                    factors
                        .row(row)
                        .iter()
                        .map(|x| x.to_bits())
                        .collect::<Vec<_>>()
                })
                .collect()
        };
        let model = &fitted.model;
        (
            all(model.user_factors()),
            all(model.item_factors()),
            model.neighbours().cloned(),
        )
    };
    for (solver, weight) in ALL {
        let scheme = Scheme::uniform(weight);
        let params = || Small::params(false, solver).threads(1);
        let once = try_fit(&small.data, &scheme, params()).unwrap();
        let many = try_fit(&small.data, &scheme, params().threads(3)).unwrap();
        assert_eq!(bits(&once), bits(&many), "{}", solver.name());
        let half = try_fit(&small.data, &scheme, params().iterations(2)).unwrap();
        let run = Run {
            resume: Some(half.checkpoint),
            ..Run::default()
        };
        let resumed = fit(&small.data, &scheme, &params().check().unwrap(), run).unwrap();
        assert_eq!(bits(&once), bits(&resumed), "{}", solver.name());
    }
}

#[test]
fn neighbours_from_elsewhere_are_checked() {
    let sound = || {
        (
            (vec![0, 2, 2], vec![0, 2]),
            (vec![0, 1, 2, 2], vec![1, 0]),
            vec![0.5, 0.5],
        )
    };
    let (taken, near, similarity) = sound();
    assert!(Neighbours::from_parts(taken, near, similarity).is_ok());
    let damages: [fn(&mut Parts); 7] = [
        |parts| parts.0.0[1] = 3,
        |parts| parts.0.1[1] = 3,
        |parts| parts.0.1[1] = 0,
        |parts| parts.1.0.clear(),
        |parts| parts.1.1[0] = u32::MAX,
        |parts| parts.2[0] = f32::NAN,
        |parts| parts.2.truncate(1),
    ];
    for (at, damage) in damages.iter().enumerate() {
        let mut parts = sound();
        damage(&mut parts);
        let (taken, near, similarity) = parts;
        let refused = Neighbours::from_parts(taken, near, similarity);
        assert!(
            matches!(refused, Err(BaselineError::Neighbours { .. })),
            "{at}: {refused:?}"
        );
    }
}

#[test]
fn models_answer_only_what_their_method_can() {
    let small = Small::new(0.0, false);
    for (solver, weight) in ALL {
        let scheme = Scheme::uniform(weight);
        let model = try_fit(&small.data, &scheme, Small::params(false, solver))
            .unwrap()
            .model;
        let entries = [
            crate::model::NewEntry::new(1),
            crate::model::NewEntry::new(3),
        ];
        let folded = model
            .fold_in(Axis::User)
            .solve(&entries, &crate::model::RowWeights::Frozen);
        let refused = matches!(folded, Err(ModelError::NotOfThisMethod { .. }));
        assert_eq!(
            refused,
            !solver.minimises_objective(),
            "{}: {folded:?}",
            solver.name()
        );
        let similar = model.similar(Axis::Item, &[0], 2, Similarity::Cosine);
        assert_eq!(similar.is_err(), model.neighbours().is_some());
    }
}
