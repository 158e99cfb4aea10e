//! Turns names and globs into the files they match.

use std::path::PathBuf;

use crate::error::Error;

/// The files that match: those of each glob sorted, in the order of the patterns.
///
/// A name that exists is taken as it is, whatever characters it holds.
///
/// # Errors
/// A pattern is malformed or matches no file.
pub fn expand(patterns: &[String]) -> Result<Vec<PathBuf>, Error> {
    let mut paths = Vec::new();
    for pattern in patterns {
        let named = PathBuf::from(pattern);
        if named.exists() {
            paths.push(named);
        } else {
            paths.extend(matches(pattern)?);
        }
    }
    Ok(paths)
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
        Err(Error::NoMatch {
            pattern: pattern.to_owned(),
        })
    } else {
        Ok(paths)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn globs_are_sorted_and_must_match() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["b.csv", "a.csv", "c[1].txt"] {
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
    }
}
