//! Pairs that were shown and not taken, from the files of the data sets that have them.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use super::super::on;

/// Weights of the pairs that are tried.
const WEIGHTS: [&str; 2] = ["0.1", "0.5"];

/// Uniform weights with the pairs, at each of their weights.
pub(super) fn trials(weights: &str, exposed: &Path) -> Vec<(String, Vec<String>)> {
    let with = |weight: &str| {
        let path = exposed.display().to_string();
        let words = ["--exposed", &path, "--exposed-weight", weight];
        (weights.to_owned(), words.map(str::to_owned).to_vec())
    };
    WEIGHTS.map(with).to_vec()
}

/// Writes the pairs of a file that are in none of the others.
pub(super) fn without(shown: &Path, others: &[PathBuf], out: &Path) -> Result<(), String> {
    let mut taken: HashSet<String> = HashSet::new();
    for other in others {
        taken.extend(pairs(other)?);
    }
    let mut text = "user,item\n".to_owned();
    for pair in pairs(shown)?
        .into_iter()
        .filter(|pair| !taken.contains(pair))
    {
        text.push_str(&pair);
        text.push('\n');
    }
    std::fs::write(out, text).map_err(|error| on(out, &error))
}

/// The first two cells of each line after the heading.
fn pairs(path: &Path) -> Result<Vec<String>, String> {
    let text = std::fs::read_to_string(path).map_err(|error| on(path, &error))?;
    let pair = |line: &str| {
        let cells: Vec<&str> = line.split(',').take(2).collect();
        cells.join(",")
    };
    Ok(text.lines().skip(1).map(pair).collect())
}
