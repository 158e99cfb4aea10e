//! What a server says that does not start, and what it leaves behind.

use std::net::TcpListener;
use std::path::Path;

use crate::client::{Server, trained};

/// Fails the test unless the server does not start, with this exit code and these words.
#[track_caller]
fn fails(folder: &Path, words: &str, code: i32, said: &[&str]) {
    let error = Server::try_start(folder, words).err().expect(words);
    assert!(error.contains(&format!("Some({code})")), "{error}");
    for text in said {
        assert!(error.contains(text), "no {text:?} in: {error}");
    }
}

#[test]
fn a_model_that_is_not_there_leaves_no_folder() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    let missing = ["nosuch.absentia", "check the name and the folder"];
    fails(path, "nosuch.absentia", 4, &missing);
    fails(
        path,
        "",
        4,
        &["no model yet", "absentia serve MODEL", "--demo"],
    );
    std::fs::write(path.join("text.absentia"), "no model").unwrap();
    fails(path, "text.absentia", 3, &["not an Absentia model"]);
    assert!(!path.join("data").exists());
}

#[test]
fn folders_that_are_files_and_missing_models_of_a_folder_are_named() {
    let (_folder, path) = trained();
    std::fs::write(path.join("file"), "").unwrap();
    let said = ["--folder file: is not a folder"];
    fails(&path, "m.absentia --folder file", 2, &said);
    Server::start(&path, "m.absentia").stop();
    let said = ["nosuch.absentia", "check the name and the folder"];
    fails(&path, "nosuch.absentia", 4, &said);
}

#[test]
fn settings_have_a_line_and_addresses_a_reason() {
    let (_folder, path) = trained();
    std::fs::write(path.join("s.toml"), "[limits]\nbodies = 5\n").unwrap();
    let said = ["s.toml:2: unknown field `bodies`"];
    fails(&path, "m.absentia --settings s.toml", 2, &said);
    let said = ["none.toml", "check the name"];
    fails(&path, "m.absentia --settings none.toml", 4, &said);
    let said = ["an address and a port, as in 127.0.0.1:8080"];
    fails(&path, "m.absentia --address localhost", 2, &said);
    let other = TcpListener::bind("127.0.0.1:0").unwrap();
    let words = format!("m.absentia --address {}", other.local_addr().unwrap());
    let said = ["another program listens there", "choose another port"];
    fails(&path, &words, 1, &said);
    let port = Server::start(&path, "m.absentia --address localhost:0").address;
    assert!(port.ip().is_loopback());
}
