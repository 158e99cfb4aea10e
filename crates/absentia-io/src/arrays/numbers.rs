//! Arrays by position, and rows of numbers by id.

use std::path::Path;

use absentia::Axis;
use absentia::Dense;

use super::error::ArrayError;
use crate::error::Error;
use crate::ids::IdMap;
use crate::npy;
use crate::read::parquet_rows;
use crate::standard::read_text;

/// Whether a file is an array by position.
pub(super) fn is_npy(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "npy")
}

/// Yields the array of a `.npy` file; one dimension is a column.
pub(super) fn array(path: &Path) -> Result<Dense, Error> {
    let array = npy::read_file(path)?;
    let dimensions = || ArrayError::Dimensions {
        path: path.to_owned(),
        got: array.shape.len(),
    };
    let (rows, cols) = match array.shape[..] {
        [rows] => (rows, 1),
        [rows, cols] => (rows, cols),
        _ => return Err(dimensions().into()),
    };
    let dense = array.data.into_f32();
    let dense = dense.and_then(|values| Dense::from_slice(rows, cols, &values));
    Ok(dense.ok_or_else(|| ArrayError::Type {
        path: path.to_owned(),
        expected: "numbers",
    })?)
}

/// Yields the integers of a `.npy` file.
pub(super) fn whole_numbers(path: &Path) -> Result<Vec<i64>, Error> {
    let numbers = npy::read_file(path)?.data.into_i64();
    Ok(numbers.ok_or_else(|| ArrayError::Type {
        path: path.to_owned(),
        expected: "integers",
    })?)
}

/// Yields the lines of a CSV or TSV file, cut into cells.
pub(super) fn cells(path: &Path) -> Result<Vec<Vec<String>>, Error> {
    let text = read_text(path)?;
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
        let line = line.map_err(|error| ArrayError::Line {
            path: path.to_owned(),
            detail: error.to_string(),
        })?;
        lines.push(line.iter().map(str::to_owned).collect());
    }
    Ok(lines)
}

/// Yields the number in a cell.
pub(super) fn number(path: &Path, line: usize, cell: &str) -> Result<f32, ArrayError> {
    cell.parse().map_err(|_| ArrayError::Number {
        path: path.to_owned(),
        line,
        value: cell.to_owned(),
    })
}

/// Yields one row of numbers for each id, matched by the first column of a CSV or Parquet file.
pub(super) fn rows_by_id(path: &Path, axis: Axis, ids: &IdMap) -> Result<Dense, Error> {
    let is_parquet = path
        .extension()
        .is_some_and(|extension| extension == "parquet");
    let lines = if is_parquet {
        parquet_rows(path)?.rows
    } else {
        text_rows(path)?
    };
    let width = lines.first().map_or(0, |(_, numbers)| numbers.len());
    let mut rows = Dense::zeros(ids.len(), width);
    let mut has_row = vec![false; ids.len()];
    for (id, numbers) in lines {
        if numbers.len() != width {
            return Err(ArrayError::Width {
                path: path.to_owned(),
                id,
                got: numbers.len(),
                expected: width,
            }
            .into());
        }
        if let Some(row) = ids.get(&id) {
            has_row[row as usize] = true;
            rows.row_mut(row as usize).copy_from_slice(&numbers);
        }
    }
    match has_row.iter().position(|has_row| !has_row) {
        None => Ok(rows),
        Some(row) => Err(ArrayError::NoRow {
            path: path.to_owned(),
            axis,
            id: ids.name(row as u32).unwrap_or_default().into_owned(),
        }
        .into()),
    }
}

/// Yields the id and the numbers of each line; a first line with a cell that is not a number is a header.
fn text_rows(path: &Path) -> Result<Vec<(String, Vec<f32>)>, Error> {
    let lines = cells(path)?;
    let is_header = |line: &Vec<String>| line[1..].iter().any(|cell| cell.parse::<f32>().is_err());
    let header = usize::from(lines.first().is_some_and(is_header));
    let numbered = lines.iter().enumerate().skip(header);
    let rows = numbered.map(|(at, line)| {
        let numbers = line[1..].iter().map(|cell| number(path, at + 1, cell));
        Ok((line[0].clone(), numbers.collect::<Result<_, _>>()?))
    });
    rows.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_matched_by_id_and_missing_ones_named() -> Result<(), Box<dyn std::error::Error>> {
        let folder = tempfile::tempdir()?;
        let path = folder.path().join("a.csv");
        std::fs::write(&path, "user,w1,w2\nbob,3,4\nann,1,2\nzoe,9,9\n")?;
        let ids: IdMap = ["ann", "bob"].iter().collect();
        let rows = rows_by_id(&path, Axis::User, &ids)?;
        assert_eq!(
            (rows.row(0), rows.row(1)),
            (&[1.0, 2.0][..], &[3.0, 4.0][..])
        );
        let more: IdMap = ["ann", "cid"].iter().collect();
        let error = rows_by_id(&path, Axis::User, &more).expect_err("no row for cid");
        assert!(error.to_string().contains("no row for user \"cid\""));
        std::fs::write(&path, "user,w\nann,1\nbob,x\n")?;
        let error = rows_by_id(&path, Axis::User, &ids).expect_err("not a number");
        assert!(error.to_string().contains("a.csv:3: \"x\""), "{error}");
        Ok(())
    }
}
