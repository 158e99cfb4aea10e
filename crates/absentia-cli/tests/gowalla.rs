//! The LightGCN protocol on the Gowalla split: trained without the validation part, scored on it.

mod support;

use absentia_testing::shared_data;
use support::Sandbox;

#[test]
fn gowalla_validation_values_are_pinned() {
    let Some(folder) = shared_data("gowalla-lightgcn") else {
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
    let rows = format!("{train} --exclude {valid}");
    sandbox.run(&format!("convert {rows} --out train.tsv")).ok();
    sandbox
        .run(
            "train train.tsv --model m.absentia --factors 16 --iterations 4 --weights \
             popularity:mean=0.1,alpha=0.25 --regularization 0.01 --reg-exponent 0 --seed 1 --dense-ids --shape 29858,40981",
        )
        .ok();
    let line = format!(
        "evaluate m.absentia --train train.tsv --test {valid} --at 20 --metrics recall,ndcg \
         --baseline popularity --json"
    );
    let found = &sandbox.run(&line).ok().json()[0];
    assert_eq!(found["users"], 29_858);
    let number = |value: &serde_json::Value| value.as_f64().expect("a number");
    let pinned = [
        // Checked by a separate program: items by count, ties by id, those seen left out.
        (
            "most popular recall@20",
            number(&found["other"]["recall@20"]),
            0.027_572_647,
            1e-8,
        ),
        (
            "most popular ndcg@20",
            number(&found["other"]["ndcg@20"]),
            0.014_117_344,
            1e-8,
        ),
        // The bits depend on the instruction set, so the last digits are left open.
        (
            "eals recall@20",
            number(&found["recall@20"]),
            0.102_74,
            2e-4,
        ),
        ("eals ndcg@20", number(&found["ndcg@20"]), 0.060_02, 2e-4),
    ];
    for (name, got, expected, tolerance) in pinned {
        assert!(
            (got - expected).abs() <= tolerance,
            "{name}: {got}, pinned {expected}"
        );
    }
}
