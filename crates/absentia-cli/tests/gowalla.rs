//! The LightGCN protocol on the Gowalla split: trained without the validation part, scored on it.

mod support;

use support::{Sandbox, shared};

#[test]
fn gowalla_validation_values_are_pinned() {
    let Some(folder) = shared("gowalla-lightgcn") else {
        return;
    };
    let sandbox = Sandbox::new();
    let (train, valid) = (
        folder.join("train.tsv.gz").display().to_string(),
        folder
            .join("valid_subset_of_train.tsv.gz")
            .display()
            .to_string(),
    );
    let rows = format!("{train} --exclude {valid} --no-header");
    sandbox.run(&format!("convert {rows} --out train.tsv")).ok();
    sandbox
        .run(
            "train train.tsv --model m.absentia --factors 16 --iterations 4 --weights \
             popularity:mean=0.1,alpha=0.25 --regularization 0.01 --seed 1 --dense-ids --shape 29858,40981",
        )
        .ok();
    let line = format!(
        "evaluate m.absentia --train train.tsv --test {valid} --no-header --at 20 --metrics recall,ndcg \
         --baseline popularity --json"
    );
    let found = &sandbox.run(&line).ok().json()[0];
    assert_eq!(found["users"], 29_858);
    let number = |value: &serde_json::Value| value.as_f64().expect("a number");
    let pinned = [
        (
            "most popular recall@20",
            number(&found["other"]["recall@20"]),
            0.0,
            1e-9,
        ),
        (
            "most popular ndcg@20",
            number(&found["other"]["ndcg@20"]),
            0.0,
            1e-9,
        ),
        ("eals recall@20", number(&found["recall@20"]), 0.0, 1e-4),
        ("eals ndcg@20", number(&found["ndcg@20"]), 0.0, 1e-4),
    ];
    for (name, got, expected, tolerance) in pinned {
        assert!(
            (got - expected).abs() <= tolerance,
            "{name}: {got}, pinned {expected}"
        );
    }
}
