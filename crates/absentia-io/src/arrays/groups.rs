//! Tables of weights for groups of users and items.

use std::borrow::Cow;
use std::collections::HashMap;
use std::path::Path;

use absentia::Dense;

use super::error::ArrayError;
use super::numbers::{array, cells, is_npy, number};
use crate::column::{ColumnRef, Columns};
use crate::error::Error;
use crate::read::{NoProgress, ReadOptions, read};

/// Columns 1 and 2, and optionally 3 for a value.
fn first_columns(value: bool) -> ReadOptions {
    let rating = if value {
        ColumnRef::Position(3)
    } else {
        ColumnRef::Absent
    };
    ReadOptions {
        columns: Columns {
            user: Some(ColumnRef::Position(1)),
            item: Some(ColumnRef::Position(2)),
            rating: Some(rating),
            time: Some(ColumnRef::Absent),
            weight: Some(ColumnRef::Absent),
        },
        ..ReadOptions::default()
    }
}

/// Yields the id and the group of each line.
pub(super) fn group_lines(path: &Path) -> Result<Vec<(String, String)>, Error> {
    let pairs = read(&[path.to_owned()], &first_columns(false), &NoProgress)?;
    let lines = pairs.user.iter().zip(&pairs.item).map(|(&id, &group)| {
        let id = pairs.users.name(id).unwrap_or_default().into_owned();
        let group = pairs.items.name(group).unwrap_or_default().into_owned();
        (id, group)
    });
    Ok(lines.collect())
}

/// Names of groups with their numbers, in the order of the table.
pub(super) struct GroupNames {
    numbers: HashMap<String, u32>,
}

impl GroupNames {
    fn new(names: impl IntoIterator<Item = String>) -> Self {
        let mut numbers = HashMap::new();
        for name in names {
            let next = numbers.len() as u32;
            numbers.entry(name).or_insert(next);
        }
        Self { numbers }
    }

    pub(super) fn number(&self, path: &Path, name: &str) -> Result<u32, ArrayError> {
        if let Some(&number) = self.numbers.get(name) {
            return Ok(number);
        }
        let mut known: Vec<String> = self.numbers.keys().cloned().collect();
        known.sort_unstable();
        known.truncate(10);
        Err(ArrayError::Group {
            path: path.to_owned(),
            group: name.to_owned(),
            known,
        })
    }
}

/// A weight for each pair of segment and category.
pub(super) struct GroupTable {
    pub(super) segments: GroupNames,
    pub(super) categories: GroupNames,
    pub(super) weights: Dense,
}

impl GroupTable {
    pub(super) fn read(path: &Path) -> Result<Self, Error> {
        if is_npy(path) {
            return Ok(Self::bare(array(path)?));
        }
        let is_text = path
            .extension()
            .is_none_or(|extension| extension == "csv" || extension == "tsv" || extension == "txt");
        if !is_text {
            return Self::long(path);
        }
        let lines = cells(path)?;
        let Some(first) = lines.first() else {
            return Err(Error::Empty {
                path: path.to_owned(),
            });
        };
        if first[0].parse::<f32>().is_ok() {
            return Self::unlabelled(path, &lines);
        }
        let third = first.get(2).map(|heading| heading.to_lowercase());
        let names_a_weight = matches!(third.as_deref(), Some("weight" | "value" | "w"));
        if first.len() == 3 && names_a_weight {
            return Self::long(path);
        }
        Self::wide(path, &lines)
    }

    /// Rows and columns named by their numbers.
    fn bare(weights: Dense) -> Self {
        Self {
            segments: GroupNames::new((0..weights.rows()).map(|row| row.to_string())),
            categories: GroupNames::new((0..weights.cols()).map(|col| col.to_string())),
            weights,
        }
    }

    fn unlabelled(path: &Path, lines: &[Vec<String>]) -> Result<Self, Error> {
        let cols = lines[0].len();
        let mut weights = Dense::zeros(lines.len(), cols);
        for (row, line) in lines.iter().enumerate() {
            for (col, cell) in line.iter().enumerate() {
                weights.row_mut(row)[col] = number(path, row + 1, cell)?;
            }
        }
        Ok(Self::bare(weights))
    }

