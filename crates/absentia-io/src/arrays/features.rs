//! Files of features: a row of numbers for each of some ids.

use std::collections::HashSet;
use std::path::Path;

use absentia::Dense;

use super::error::ArrayError;
use super::numbers::{array, cells, is_npy, number};
use crate::error::Error;
use crate::read::{FirstLine, ParquetRows, parquet_rows};
use crate::standard::read_text;

/// Features as they are in a file.
#[derive(Clone, Debug, PartialEq)]
pub struct FeatureTable {
    /// The id of each row; row numbers if there are none.
    pub ids: Option<Vec<String>>,
    /// The name of each column: its heading, or else its number from 0.
    pub columns: Vec<String>,
    /// The numbers.
    pub values: Dense,
    /// The first line of a text, if it was taken for names because a cell of it is no number.
    pub first_line: Option<FirstLine>,
}

impl FeatureTable {
    /// Numbers whose rows and columns have names.
    #[must_use]
    pub fn new(ids: Option<Vec<String>>, columns: Vec<String>, values: Dense) -> Self {
        Self {
            ids,
            columns,
            values,
            first_line: None,
        }
    }

    /// The id of a row.
    #[must_use]
    pub fn id(&self, row: usize) -> String {
        let named = self.ids.as_ref().and_then(|ids| ids.get(row));
        named.cloned().unwrap_or_else(|| row.to_string())
    }
}

/// What is said of a file of features.
#[derive(Clone, Copy, Debug, Default)]
pub struct FeatureOptions<'a> {
    /// The file with the id of each row of an array, one a line; without it, ids are row numbers.
    pub ids: Option<&'a Path>,
    /// Whether the first line of a table of text has the names of its columns, if that is said.
    pub header: Option<bool>,
}

/// Reads features.
///
/// A `.npy` array has a row for each id. CSV, TSV and Parquet tables have the id in their first column and numbers in
/// all others. The first line of a text has names if one of them is no number, or no id stands before them. Where all
/// are numbers, both are possible, and it must be said.
///
/// # Errors
/// A file that cannot be read, cells that are no finite numbers, ids that occur twice or are not as many as rows, a
/// first line that may be names or numbers.
pub fn read_features(path: &Path, options: FeatureOptions<'_>) -> Result<FeatureTable, Error> {
    let is_parquet = path.extension().is_some_and(|name| name == "parquet");
    if options.header.is_some() && (is_npy(path) || is_parquet) {
        let path = path.to_owned();
        return Err(ArrayError::NoHeader { path }.into());
    }
    let table = if is_npy(path) {
        of_array(path, options.ids)?
    } else if let Some(ids) = options.ids {
        return Err(ArrayError::IdsTwice {
            path: path.to_owned(),
            ids: ids.to_owned(),
        }
        .into());
    } else if is_parquet {
        let ParquetRows { names, rows } = parquet_rows(path)?;
        of_rows(path, rows, Some(names))?
    } else {
        of_text(path, options.header)?
    };
    check(path, &table)?;
    Ok(table)
}

