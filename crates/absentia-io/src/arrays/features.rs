//! Files of features: a row of numbers for each of some ids.

use std::collections::HashSet;
use std::path::Path;

use absentia::Dense;

use super::error::ArrayError;
use super::numbers::{array, cells, is_npy, number};
use crate::error::Error;
use crate::read::parquet_rows;

/// Features as they are in a file.
#[derive(Clone, Debug, PartialEq)]
pub struct FeatureTable {
    /// The id of each row; row numbers if there are none.
    pub ids: Option<Vec<String>>,
    /// The name of each column: its heading, or else its number from 0.
    pub columns: Vec<String>,
    /// The numbers.
    pub values: Dense,
}

impl FeatureTable {
    /// The id of a row.
    #[must_use]
    pub fn id(&self, row: usize) -> String {
        let named = self.ids.as_ref().and_then(|ids| ids.get(row));
        named.cloned().unwrap_or_else(|| row.to_string())
    }
}

/// Reads features.
///
/// A `.npy` array has a row for each id of the file `ids`, which has one a line; without it, ids are row numbers.
/// CSV, TSV and Parquet tables have the id in their first column and numbers in all others.
///
/// # Errors
/// A file that cannot be read, cells that are no finite numbers, ids that occur twice or are not as many as rows.
pub fn read_features(path: &Path, ids: Option<&Path>) -> Result<FeatureTable, Error> {
    let table = if is_npy(path) {
        of_array(path, ids)?
    } else if let Some(ids) = ids {
        return Err(ArrayError::IdsTwice {
            path: path.to_owned(),
            ids: ids.to_owned(),
        }
        .into());
    } else if path.extension().is_some_and(|name| name == "parquet") {
        of_rows(path, parquet_rows(path)?, None)?
    } else {
        of_text(path)?
    };
    check(path, &table)?;
    Ok(table)
}

fn of_array(path: &Path, ids: Option<&Path>) -> Result<FeatureTable, Error> {
    let values = array(path)?;
    let ids = match ids {
        None => None,
        Some(ids) => {
            let text = std::fs::read_to_string(ids).map_err(Error::io(ids))?;
            let lines: Vec<String> = text.lines().map(|line| line.trim().to_owned()).collect();
            if lines.len() != values.rows() {
                return Err(ArrayError::Ids {
                    path: ids.to_owned(),
                    got: lines.len(),
                    expected: values.rows(),
                }
                .into());
            }
            Some(lines)
        }
    };
    Ok(FeatureTable {
        ids,
        columns: numbered(values.cols()),
        values,
    })
}

fn of_text(path: &Path) -> Result<FeatureTable, Error> {
    let lines = cells(path)?;
    let is_heading = |line: &Vec<String>| line[1..].iter().any(|cell| cell.parse::<f32>().is_err());
    let headings = lines.first().filter(|line| is_heading(line));
    let headings = headings.map(|line| line[1..].to_vec());
    let skipped = usize::from(headings.is_some());
    let numbered = lines.iter().enumerate().skip(skipped);
    let rows = numbered.map(|(at, line)| {
        let numbers = line[1..].iter().map(|cell| number(path, at + 1, cell));
        Ok((line[0].clone(), numbers.collect::<Result<_, ArrayError>>()?))
    });
    let rows: Vec<(String, Vec<f32>)> = rows.collect::<Result<_, Error>>()?;
    of_rows(path, rows, headings)
}

fn of_rows(
    path: &Path,
    rows: Vec<(String, Vec<f32>)>,
    headings: Option<Vec<String>>,
) -> Result<FeatureTable, Error> {
    let expected = rows.first().map_or(0, |(_, numbers)| numbers.len());
    let mut values = Dense::zeros(rows.len(), expected);
    let mut ids = Vec::with_capacity(rows.len());
    for (row, (id, numbers)) in rows.into_iter().enumerate() {
        let got = numbers.len();
        if got != expected {
            return Err(ArrayError::Width {
                path: path.to_owned(),
                id,
                got,
                expected,
            }
            .into());
        }
        values.row_mut(row).copy_from_slice(&numbers);
        ids.push(id);
    }
    Ok(FeatureTable {
        ids: Some(ids),
        columns: headings.unwrap_or_else(|| numbered(expected)),
        values,
    })
}

fn numbered(columns: usize) -> Vec<String> {
    (0..columns).map(|column| column.to_string()).collect()
}

fn check(path: &Path, table: &FeatureTable) -> Result<(), ArrayError> {
    let twice = |names: &[String]| {
        let mut known = HashSet::new();
        names.iter().find(|&name| !known.insert(name)).cloned()
    };
    let ids = table.ids.as_deref().unwrap_or_default();
    if let Some(name) = twice(ids).or_else(|| twice(&table.columns)) {
        return Err(ArrayError::Twice {
            path: path.to_owned(),
            name,
        });
    }
    for row in 0..table.values.rows() {
        let numbers = table.values.row(row);
        if let Some(column) = numbers.iter().position(|x| !x.is_finite()) {
            return Err(ArrayError::NotFinite {
                path: path.to_owned(),
                id: table.id(row),
                column: table.columns[column].clone(),
                got: numbers[column],
            });
        }
    }
    Ok(())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<FeatureTable, String> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("features.csv");
        std::fs::write(&path, text).unwrap();
        read_features(&path, None).map_err(|error| error.to_string())
    }

    #[test]
    fn tables_have_ids_and_headings() {
        let table = read("item,length,year\njaws,124,1975\nup,96,2009\n").unwrap();
        assert_eq!(table.columns, ["length", "year"]);
        assert_eq!(table.id(1), "up");
        assert_eq!(table.values.row(0), [124.0, 1975.0]);
        let bare = read("jaws,124,1975\nup,96,2009\n").unwrap();
        assert_eq!((bare.columns, bare.values), (numbered(2), table.values));
    }

    #[test]
    fn what_is_no_feature_is_named() {
        for (text, part) in [
            ("item,x\njaws,1\nup,tall\n", ":3: \"tall\" is not a number"),
            ("item,x\njaws,1\nup,nan\n", "\"up\", column \"x\": NaN"),
            ("item,x\njaws,1\njaws,2\n", "\"jaws\" occurs twice"),
            ("item,x,x\njaws,1,2\n", "\"x\" occurs twice"),
        ] {
            let error = read(text).unwrap_err();
            assert!(error.contains(part), "{text}: {error}");
        }
        let folder = tempfile::tempdir().unwrap();
        let ids = folder.path().join("ids.txt");
        let array = folder.path().join("x.npy");
        std::fs::write(&ids, "jaws\n").unwrap();
        let mut bytes = Vec::new();
        bytes.extend_from_slice(b"\x93NUMPY\x01\x00\x46\x00");
        let header = "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 1), }";
        bytes.extend_from_slice(format!("{header:<69}\n").as_bytes());
        bytes.extend([1.0_f32, 2.0].iter().flat_map(|x| x.to_le_bytes()));
        std::fs::write(&array, bytes).unwrap();
        assert_eq!(read_features(&array, None).unwrap().id(1), "1");
        let error = read_features(&array, Some(&ids)).unwrap_err().to_string();
        assert!(error.contains("1 ids for 2 rows"), "{error}");
    }
}
