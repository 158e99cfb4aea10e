//! Arrays by position, and tables by id.

use std::path::Path;

use absentia::error::Axis;
use absentia::linalg::Dense;
use absentia_io::{IdMap, npy};
use anyhow::{Context as _, Result};

use crate::failure::Refusal;

/// Whether a file goes by position.
pub(super) fn is_array(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "npy")
}

/// The array of a `.npy` file; one dimension is a column.
pub(super) fn array(path: &Path) -> Result<Dense> {
    let array = npy::read_file(path)?;
    let (rows, cols) = match array.shape[..] {
        [rows] => (rows, 1),
        [rows, cols] => (rows, cols),
        _ => {
            let refusal = Refusal::data(format!(
                "{}: {} dimensions, expected 2",
                path.display(),
                array.shape.len()
            ));
            return Err(refusal.into());
        }
    };
    let values = array
        .data
        .into_f32()
        .with_context(|| format!("{}: texts where numbers were expected", path.display()))?;
    Dense::from_slice(rows, cols, &values).context("an array has as many numbers as its shape says")
}

/// The lines of a CSV or TSV file, cut into cells.
pub(super) fn cells(path: &Path) -> Result<Vec<Vec<String>>> {
    let text = std::fs::read_to_string(path).map_err(|source| absentia_io::Error::Io {
        path: path.to_owned(),
        source,
    })?;
    let separator = match text.lines().next() {
        Some(line) if line.contains('\t') => b'\t',
        Some(line) if !line.contains(',') && line.contains(';') => b';',
        _ => b',',
    };
    let mut reader = csv::ReaderBuilder::new()
        .has_headers(false)
        .delimiter(separator)
        .trim(csv::Trim::All)
        .from_reader(text.as_bytes());
    let mut lines = Vec::new();
    for line in reader.records() {
        let line = line.with_context(|| path.display().to_string())?;
        lines.push(line.iter().map(str::to_owned).collect());
    }
    Ok(lines)
}

/// Rows of numbers found by the id in the first column; a first line without numbers is a header.
pub(super) fn keyed(path: &Path, axis: Axis, ids: &IdMap) -> Result<Dense> {
    let mut lines = cells(path)?;
    let is_header = |line: &Vec<String>| line[1..].iter().any(|cell| cell.parse::<f32>().is_err());
    let header = lines.first().is_some_and(is_header);
    let lines = lines.split_off(usize::from(header));
    let width = lines.first().map_or(0, |line| line.len() - 1);
    let mut rows = Dense::zeros(ids.len(), width);
    let mut found = vec![false; ids.len()];
    for (at, line) in lines.iter().enumerate() {
        let Some(row) = ids.get(&line[0]) else {
            continue;
        };
        found[row as usize] = true;
        for (slot, cell) in rows.row_mut(row as usize).iter_mut().zip(&line[1..]) {
            *slot = cell.parse().map_err(|_| {
                let line = at + 1 + usize::from(header);
                Refusal::data(format!(
                    "{}:{line}: {cell:?} is not a number",
                    path.display()
                ))
            })?;
        }
    }
    if let Some(row) = found.iter().position(|found| !found) {
        let id = ids.name(row as u32).unwrap_or_default();
        let refusal = Refusal::data(format!("{}: no row for {axis} {id:?}", path.display()));
        return Err(refusal
            .hint(format!("give every {axis} of the data a row"))
            .into());
    }
    Ok(rows)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_found_by_id_and_missing_ones_named() -> Result<()> {
        let folder = tempfile::tempdir()?;
        let path = folder.path().join("a.csv");
        std::fs::write(&path, "user,w1,w2\nbob,3,4\nann,1,2\nzoe,9,9\n")?;
        let ids: IdMap = ["ann", "bob"].iter().collect();
        let rows = keyed(&path, Axis::User, &ids)?;
        assert_eq!(
            (rows.row(0), rows.row(1)),
            (&[1.0, 2.0][..], &[3.0, 4.0][..])
        );
        let more: IdMap = ["ann", "cid"].iter().collect();
        let error = keyed(&path, Axis::User, &more).expect_err("no row for cid");
        assert!(error.to_string().contains("no row for user \"cid\""));
        Ok(())
    }
}
