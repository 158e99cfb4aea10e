//! Turns names and globs into the files they match.

use std::path::{Path, PathBuf};

use absentia::suggest;

use crate::atomic::folder_of;
use crate::error::Error;
use crate::standard::is_standard;

/// The files that match: those of each glob sorted, in the order of the patterns.
///
/// A name that exists is taken as it is, whatever characters it holds, and so is `-`, standard input.
///
/// # Errors
/// A pattern is malformed or matches no file; a name is that of a folder.
pub fn expand(patterns: &[String]) -> Result<Vec<PathBuf>, Error> {
    let mut paths = Vec::new();
    for pattern in patterns {
        let named = PathBuf::from(pattern);
        if named.is_dir() {
            return Err(Error::Folder {
                example: example(&named),
                path: named,
            });
        }
        if is_standard(&named) || named.exists() {
            paths.push(named);
        } else {
            paths.extend(matches(pattern)?);
        }
    }
    Ok(paths)
}

/// A pattern for the files of a folder, with the extension that most of them have, apart from models.
fn example(folder: &Path) -> String {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let files = entries
        .map(|entry| entry.path())
        .filter(|path| path.is_file());
    let mut extensions: Vec<String> = files
        .filter_map(|path| Some(path.extension()?.to_str()?.to_owned()))
        .filter(|extension| extension != "absentia")
        .collect();
    extensions.sort_unstable();
    let most = extensions
        .chunk_by(|one, other| one == other)
        .max_by_key(|group| group.len());
    let pattern = most.map_or_else(|| "*".to_owned(), |group| format!("*.{}", group[0]));
    folder.join(pattern).display().to_string()
}

fn matches(pattern: &str) -> Result<Vec<PathBuf>, Error> {
    let found = glob::glob(pattern).map_err(|error| Error::Pattern {
        pattern: pattern.to_owned(),
        detail: error.msg.to_owned(),
    })?;
    let mut paths = Vec::new();
    for entry in found {
        let path = entry.map_err(|error| {
            let path = error.path().to_owned();
            Error::Io {
                path,
                source: error.into(),
            }
        })?;
        if path.is_file() {
            paths.push(path);
        }
    }
    paths.sort();
    if paths.is_empty() {
        Err(not_there(pattern))
    } else {
        Ok(paths)
    }
}

/// The error of a name or glob that no file has.
fn not_there(pattern: &str) -> Error {
    if pattern.contains(['*', '?', '[']) {
        return Error::NoMatch {
            pattern: pattern.to_owned(),
        };
    }
    let path = PathBuf::from(pattern);
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let entries = std::fs::read_dir(folder_of(&path)).into_iter().flatten();
    let files = entries.flatten().filter(|entry| entry.path().is_file());
    let names: Vec<String> = files
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect();
    let similar = suggest::similar(&name, names.iter().map(String::as_str));
    let in_folder = |name: &str| path.with_file_name(name).display().to_string();
    Error::NoFile {
        similar: similar.into_iter().map(in_folder).collect(),
        path,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn globs_are_sorted_and_must_match() {
        let folder = tempfile::tempdir().unwrap();
        for name in [
            "b.csv",
            "a.csv",
            "c[1].txt",
            "1.absentia",
            "2.absentia",
            "3.absentia",
        ] {
            std::fs::write(folder.path().join(name), "").unwrap();
        }
        let pattern = |name: &str| folder.path().join(name).to_string_lossy().into_owned();
        let found = expand(&[pattern("c[1].txt"), pattern("*.csv")]).unwrap();
        let names: Vec<_> = found
            .iter()
            .map(|p| p.file_name().unwrap().to_str().unwrap())
            .collect();
        assert_eq!(names, ["c[1].txt", "a.csv", "b.csv"]);
        assert!(matches!(
            expand(&[pattern("*.tsv")]),
            Err(Error::NoMatch { .. })
        ));
        assert!(matches!(
            expand(&["[".to_owned()]),
            Err(Error::Pattern { .. })
        ));
        let folder = folder.path().to_string_lossy().into_owned();
        match expand(&[folder]) {
            Err(Error::Folder { example, .. }) => assert!(example.ends_with("*.csv"), "{example}"),
            other => panic!("{other:?}"),
        }
        assert_eq!(expand(&["-".to_owned()]).unwrap(), [Path::new("-")]);
    }
}
