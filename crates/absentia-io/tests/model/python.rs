//! The Python package `safetensors` reads the file and finds the same numbers.

use std::process::Command;

use absentia::linalg::Dense;
use absentia::model::Factors;
use absentia_io::model::save_checkpoint;

use crate::build::{bits, tiny};

const SCRIPT: &str = r#"
import json, sys
import numpy as np
from safetensors import safe_open
from safetensors.numpy import load_file
tensors = load_file(sys.argv[1])
with safe_open(sys.argv[1], "np") as file:
    metadata = file.metadata()
print(json.dumps({
    "bits": {k: v.view(np.uint32).ravel().tolist() for k, v in tensors.items() if v.dtype == np.float32},
    "shapes": {k: list(v.shape) for k, v in tensors.items()},
    "user_counts": tensors["user_counts"].tolist(),
    "item_ids": tensors["item_ids"].tolist(),
    "users": [bytes(tensors["user_id_bytes"][a:b]).decode() for a, b in
              zip(tensors["user_id_offsets"][:-1].tolist(), tensors["user_id_offsets"][1:].tolist())],
    "objective": tensors["history"][:, 1].tolist(),
    "factors": json.loads(metadata["params"])["factors"],
    "config": metadata["config"],
}))
"#;

/// A Python that has the package: `ABSENTIA_PYTHON`, or the one on the path.
fn python() -> Option<String> {
    let python = std::env::var("ABSENTIA_PYTHON").unwrap_or_else(|_| "python3".to_owned());
    let found = Command::new(&python)
        .args(["-c", "import safetensors.numpy"])
        .output();
    found
        .is_ok_and(|output| output.status.success())
        .then_some(python)
}

#[test]
fn the_python_package_reads_the_same_numbers() {
    let Some(python) = python() else {
        println!("skipped: no Python with safetensors and numpy; set ABSENTIA_PYTHON");
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("c.absentia");
    let (checkpoint, ids) = tiny();
    save_checkpoint(&path, &checkpoint, &ids, Some("k = \"ü\"")).unwrap();
    let output = Command::new(python)
        .args(["-c", SCRIPT])
        .arg(&path)
        .output()
        .unwrap();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let found: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let model = &checkpoint.model;
    let dense = |dense: &Dense| bits(&Factors::from(dense.clone()));
    assert_eq!(
        found["bits"]["user_factors"],
        serde_json::json!(bits(model.user_factors()))
    );
    assert_eq!(
        found["bits"]["item_factors"],
        serde_json::json!(bits(model.item_factors()))
    );
    assert_eq!(
        found["bits"]["item_weights"],
        serde_json::json!(dense(model.weights().b()))
    );
    assert_eq!(found["shapes"]["user_factors"], serde_json::json!([2, 3]));
    assert_eq!(
        found["user_counts"],
        serde_json::json!(model.parts().user_counts)
    );
    assert_eq!(found["item_ids"], serde_json::json!([7, -3, 12]));
    assert_eq!(found["users"], serde_json::json!(["ann", "Zoë"]));
    assert_eq!(
        found["objective"][0],
        serde_json::json!(model.history()[0].objective.observed)
    );
    assert_eq!(found["factors"], 3);
    assert_eq!(found["config"], "k = \"ü\"");
}
