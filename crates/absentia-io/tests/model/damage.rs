//! Every single byte counts.

use std::path::Path;

use absentia_io::model::{inspect, load_checkpoint, load_model, save_checkpoint};

use crate::build::tiny;

fn refused(path: &Path, bytes: &[u8], what: &str) {
    std::fs::write(path, bytes).unwrap();
    // Looking inside without the checksum may succeed, but must not panic.
    let _ = inspect(path);
    match load_model(path) {
        Ok(_) => panic!("{what} was not noticed"),
        Err(error) => {
            let message = error.to_string();
            assert!(message.contains("damaged.absentia"), "{what}: {message}");
        }
    }
}

#[test]
fn every_flipped_byte_and_every_truncation_is_refused_and_the_previous_file_loads() {
    let folder = tempfile::tempdir().unwrap();
    let (previous, damaged) = (
        folder.path().join("previous.absentia"),
        folder.path().join("damaged.absentia"),
    );
    let (checkpoint, ids) = tiny();
    save_checkpoint(&previous, &checkpoint, &ids, Some("x"), None).unwrap();
    let whole = std::fs::read(&previous).unwrap();
    assert!(whole.len() < 8 << 10, "{} bytes", whole.len());
    let mut bytes = whole.clone();
    for at in 0..whole.len() {
        for flip in [0x01, 0x80, 0xff] {
            bytes[at] ^= flip;
            refused(&damaged, &bytes, &format!("byte {at} ^ {flip:#x}"));
            bytes[at] ^= flip;
        }
    }
    for length in 0..whole.len() {
        refused(&damaged, &whole[..length], &format!("cut at {length}"));
    }
    bytes.push(0);
    refused(&damaged, &bytes, "one byte more");
    assert!(load_checkpoint(&previous).is_ok());
}

#[test]
fn other_files_are_not_taken_for_models() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x");
    let message = |path: &Path| load_model(path).unwrap_err().to_string();
    std::fs::write(&path, "user,item\n1,2\n").unwrap();
    assert!(message(&path).contains("not an Absentia model"));
    let foreign = safetensors::serialize(
        [(
            "x",
            safetensors::tensor::TensorView::new(safetensors::Dtype::U8, vec![1], &[0]).unwrap(),
        )],
        None,
    );
    std::fs::write(&path, foreign.unwrap()).unwrap();
    assert!(message(&path).contains("not an Absentia model"));
    assert!(message(folder.path()).contains("is a folder, and not of a model"));
    let missing = load_model(&folder.path().join("missing")).unwrap_err();
    assert_eq!(missing.fault(), absentia::Fault::NotFound);
}
