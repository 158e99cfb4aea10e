//! A disk that fills up, by the kernel's own refusal to let files grow.
#![cfg(unix)]

use std::path::PathBuf;
use std::process::Command;

use absentia_io::model::{Ids, load_model, save_model};

use crate::build::{Shape, model};

const FILE: &str = "ABSENTIA_TEST_FULL_DISK";

fn large() -> (absentia::Model, Ids) {
    let shape = Shape {
        users: 400,
        items: 300,
        factors: 64,
        rank: 1,
        padded: true,
        sweeps: 1,
        seed: 1,
    };
    (model(&shape), Ids::dense(400, 300))
}

#[test]
fn the_old_model_survives_a_write_that_the_kernel_refuses() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("m.absentia");
    let (model, ids) = large();
    save_model(&path, &model, &ids, Some("old")).unwrap();
    let test = std::env::current_exe().unwrap();
    // Ignoring the signal makes writes past the limit fail as they do on a full disk.
    let script = "trap '' XFSZ; ulimit -f 16; exec \"$0\" --exact full_disk::child --ignored";
    // Its output goes to a pipe: the limit would count a file that ours may be written to.
    let output = Command::new("sh")
        .args(["-c", script])
        .arg(test)
        .env(FILE, &path)
        .output()
        .unwrap();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stdout)
    );
    let loaded = load_model(&path).unwrap();
    assert_eq!(loaded.config.as_deref(), Some("old"));
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
}

#[test]
#[ignore = "run by the test above under a limit"]
fn child() {
    let Some(path) = std::env::var_os(FILE).map(PathBuf::from) else {
        return;
    };
    let (model, ids) = large();
    let error = save_model(&path, &model, &ids, Some("new")).unwrap_err();
    assert_eq!(error.fault(), absentia::Fault::Io);
    assert!(error.to_string().contains("m.absentia"), "{error}");
}
