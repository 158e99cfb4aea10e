//! Files of earlier versions load for ever.
//!
//! `model-v1.absentia` and `checkpoint-v1.absentia` were written by the ignored test below when
//! version 1 was new. They are never written again: a change that breaks them breaks users' files.

use std::path::{Path, PathBuf};

use absentia::fit::{Fitted, Run, Validation, fit};
use absentia::weights::{Scheme, Strength};
use absentia::{Model, Params};
use absentia_io::IdMap;
use absentia_io::model::{Ids, inspect, load_checkpoint, load_model, save_checkpoint, save_model};

use crate::build::interactions;

const CONFIG: &str = "factors = 5\nweights = \"popularity:mean=0.2,alpha=0.5\"\n";

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/fixtures")
        .join(name)
}

fn train() -> (Fitted, Ids) {
    let scheme = Scheme::popularity(Strength::Mean(0.2), 0.5);
    let params = Params::new()
        .factors(5)
        .iterations(3)
        .init_std(0.1)
        .post_scale(-0.1);
    let run = Run {
        validation: Some(Validation {
            metric: Box::new(|model: &Model| -(model.history().len() as f64)),
            every: 1,
            patience: None,
        }),
        ..Run::default()
    };
    let fitted = fit(&interactions(12, 9), &scheme, &params.check().unwrap(), run).unwrap();
    let ids = Ids {
        related: Vec::new(),
        users: (0..12).map(|u| format!("user-{u}-é")).collect::<IdMap>(),
        items: (0..9).map(|i| (i * 10 - 5).to_string()).collect(),
    };
    (fitted, ids)
}

fn scores(model: &Model) -> Vec<u32> {
    let pairs: Vec<(u32, u32)> = (0..12).flat_map(|u| (0..9).map(move |i| (u, i))).collect();
    model
        .scores(&pairs)
        .unwrap()
        .iter()
        .map(|x| x.to_bits())
        .collect()
}

#[test]
#[ignore = "made the fixtures, once"]
fn write_fixtures() {
    let (fitted, ids) = train();
    save_model(
        &fixture("model-v1.absentia"),
        &fitted.model,
        &ids,
        Some(CONFIG),
    )
    .unwrap();
    save_checkpoint(
        &fixture("checkpoint-v1.absentia"),
        &fitted.checkpoint,
        &ids,
        Some(CONFIG),
        None,
    )
    .unwrap();
    let scores = serde_json::json!({
        "model": scores(&fitted.model),
        "checkpoint": scores(&fitted.checkpoint.model),
    });
    std::fs::write(fixture("scores-v1.json"), scores.to_string() + "\n").unwrap();
}

/// Equal to rounding: another machine may add in another order.
fn assert_scores(model: &Model, expected: &serde_json::Value) {
    let expected: Vec<u32> = serde_json::from_value(expected.clone()).unwrap();
    for (got, expected) in scores(model).into_iter().zip(expected) {
        let (got, expected) = (f32::from_bits(got), f32::from_bits(expected));
        assert!(
            (got - expected).abs() <= 1e-6 * (1.0 + expected.abs()),
            "{got} {expected}"
        );
    }
}

#[test]
fn version_one_loads_with_its_scores() {
    let expected = std::fs::read_to_string(fixture("scores-v1.json")).unwrap();
    let expected: serde_json::Value = serde_json::from_str(&expected).unwrap();
    let loaded = load_model(&fixture("model-v1.absentia")).unwrap();
    assert_scores(&loaded.model, &expected["model"]);
    assert_eq!(loaded.config.as_deref(), Some(CONFIG));
    assert_eq!(loaded.ids.users.name(11).as_deref(), Some("user-11-é"));
    assert_eq!(loaded.ids.items.get("75"), Some(8));
    assert_eq!(loaded.model.history().len(), 3);
    let loaded = load_checkpoint(&fixture("checkpoint-v1.absentia")).unwrap();
    let checkpoint = loaded.checkpoint;
    assert_scores(&checkpoint.model, &expected["checkpoint"]);
    assert_eq!(checkpoint.best.unwrap().iteration, 1);
    let info = inspect(&fixture("model-v1.absentia")).unwrap();
    assert_eq!((info.n_users, info.n_items, info.n_factors), (12, 9, 5));
}
