//! The Python package `safetensors` reads the file and finds the same numbers.

use std::process::Command;

use absentia::data::{Duplicates, Triplets};
use absentia::model::Factors;
use absentia::ranking::RankRequest;
use absentia::weights::Scheme;
use absentia::{Dense, Params, Run, fit};
use absentia_io::IdMap;
use absentia_io::model::{ExportOptions, Ids, Layout, export, save_checkpoint};

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

/// Loads the exported items with the library they are for, and prints their bits.
const FAISS: &str = r#"
import sys
from faiss.contrib.vecs_io import fvecs_read
x = fvecs_read(sys.argv[1] + "/items.fvecs")
"#;
/// Asks programs that serve for the best two items of each user, and prints them with their scores.
const FAISS_LISTS: &str = r#"
import json, sys
import faiss
from faiss.contrib.vecs_io import fvecs_read
index = faiss.read_index(sys.argv[1] + "/items.index")
scores, items = index.search(fvecs_read(sys.argv[1] + "/users.fvecs"), 2)
print(json.dumps([items.tolist(), scores.tolist()]))
"#;
const ONNX_LISTS: &str = r#"
import json, sys
import numpy as np
import onnx
import onnxruntime
path = sys.argv[1] + "/scorer.onnx"
onnx.checker.check_model(path, full_check=True)
session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
users = np.arange(2, dtype=np.int64)
items, scores, all = session.run(["items", "top_scores", "scores"], {"user": users, "k": np.array([2])})
assert np.array_equal(np.take_along_axis(all, items, 1), scores)
print(json.dumps([items.tolist(), scores.tolist()]))
"#;
const USEARCH: &str = r#"
import sys
from usearch.io import load_matrix
x = load_matrix(sys.argv[1] + "/items.fbin")
"#;
const HNSWLIB: &str = r#"
import sys
import numpy as np
x = np.fromfile(sys.argv[1] + "/items.f32", np.float32).reshape(-1, 3)
"#;
const PRINT: &str = r"
import json, numpy as np
print(json.dumps([list(x.shape), np.ascontiguousarray(x).view(np.uint32).ravel().tolist()]))
";

/// A Python that can do the import: `ABSENTIA_PYTHON`, or the one on the path.
fn python(import: &str) -> Option<String> {
    let python = std::env::var("ABSENTIA_PYTHON").unwrap_or_else(|_| "python3".to_owned());
    let found = Command::new(&python).args(["-c", import]).output();
    found
        .is_ok_and(|output| output.status.success())
        .then_some(python)
}

#[test]
fn the_python_package_reads_the_same_numbers() {
    let Some(python) = python("import safetensors.numpy") else {
        absentia_testing::skipped("no Python with safetensors and numpy; set ABSENTIA_PYTHON");
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("c.absentia");
    let (checkpoint, ids) = tiny();
    save_checkpoint(&path, &checkpoint, &ids, Some("k = \"ü\""), None).unwrap();
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

#[test]
fn libraries_load_what_is_exported_for_them() {
    let (checkpoint, ids) = tiny();
    let model = &checkpoint.model;
    for (layout, import, script) in [
        (Layout::Faiss, "import faiss", FAISS),
        (Layout::Usearch, "import usearch.io", USEARCH),
        (Layout::Hnswlib, "import numpy", HNSWLIB),
    ] {
        let Some(python) = python(import) else {
            absentia_testing::skipped(&format!("no Python for {import:?}; set ABSENTIA_PYTHON"));
            continue;
        };
        let folder = tempfile::tempdir().unwrap();
        let options = ExportOptions {
            layout,
            post_scale: Some(false),
        };
        export(model, &ids, folder.path(), options).unwrap();
        let script = format!("{script}{PRINT}");
        let output = Command::new(python)
            .args(["-c", &script])
            .arg(folder.path())
            .output()
            .unwrap();
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{errors}");
        let found: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        let expected = serde_json::json!([[3, 3], bits(model.item_factors())]);
        assert_eq!(found, expected, "{layout:?}");
    }
}

/// Items and scores, one list a user.
type Found = (Vec<Vec<u32>>, Vec<Vec<f32>>);

#[test]
fn programs_that_serve_give_the_lists_of_the_model() {
    let users = [0, 0, 1, 1, 2, 2, 2];
    let data = Triplets::new(&users, &[0, 1, 1, 2, 2, 3, 0]);
    let data = data.build(3, 4, Duplicates::Sum).unwrap();
    let params = Params::new().factors(3).iterations(6).regularization(0.01);
    let params = params.post_scale(0.3).check().unwrap();
    let model = fit(&data, &Scheme::uniform(0.1), &params, Run::default());
    let model = model.unwrap().model;
    let ids = Ids {
        users: IdMap::dense(3),
        items: IdMap::dense(4),
        related: Vec::new(),
    };
    let request = RankRequest {
        users: &[0, 1],
        top: 2,
        ..RankRequest::default()
    };
    let expected = model.recommend(&request).unwrap();
    for (layout, import, script) in [
        (Layout::Faiss, "import faiss", FAISS_LISTS),
        (Layout::Onnx, "import onnx, onnxruntime", ONNX_LISTS),
    ] {
        let Some(python) = python(import) else {
            absentia_testing::skipped(&format!("no Python for {import:?}; set ABSENTIA_PYTHON"));
            continue;
        };
        let folder = tempfile::tempdir().unwrap();
        let options = ExportOptions {
            layout,
            post_scale: None,
        };
        export(&model, &ids, folder.path(), options).unwrap();
        let output = Command::new(python)
            .args(["-c", script])
            .arg(folder.path())
            .output()
            .unwrap();
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{errors}");
        let (items, scores): Found = serde_json::from_slice(&output.stdout).unwrap();
        for (user, list) in expected.iter().enumerate() {
            let own: Vec<u32> = list.iter().map(|scored| scored.item).collect();
            assert_eq!(items[user], own, "{layout:?}");
            for (scored, score) in list.iter().zip(&scores[user]) {
                let error = (scored.score - score).abs();
                assert!(error <= 1e-5 * scored.score.abs().max(1.0), "{layout:?}");
            }
        }
    }
}