    /// Categories in the first line, segments in the first column.
    fn wide(path: &Path, lines: &[Vec<String>]) -> Result<Self, Error> {
        let categories = lines[0][1..].to_vec();
        let mut weights = Dense::zeros(lines.len() - 1, categories.len());
        for (row, line) in lines[1..].iter().enumerate() {
            for (col, cell) in line[1..].iter().enumerate() {
                weights.row_mut(row)[col] = number(path, row + 2, cell)?;
            }
        }
        Ok(Self {
            segments: GroupNames::new(lines[1..].iter().map(|line| line[0].clone())),
            categories: GroupNames::new(categories),
            weights,
        })
    }

    /// One line for each pair: segment, category, weight.
    fn long(path: &Path) -> Result<Self, Error> {
        let table = read(&[path.to_owned()], &first_columns(true), &NoProgress)?;
        let mut weights = Dense::from_fn(table.users.len(), table.items.len(), |_, _| f32::NAN);
        for (at, (&segment, &category)) in table.user.iter().zip(&table.item).enumerate() {
            let weight = table.value.as_ref().map_or(f32::NAN, |value| value[at]);
            weights.row_mut(segment as usize)[category as usize] = weight;
        }
        for segment in 0..weights.rows() {
            if let Some(category) = weights.row(segment).iter().position(|w| w.is_nan()) {
                let (segments, categories) = (&table.users, &table.items);
                return Err(ArrayError::PairWithoutWeight {
                    path: path.to_owned(),
                    segment: segments
                        .name(segment as u32)
                        .unwrap_or_default()
                        .into_owned(),
                    category: categories
                        .name(category as u32)
                        .unwrap_or_default()
                        .into_owned(),
                }
                .into());
            }
        }
        Ok(Self {
            segments: GroupNames::new(table.users.iter().map(Cow::into_owned)),
            categories: GroupNames::new(table.items.iter().map(Cow::into_owned)),
            weights,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(name: &str, text: &str) -> Result<GroupTable, Box<dyn std::error::Error>> {
        let folder = tempfile::tempdir()?;
        let path = folder.path().join(name);
        std::fs::write(&path, text)?;
        Ok(GroupTable::read(&path)?)
    }

    #[test]
    fn wide_long_and_bare_tables_are_equal() -> Result<(), Box<dyn std::error::Error>> {
        let wide = table("t.csv", "segment,new,old\nkids,1,0\nall,0.5,0.25\n")?;
        let long = "segment,category,weight\nkids,new,1\nkids,old,0\nall,new,0.5\nall,old,0.25\n";
        let long = table("t.csv", long)?;
        let bare = table("t.csv", "1,0\n0.5,0.25\n")?;
        let weights = |table: &GroupTable, segments: [&str; 2], categories: [&str; 2]| {
            let mut weights = Vec::new();
            for segment in segments {
                for category in categories {
                    let row = table.segments.number(Path::new("x"), segment)?;
                    let col = table.categories.number(Path::new("x"), category)?;
                    weights.push(table.weights.row(row as usize)[col as usize]);
                }
            }
            Ok::<_, Box<dyn std::error::Error>>(weights)
        };
        let (segments, categories) = (["kids", "all"], ["new", "old"]);
        let expected = vec![1.0, 0.0, 0.5, 0.25];
        assert_eq!(weights(&wide, segments, categories)?, expected);
        assert_eq!(weights(&long, segments, categories)?, expected);
        assert_eq!(weights(&bare, ["0", "1"], ["0", "1"])?, expected);
        assert_eq!(wide.categories.number(Path::new("x"), "old")?, 1);
        assert_eq!(bare.segments.number(Path::new("x"), "1")?, 1);
        Ok(())
    }

    #[test]
    fn missing_weights_and_cells_that_are_no_numbers_are_named() {
        let holes = table("t.csv", "segment,category,weight\na,x,1\nb,y,1\n");
        let text = holes
            .err()
            .map(|error| error.to_string())
            .unwrap_or_default();
        assert!(text.contains("no weight for segment \"a\""), "{text}");
        let text = table("t.csv", "s,x\na,much\n").err();
        assert!(text.is_some_and(|error| error.to_string().contains(":2: \"much\"")));
    }
}
