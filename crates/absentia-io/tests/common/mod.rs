//! Shared by the integration tests: small files in a folder of their own.
#![allow(dead_code, missing_docs, unreachable_pub)]

use std::path::{Path, PathBuf};

use absentia_io::{Dataset, Error, NoProgress, ReadOptions};

pub fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/fixtures")
        .join(name)
}

pub fn read_one(path: &Path, options: &ReadOptions) -> Result<Dataset, Error> {
    absentia_io::read(&[path.to_owned()], options, &NoProgress)
}

/// Reads `content` as a file called `name`.
pub fn read_text(
    name: &str,
    content: impl AsRef<[u8]>,
    options: &ReadOptions,
) -> Result<Dataset, Error> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(name);
    std::fs::write(&path, content).unwrap();
    read_one(&path, options)
}

pub fn read_default(name: &str, content: impl AsRef<[u8]>) -> Result<Dataset, Error> {
    read_text(name, content, &ReadOptions::default())
}

/// Reads what must fail and gives the message with its hint.
pub fn message(name: &str, content: impl AsRef<[u8]>) -> String {
    with_hint(&read_default(name, content).unwrap_err())
}

/// The message of an error with its hint.
pub fn with_hint(error: &Error) -> String {
    format!("{error}; {}", error.hint().unwrap_or_default())
}

/// Rows as text, ids resolved: `user item rating time weight`, `-` where there is none.
pub fn rows(data: &Dataset) -> Vec<String> {
    let cell = |text: Option<String>| text.unwrap_or_else(|| "-".to_owned());
    (0..data.len())
        .map(|row| {
            [
                data.users.name(data.user[row]).unwrap().into_owned(),
                data.items.name(data.item[row]).unwrap().into_owned(),
                cell(data.value.as_ref().map(|v| v[row].to_string())),
                cell(data.time.as_ref().map(|t| t[row].to_string())),
                cell(data.weight.as_ref().map(|w| w[row].to_string())),
            ]
            .join(" ")
        })
        .collect()
}
