//! Turns names and globs into the files they match.

use std::path::{Path, PathBuf};

use absentia::suggest;

use crate::atomic::folder_of;
use crate::error::Error;
use crate::format::Format;
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
            return Err(is_folder(named));
        }
        if is_standard(&named) || named.exists() {
            paths.push(named);
        } else {
            paths.extend(matches(pattern)?);
        }
    }
    Ok(paths)
}

/// The error of a folder, with a pattern for its files.
fn is_folder(path: PathBuf) -> Error {
    let entries = std::fs::read_dir(&path).into_iter().flatten().flatten();
    let paths = entries.map(|entry| entry.path());
    let files: Vec<PathBuf> = paths.filter(|path| path.is_file()).collect();
    if files.is_empty() {
        return Error::EmptyFolder { path };
    }
    let mut extensions: Vec<String> = files.iter().filter_map(|file| extension(file)).collect();
    extensions.sort_unstable();
    let groups = extensions.chunk_by(|one, other| one == other);
    let most = groups.max_by_key(|group| group.len());
    let pattern = most.map(|group| path.join(format!("*.{}", group[0])));
    Error::Folder {
        example: pattern.map(|pattern| pattern.display().to_string()),
        path,
    }
}

/// The extension of a file of a known format, with that of its compression.
fn extension(file: &Path) -> Option<String> {
    Format::from_path(file)?;
    let last = file.extension()?.to_str()?;
    // The format is that of the name without the extension of a compression.
    let inner = Path::new(file.file_stem()?);
    if Format::from_path(Path::new("a").with_extension(last).as_path()).is_some() {
        return Some(last.to_owned());
    }
    Some(format!("{}.{last}", inner.extension()?.to_str()?))
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
            Err(Error::Folder { example, .. }) => {
                let example = example.expect("a pattern");
                assert!(example.ends_with("*.csv"), "{example}");
            }
            other => panic!("{other:?}"),
        }
        assert_eq!(expand(&["-".to_owned()]).unwrap(), [Path::new("-")]);
    }

    /// Files of other kinds say nothing of the data.
    #[test]
    fn patterns_are_of_known_formats() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().to_string_lossy().into_owned();
        let refused = || expand(std::slice::from_ref(&path)).unwrap_err();
        assert!(matches!(refused(), Error::EmptyFolder { .. }));
        let write = |name: &str| std::fs::write(folder.path().join(name), "").unwrap();
        write("x.txt");
        write("y.log");
        let example = |error| match error {
            Error::Folder { example, .. } => example,
            other => panic!("{other:?}"),
        };
        assert_eq!(example(refused()), None);
        write("a.csv.gz");
        let pattern = example(refused()).expect("a pattern");
        assert!(pattern.ends_with("*.csv.gz"), "{pattern}");
    }
}
