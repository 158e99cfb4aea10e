//! Files with a correct checksum that lie about everything else.

use std::path::Path;
use std::sync::OnceLock;

use absentia_io::model::{inspect, load_model, save_checkpoint};
use proptest::prelude::*;
use serde_json::{Value, json};
use xxhash_rust::xxh3::xxh3_64;

use crate::build::tiny;

/// A model file taken apart.
#[derive(Clone)]
struct Parts {
    header: Value,
    data: Vec<u8>,
}

impl Parts {
    fn good() -> Self {
        static GOOD: OnceLock<Parts> = OnceLock::new();
        GOOD.get_or_init(Self::save).clone()
    }

    fn save() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("good.absentia");
        let (checkpoint, ids) = tiny();
        save_checkpoint(&path, &checkpoint, &ids, None, None).unwrap();
        let bytes = std::fs::read(path).unwrap();
        let length = u64::from_le_bytes(*bytes.first_chunk().unwrap()) as usize;
        Self {
            header: serde_json::from_slice(&bytes[8..8 + length]).unwrap(),
            data: bytes[8 + length..].to_vec(),
        }
    }

    /// Writes the parts with a checksum that holds.
    fn write(&self, path: &Path) {
        let mut header = self.header.to_string().into_bytes();
        header.resize(header.len().next_multiple_of(64) + 56, b' ');
        let mut bytes = (header.len() as u64).to_le_bytes().to_vec();
        bytes.extend(header);
        bytes.extend(&self.data);
        let end = bytes.len() - 8;
        let checksum = xxh3_64(&bytes[..end]).to_le_bytes();
        bytes[end..].copy_from_slice(&checksum);
        std::fs::write(path, bytes).unwrap();
    }

    fn message(&self, folder: &Path) -> String {
        let path = folder.join("forged.absentia");
        self.write(&path);
        let _ = inspect(&path);
        let error = load_model(&path).unwrap_err().to_string();
        assert!(error.contains("forged.absentia"), "{error}");
        error
    }

    fn text(&mut self, key: &str, text: &str) {
        self.header["__metadata__"][key] = json!(text);
    }
}

#[test]
fn forging_by_itself_breaks_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("same.absentia");
    Parts::good().write(&path);
    assert!(load_model(&path).is_ok());
}

#[test]
fn a_later_version_is_named_with_its_writer() {
    let folder = tempfile::tempdir().unwrap();
    let mut parts = Parts::good();
    parts.text("format_version", "5");
    parts.text("product_version", "9.1.0");
    let message = parts.message(folder.path());
    assert!(
        message.contains("version 5, written by absentia 9.1.0"),
        "{message}"
    );
    parts.text("format_version", "0");
    assert!(parts.message(folder.path()).contains("no format version"));
}

#[test]
fn texts_that_are_not_what_they_should_be_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let good = Parts::good();
    for key in [
        "params",
        "transform",
        "weights",
        "kind",
        "format",
        "format_version",
    ] {
        for text in [
            "",
            "null",
            "[]",
            "{\"factors\": -1}",
            "{\"factors\": 1e400}",
            "x",
            "[[[[",
        ] {
            let mut parts = good.clone();
            parts.text(key, text);
            parts.message(folder.path());
        }
        let mut parts = good.clone();
        parts.header["__metadata__"]
            .as_object_mut()
            .unwrap()
            .remove(key);
        parts.message(folder.path());
    }
    let deep = "[".repeat(100_000);
    let mut parts = good.clone();
    parts.text("params", &deep);
    parts.message(folder.path());
}

#[test]
fn parts_of_weights_that_overflow_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let mut parts = Parts::good();
    let part = json!({"rank": u64::MAX, "kind": "low-rank"});
    let two = json!({"rank": 2, "kind": "low-rank"});
    parts.text("weights", &json!({"parts": [part, two]}).to_string());
    parts.message(folder.path());
    let groups = json!({
        "segments": 1, "categories": u64::MAX, "table": [], "user_segment": [0, 0], "item_category": [0, 0, 0]
    });
    let part = json!({"rank": 1, "kind": {"groups": groups}});
    parts.text("weights", &json!({"parts": [part]}).to_string());
    parts.message(folder.path());
}

#[test]
fn numbers_that_are_not_finite_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    for name in [
        "user_factors",
        "item_factors",
        "user_weights",
        "best_item_factors",
    ] {
        let mut parts = Parts::good();
        let start = parts.header[name]["data_offsets"][0].as_u64().unwrap() as usize;
        parts.data[start..start + 4].copy_from_slice(&f32::NAN.to_le_bytes());
        let message = parts.message(folder.path());
        assert!(message.contains("finite"), "{message}");
    }
}

fn lies() -> impl Strategy<Value = Value> {
    prop_oneof![
        prop::collection::vec(0..7_u64, 0..4).prop_map(|x| json!(x)),
        prop::collection::vec(any::<u64>(), 0..4).prop_map(|x| json!(x)),
        Just(json!([0, u64::MAX])),
        Just(json!([u64::MAX, 0])),
        prop::sample::select(vec!["F32", "U8", "I64", "U64", "F4", "C64", "X"])
            .prop_map(|x| json!(x)),
        Just(Value::Null),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1500))]

    #[test]
    fn no_lie_about_a_tensor_makes_it_panic(
        which in any::<prop::sample::Index>(),
        field in prop::sample::select(vec!["dtype", "shape", "data_offsets"]),
        lie in lies(),
    ) {
        let folder = tempfile::tempdir().unwrap();
        let mut parts = Parts::good();
        let names: Vec<String> = parts.header.as_object().unwrap().keys().cloned().collect();
        let name = &names[which.index(names.len())];
        if name != "__metadata__" {
            parts.header[name][field] = lie;
            let path = folder.path().join("forged.absentia");
            parts.write(&path);
            let _ = inspect(&path);
            let _ = load_model(&path);
        }
    }

    #[test]
    fn no_content_of_tensors_makes_it_panic(
        at in any::<prop::sample::Index>(),
        bytes in prop::collection::vec(any::<u8>(), 1..24),
    ) {
        let folder = tempfile::tempdir().unwrap();
        let mut parts = Parts::good();
        let at = at.index(parts.data.len() - bytes.len());
        parts.data[at..at + bytes.len()].copy_from_slice(&bytes);
        let path = folder.path().join("forged.absentia");
        parts.write(&path);
        let _ = inspect(&path);
        let _ = load_model(&path);
    }
}

#[test]
fn a_tensor_that_is_missing_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let good = Parts::good();
    for name in [
        "user_factors",
        "history",
        "user_counts",
        "item_weights",
        "user_id_bytes",
    ] {
        let mut parts = good.clone();
        let header = parts.header.as_object_mut().unwrap();
        let info = header.remove(name).unwrap();
        header.insert("other".to_owned(), info);
        let message = parts.message(folder.path());
        assert!(message.contains(name), "{name}: {message}");
    }
}
