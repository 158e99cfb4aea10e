//! Arrays by position, and tables by id.

use std::path::Path;

use absentia::error::Axis;
use absentia::linalg::Dense;
use absentia_io::{IdMap, npy, parquet_rows};
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
        let line = line.map_err(|error| Refusal::data(format!("{}: {error}", path.display())))?;
        lines.push(line.iter().map(str::to_owned).collect());
    }
    Ok(lines)
}

/// Rows of numbers found by the id in the first column of a CSV or parquet file.
pub(super) fn keyed(path: &Path, axis: Axis, ids: &IdMap) -> Result<Dense> {
    let lines = if path
        .extension()
        .is_some_and(|extension| extension == "parquet")
    {
        parquet_rows(path)?
    } else {
        text_lines(path)?
    };
    let width = lines.first().map_or(0, |(_, numbers)| numbers.len());
    let mut rows = Dense::zeros(ids.len(), width);
    let mut found = vec![false; ids.len()];
    for (id, numbers) in &lines {
        if numbers.len() != width {
            let (path, got) = (path.display(), numbers.len());
            let refusal = Refusal::data(format!("{path}: {got} numbers for {id:?}, not {width}"));
            return Err(refusal.into());
        }
        if let Some(row) = ids.get(id) {
            found[row as usize] = true;
            rows.row_mut(row as usize).copy_from_slice(numbers);
        }
    }
    match found.iter().position(|found| !found) {
        None => Ok(rows),
        Some(row) => {
            let id = ids.name(row as u32).unwrap_or_default();
            let refusal = Refusal::data(format!("{}: no row for {axis} {id:?}", path.display()));
            let hint = format!("give every {axis} of the data a row");
            Err(refusal.hint(hint).into())
        }
    }
}

type Line = (String, Vec<f32>);

/// An id and its numbers from each line; a first line without numbers is a header.
fn text_lines(path: &Path) -> Result<Vec<Line>> {
    let lines = cells(path)?;
    let is_header = |line: &Vec<String>| line[1..].iter().any(|cell| cell.parse::<f32>().is_err());
    let header = usize::from(lines.first().is_some_and(is_header));
    let numbered = lines.iter().enumerate().skip(header);
    let parsed = numbered.map(|(at, line)| {
        let number = |cell: &String| {
            cell.parse::<f32>().map_err(|_| {
                let place = format!("{}:{}", path.display(), at + 1);
                Refusal::data(format!("{place}: {cell:?} is not a number"))
            })
        };
        let numbers: Result<Vec<f32>, Refusal> = line[1..].iter().map(number).collect();
        Ok((line[0].clone(), numbers?))
    });
    parsed.collect()
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
