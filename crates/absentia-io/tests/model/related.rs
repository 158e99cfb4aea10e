//! Models with relations: factors, weights, counts and ids of every type come back.

use absentia::data::{Confidence, Duplicates, Targets, Triplets};
use absentia::fit::backend::Cpu;
use absentia::fit::{Run, Validation, fit_related};
use absentia::relations::{
    Arrangement, Content, Features, Relation, RelationEntries, Relations, Scaling, TypePair,
};
use absentia::weights::{Scheme, Strength};
use absentia::{Axis, Dense, Params};
use absentia_io::model::{Ids, inspect, load_checkpoint, load_model, save_checkpoint, save_model};
use absentia_io::{Error, IdMap};

fn relations() -> Relations<'static> {
    let types = TypePair {
        first: "items".to_owned(),
        second: "tags".to_owned(),
        context: false,
    };
    let mut entities = Arrangement::of(&[types]).unwrap().entities;
    for (entity, count) in entities.iter_mut().zip([3, 4, 2]) {
        entity.count = count;
    }
    entities[2].regularization = Some(0.25);
    let data = Triplets::new(&[0, 1, 3], &[0, 1, 1]).build(4, 2, Duplicates::Error);
    Relations {
        entities,
        relations: vec![Relation {
            first: 1,
            second: 2,
            content: Content::Entries(Box::new(RelationEntries {
                data: data.unwrap(),
                scheme: Scheme::popularity(Strength::Mean(0.1), 0.5),
                targets: Targets::Binary,
                confidence: Confidence::default(),
            })),
            strength: 0.5,
        }],
        weighs_empty: false,
    }
}

#[test]
fn relations_come_back_with_models_and_checkpoints() {
    let folder = tempfile::tempdir().unwrap();
    let data = Triplets::new(&[0, 1, 2, 2], &[0, 1, 1, 2]).build(3, 4, Duplicates::Error);
    let data = data.unwrap();
    let params = Params::new().factors(3).iterations(4).check().unwrap();
    let validation = Validation {
        metric: Box::new(|model| f64::from(model.item_factors().row(0)[0].abs())),
        every: 1,
        patience: None,
    };
    let run = Run {
        validation: Some(validation),
        ..Run::default()
    };
    let main = (&data, &Scheme::uniform(0.1));
    let fitted = fit_related(&Cpu, main, Some(&relations()), &params, run).unwrap();
    let ids = Ids {
        users: IdMap::dense(3),
        items: ["a", "b", "c", "d"].iter().collect(),
        related: vec![["noir", "sea"].iter().collect()],
    };
    let path = folder.path().join("m.absentia");
    save_model(&path, &fitted.model, &ids, None).unwrap();
    let loaded = load_model(&path).unwrap();
    assert_eq!(loaded.model.related(), fitted.model.related());
    assert_eq!(loaded.ids, ids);
    let info = inspect(&path).unwrap();
    assert_eq!(info.format_version, 2);
    let said = info.relations.unwrap();
    assert_eq!(said.relations[0].name, "items-tags");
    assert_eq!(said.entities, relations().entities);
    // What was trained is divided; the best factors of a checkpoint are stacked.
    let path = folder.path().join("run.ckpt");
    save_checkpoint(&path, &fitted.checkpoint, &ids, None, None).unwrap();
    let checkpoint = load_checkpoint(&path).unwrap().checkpoint;
    let best = (checkpoint.best.unwrap(), fitted.checkpoint.best.unwrap());
    assert_eq!(best.0, best.1);
    assert_eq!(best.0.users.rows(), 3 + 2);
    let stacked = checkpoint.model.stacked_factors(Axis::User);
    assert_eq!(stacked, fitted.checkpoint.model.stacked_factors(Axis::User));
    // Without the ids of the tags, nothing is written.
    let short = Ids {
        related: Vec::new(),
        ..ids
    };
    let refused = save_model(&path, &fitted.model, &short, None);
    assert!(matches!(refused, Err(Error::Model(_))), "{refused:?}");
}

/// What features are centred and scaled by comes back to the bit, in a version of its own.
#[test]
fn features_come_back_with_their_rule() {
    let folder = tempfile::tempdir().unwrap();
    let data = Triplets::new(&[0, 1, 2, 2], &[0, 1, 1, 2]).build(3, 4, Duplicates::Error);
    let data = data.unwrap();
    let params = Params::new().factors(3).iterations(2).check().unwrap();
    let values = Dense::from_fn(4, 2, |row, column| {
        (row as f32 + 0.1).powf(column as f32 + 1.0) / 3.0
    });
    let known = vec![true, true, false, true];
    let features = Features::new(&values, known, Scaling::Columns).unwrap();
    let mut relations = relations();
    relations.relations[0].content = Content::Features(features.clone());
    let main = (&data, &Scheme::uniform(0.1));
    let fitted = fit_related(&Cpu, main, Some(&relations), &params, Run::default()).unwrap();
    let ids = Ids {
        users: IdMap::dense(3),
        items: IdMap::dense(4),
        related: vec![["x", "y"].iter().collect()],
    };
    let path = folder.path().join("features.absentia");
    save_model(&path, &fitted.model, &ids, None).unwrap();
    let back = load_model(&path).unwrap();
    let related = back.model.related().unwrap();
    assert_eq!(
        related.relations[0].features.as_ref(),
        Some(features.rule())
    );
    assert_eq!(Some(related), fitted.model.related());
    let info = inspect(&path).unwrap();
    assert_eq!(info.relations.unwrap().relations[0].features, Some(2));
    assert_eq!(info.format_version, 3);
}