fn of_array(path: &Path, ids: Option<&Path>) -> Result<FeatureTable, Error> {
    let values = array(path)?;
    let ids = match ids {
        None => None,
        Some(ids) => {
            let text = read_text(ids)?;
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
    let columns = numbered(values.cols());
    Ok(FeatureTable::new(ids, columns, values))
}

fn of_text(path: &Path, header: Option<bool>) -> Result<FeatureTable, Error> {
    let lines = cells(path)?;
    let first = lines.first().map(Vec::as_slice).unwrap_or_default();
    let headings = match header {
        Some(true) => Some(first),
        Some(false) => None,
        None => found_headings(path, first)?,
    };
    let headings = headings.map(|line| line.get(1..).unwrap_or_default().to_vec());
    let skipped = usize::from(headings.is_some());
    let numbered = lines.iter().enumerate().skip(skipped);
    let rows = numbered.map(|(at, line)| {
        let numbers = line[1..].iter().map(|cell| number(path, at + 1, cell));
        Ok((line[0].clone(), numbers.collect::<Result<_, ArrayError>>()?))
    });
    let rows: Vec<(String, Vec<f32>)> = rows.collect::<Result<_, Error>>()?;
    let is_guessed = header.is_none() && headings.is_some();
    Ok(FeatureTable {
        first_line: is_guessed.then(|| FirstLine {
            path: path.to_owned(),
            line: 1,
            cells: first.to_vec(),
            is_header: true,
            differs: true,
        }),
        ..of_rows(path, rows, headings)?
    })
}

/// The first line, if it has the names of the columns; an error if it could as well be a row of numbers.
fn found_headings<'l>(
    path: &Path,
    first: &'l [String],
) -> Result<Option<&'l [String]>, ArrayError> {
    let Some((id, cells)) = first.split_first() else {
        return Ok(None);
    };
    if id.is_empty() || cells.iter().any(|cell| cell.parse::<f32>().is_err()) {
        return Ok(Some(first));
    }
    Err(ArrayError::Header {
        path: path.to_owned(),
        id: id.clone(),
        cell: cells.first().cloned().unwrap_or_default(),
    })
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
    let columns = headings.unwrap_or_else(|| numbered(expected));
    Ok(FeatureTable::new(Some(ids), columns, values))
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
    for (names, what) in [(ids, "row"), (&table.columns, "column")] {
        if let Some(at) = names.iter().position(String::is_empty) {
            return Err(ArrayError::NoName {
                path: path.to_owned(),
                what,
                at: at + 1,
            });
        }
    }
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
        read_as(text, None)
    }

    fn read_as(text: &str, header: Option<bool>) -> Result<FeatureTable, String> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("features.csv");
        std::fs::write(&path, text).unwrap();
        let options = FeatureOptions { header, ids: None };
        read_features(&path, options).map_err(|error| error.to_string())
    }

    #[test]
    fn tables_have_ids_and_headings() {
        let table = read("item,length,year\njaws,124,1975\nup,96,2009\n").unwrap();
        assert_eq!(table.columns, ["length", "year"]);
        assert_eq!(table.id(1), "up");
        assert_eq!(table.values.row(0), [124.0, 1975.0]);
        let bare = read_as("jaws,124,1975\nup,96,2009\n", Some(false)).unwrap();
        assert_eq!((bare.columns, bare.values), (numbered(2), table.values));
    }

    /// Numbers as names (the columns of an embedding, years) look like a row of numbers, and the other way round.
    #[test]
    fn a_first_line_of_numbers_is_read_as_it_is_said() {
        for text in ["item,0,1\njaws,124,1975\n", "jaws,124,1975\nup,96,2009\n"] {
            let error = read(text).unwrap_err();
            assert!(error.contains("features.csv:1: "), "{error}");
            assert!(
                error.contains("header=yes") && error.contains("header=no"),
                "{error}"
            );
        }
        let table = read_as("item,0,1\njaws,124,1975\n", Some(true)).unwrap();
        assert_eq!(
            (table.columns.as_slice(), table.values.rows()),
            (&numbered(2)[..], 1)
        );
        let table = read_as("item,2001,2002\njaws,1,2\n", Some(true)).unwrap();
        assert_eq!(table.columns, ["2001", "2002"]);
        // What pandas writes for an index without a name: there is no id that could be empty.
        let table = read(",0,1\njaws,124,1975\n").unwrap();
        assert_eq!(
            (table.columns.as_slice(), table.values.rows()),
            (&numbered(2)[..], 1)
        );
        // A first row with an unknown number would pass for names.
        let error = read("jaws,,1975\nup,96,2009\n").unwrap_err();
        assert!(error.contains("column 1 has no name"), "{error}");
        let error = read_as("jaws,1x,1975\nup,96,2009\n", Some(false)).unwrap_err();
        assert!(error.contains(":1: \"1x\" is not a number"), "{error}");
    }

    #[test]
    fn what_is_no_feature_is_named() {
        for (text, part) in [
            ("item,x\njaws,1\nup,tall\n", ":3: \"tall\" is not a number"),
            ("item,x\njaws,1\nup,nan\n", "\"up\", column \"x\": NaN"),
            ("item,x\njaws,1\njaws,2\n", "\"jaws\" occurs twice"),
            ("item,x,x\njaws,1,2\n", "\"x\" occurs twice"),
            ("item,x\njaws,1\n,2\n", "row 2 has no name"),
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
        let read = |ids, header| read_features(&array, FeatureOptions { ids, header });
        assert_eq!(read(None, None).unwrap().id(1), "1");
        let error = read(Some(&*ids), None).unwrap_err().to_string();
        assert!(error.contains("1 ids for 2 rows"), "{error}");
        let error = read(None, Some(true)).unwrap_err().to_string();
        assert!(error.contains("leave out header="), "{error}");
    }
}
