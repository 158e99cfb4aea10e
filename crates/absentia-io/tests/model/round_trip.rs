use absentia::model::Factors;
use absentia_io::model::{
    IdForm, Ids, Kind, inspect, load_checkpoint, load_model, save_checkpoint, save_model,
};
use absentia_io::{Error, IdMap};
use proptest::prelude::*;

use crate::build::{Shape, bits, checkpoint, model, tiny};

fn shapes() -> impl Strategy<Value = Shape> {
    (
        0..7_usize,
        0..7_usize,
        1..21_usize,
        1..4_usize,
        any::<bool>(),
        0..5_usize,
        any::<u64>(),
    )
        .prop_map(
            |(users, items, factors, rank, padded, sweeps, seed)| Shape {
                users,
                items,
                factors,
                rank,
                padded,
                sweeps,
                seed,
            },
        )
}

/// Ids of every form for a number of rows.
fn ids(rows: usize, form: u8, words: &[String]) -> IdMap {
    match form {
        0 => IdMap::dense(rows as u32),
        1 => (0..rows).map(|row| format!("-{}", row * 77 + 1)).collect(),
        _ => (0..rows)
            .map(|row| format!("{}\u{1F600}é{row}", words[row % words.len()]))
            .collect(),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn what_is_saved_comes_back_to_the_bit(
        shape in shapes(),
        forms in (0..3_u8, 0..3_u8),
        words in prop::collection::vec(".{0,6}", 7),
        config in prop::option::of(".{0,40}"),
    ) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("m.absentia");
        let ids = Ids {
            related: Vec::new(),
            users: ids(shape.users, forms.0, &words),
            items: ids(shape.items, forms.1, &words),
        };
        let saved = model(&shape);
        save_model(&path, &saved, &ids, config.as_deref()).unwrap();
        let loaded = load_model(&path).unwrap();
        prop_assert!(loaded.checkpoint_state.is_none());
        prop_assert_eq!(&loaded.config, &config);
        prop_assert_eq!(&loaded.ids, &ids);
        let (then, now) = (saved.parts(), loaded.model.parts());
        prop_assert_eq!(bits(&then.user_factors), bits(&now.user_factors));
        prop_assert_eq!(bits(&then.item_factors), bits(&now.item_factors));
        prop_assert_eq!(bits(&Factors::from(then.weights.a().clone())), bits(&Factors::from(now.weights.a().clone())));
        prop_assert_eq!(bits(&Factors::from(then.weights.b().clone())), bits(&Factors::from(now.weights.b().clone())));
        prop_assert_eq!(then.weights.frozen(), now.weights.frozen());
        prop_assert_eq!(&then.user_counts, &now.user_counts);
        prop_assert_eq!(&then.item_counts, &now.item_counts);
        prop_assert_eq!(&then.params, &now.params);
        prop_assert_eq!(then.transform, now.transform);
        prop_assert_eq!(&then.history, &now.history);
    }
}

#[test]
fn a_checkpoint_comes_back_with_its_best_factors() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("c.absentia");
    let (saved, ids) = tiny();
    save_checkpoint(&path, &saved, &ids, Some("factors = 3"), None).unwrap();
    let back = load_checkpoint(&path).unwrap();
    let (loaded, ids_back, config) = (back.checkpoint, back.ids, back.config);
    assert_eq!(loaded.best, saved.best);
    assert_eq!(ids_back, ids);
    assert_eq!(config.as_deref(), Some("factors = 3"));
    assert!(load_model(&path).unwrap().checkpoint_state.is_some());
}

#[test]
fn a_finished_model_is_not_a_checkpoint() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("m.absentia");
    let (saved, ids) = tiny();
    save_model(&path, &saved.model, &ids, None).unwrap();
    let message = load_checkpoint(&path).unwrap_err().to_string();
    assert!(message.contains("not a checkpoint"), "{message}");
}

#[test]
fn the_same_model_gives_the_same_bytes() {
    let folder = tempfile::tempdir().unwrap();
    let (saved, ids) = tiny();
    let paths = ["a", "b"].map(|name| folder.path().join(name));
    for path in &paths {
        save_checkpoint(path, &saved, &ids, Some("x"), None).unwrap();
    }
    assert_eq!(
        std::fs::read(&paths[0]).unwrap(),
        std::fs::read(&paths[1]).unwrap()
    );
}

#[test]
fn a_loaded_model_survives_its_file_being_replaced_and_removed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("m.absentia");
    let (saved, ids) = tiny();
    save_model(&path, &saved.model, &ids, None).unwrap();
    let loaded = load_model(&path).unwrap();
    let other = checkpoint(&Shape {
        users: 2,
        items: 3,
        factors: 3,
        rank: 1,
        padded: false,
        sweeps: 0,
        seed: 99,
    });
    save_model(&path, &other.model, &ids, None).unwrap();
    std::fs::remove_file(&path).unwrap();
    assert_eq!(loaded.model.user_factors(), saved.model.user_factors());
}

#[test]
fn inspection_tells_what_is_inside() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("c.absentia");
    let (saved, ids) = tiny();
    save_checkpoint(&path, &saved, &ids, Some("x = 1"), None).unwrap();
    let info = inspect(&path).unwrap();
    assert_eq!(info.kind, Kind::Checkpoint);
    assert_eq!(info.format_version, 1);
    assert_eq!(info.product_version, env!("CARGO_PKG_VERSION"));
    assert_eq!((info.n_users, info.n_items, info.n_factors), (2, 3, 3));
    assert_eq!(info.weights_rank, 1);
    assert_eq!(
        (info.user_ids, info.item_ids),
        (IdForm::Text, IdForm::Integers)
    );
    assert_eq!(&info.params, saved.model.params());
    assert_eq!(&info.weights, saved.model.weights().frozen());
    assert_eq!(info.history, saved.model.history());
    let best = saved.best.unwrap();
    assert_eq!(info.best, Some((best.iteration, best.score)));
    assert_eq!(info.config.as_deref(), Some("x = 1"));
    assert_eq!(info.bytes, std::fs::metadata(&path).unwrap().len());
}

#[test]
fn what_cannot_come_back_is_not_written() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("m.absentia");
    let (saved, ids) = tiny();
    save_model(&path, &saved.model, &ids, None).unwrap();
    let before = std::fs::read(&path).unwrap();
    let nan = saved.model.clone().with_post_scale(f32::NAN);
    let message = save_model(&path, &nan, &ids, None).unwrap_err().to_string();
    assert!(message.contains("parameters cannot be stored"), "{message}");
    let few = Ids::dense(2, 2);
    let error = save_model(&path, &saved.model, &few, None).unwrap_err();
    assert!(matches!(error, Error::Model(_)));
    assert!(
        error.to_string().contains("2 item ids for 3 items"),
        "{error}"
    );
    let missing = folder.path().join("no/m.absentia");
    let message = save_model(&missing, &saved.model, &ids, None)
        .unwrap_err()
        .to_string();
    assert!(message.contains("no/m.absentia"), "{message}");
    assert_eq!(std::fs::read(&path).unwrap(), before);
}
