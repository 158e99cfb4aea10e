//! Tables of weights for groups of users and items.

use std::borrow::Cow;
use std::collections::HashMap;
use std::path::Path;

use absentia::linalg::Dense;
use absentia_io::{ColumnRef, Columns, NoProgress, ReadOptions, read};
use anyhow::Result;

use super::arrays::{array, cells, is_array};
use crate::failure::Refusal;

/// Columns 1 and 2, and where a value is wanted column 3.
pub(super) fn first_columns(value: bool) -> ReadOptions {
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

/// Names in their order, and their numbers.
pub(super) struct Names {
    numbers: HashMap<String, u32>,
}

impl Names {
    fn new(names: impl IntoIterator<Item = String>) -> Self {
        let mut numbers = HashMap::new();
        for name in names {
            let next = numbers.len() as u32;
            numbers.entry(name).or_insert(next);
        }
        Self { numbers }
    }

    pub(super) fn number(&self, path: &Path, name: &str) -> Result<u32> {
        if let Some(&number) = self.numbers.get(name) {
            return Ok(number);
        }
        let mut known: Vec<&str> = self.numbers.keys().map(String::as_str).collect();
        known.sort_unstable();
        known.truncate(10);
        let refusal = Refusal::data(format!(
            "{}: group {name:?} is not in the table of weights",
            path.display()
        ));
        Err(refusal
            .hint(format!("the table has {}", known.join(", ")))
            .into())
    }
}

/// A weight for each pair of segment and category.
pub(super) struct GroupTable {
    pub(super) segments: Names,
    pub(super) categories: Names,
    pub(super) weights: Dense,
}

impl GroupTable {
    pub(super) fn read(path: &Path) -> Result<Self> {
        if is_array(path) {
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
            return Err(absentia_io::Error::Empty {
                path: path.to_owned(),
            }
            .into());
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
            segments: Names::new((0..weights.rows()).map(|row| row.to_string())),
            categories: Names::new((0..weights.cols()).map(|col| col.to_string())),
            weights,
        }
    }

    fn unlabelled(path: &Path, lines: &[Vec<String>]) -> Result<Self> {
        let cols = lines[0].len();
        let mut weights = Dense::zeros(lines.len(), cols);
        for (row, line) in lines.iter().enumerate() {
            for (col, cell) in line.iter().enumerate() {
                weights.row_mut(row)[col] = weight(path, row + 1, cell)?;
            }
        }
        Ok(Self::bare(weights))
    }

    /// Categories in the first line, segments in the first column.
    fn wide(path: &Path, lines: &[Vec<String>]) -> Result<Self> {
        let categories = lines[0][1..].to_vec();
        let mut weights = Dense::zeros(lines.len() - 1, categories.len());
        for (row, line) in lines[1..].iter().enumerate() {
            for (col, cell) in line[1..].iter().enumerate() {
                weights.row_mut(row)[col] = weight(path, row + 2, cell)?;
            }
        }
        Ok(Self {
            segments: Names::new(lines[1..].iter().map(|line| line[0].clone())),
            categories: Names::new(categories),
            weights,
        })
    }

    /// One line for each pair: segment, category, weight.
    fn long(path: &Path) -> Result<Self> {
        let table = read(&[path.to_owned()], &first_columns(true), &NoProgress)?;
        let mut weights = Dense::from_fn(table.users.len(), table.items.len(), |_, _| f32::NAN);
        for (at, (&segment, &category)) in table.user.iter().zip(&table.item).enumerate() {
            let weight = table.value.as_ref().map_or(f32::NAN, |value| value[at]);
            weights.row_mut(segment as usize)[category as usize] = weight;
        }
        for segment in 0..weights.rows() {
            if let Some(category) = weights.row(segment).iter().position(|w| w.is_nan()) {
                let refusal = Refusal::data(format!(
                    "{}: no weight for segment {:?} and category {:?}",
                    path.display(),
                    table.users.name(segment as u32).unwrap_or_default(),
                    table.items.name(category as u32).unwrap_or_default()
                ));
                return Err(refusal.hint("give every pair a line; 0 is a weight").into());
            }
        }
        Ok(Self {
            segments: Names::new(table.users.iter().map(Cow::into_owned)),
            categories: Names::new(table.items.iter().map(Cow::into_owned)),
            weights,
        })
    }
}

fn weight(path: &Path, line: usize, cell: &str) -> Result<f32> {
    let wrong = || {
        Refusal::data(format!(
            "{}:{line}: {cell:?} is not a weight",
            path.display()
        ))
    };
    Ok(cell.parse().map_err(|_| wrong())?)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(name: &str, text: &str) -> Result<GroupTable> {
        let folder = tempfile::tempdir()?;
        let path = folder.path().join(name);
        std::fs::write(&path, text)?;
        GroupTable::read(&path)
    }

    #[test]
    fn wide_long_and_bare_tables_say_the_same() -> Result<()> {
        let wide = table("t.csv", "segment,new,old\nkids,1,0\nall,0.5,0.25\n")?;
        let long = "segment,category,weight\nkids,new,1\nkids,old,0\nall,new,0.5\nall,old,0.25\n";
        let long = table("t.csv", long)?;
        let bare = table("t.csv", "1,0\n0.5,0.25\n")?;
        assert_eq!(wide.weights, long.weights);
        assert_eq!(wide.weights, bare.weights);
        assert_eq!(wide.categories.number(Path::new("x"), "old")?, 1);
        assert_eq!(bare.segments.number(Path::new("x"), "1")?, 1);
        Ok(())
    }

    #[test]
    fn holes_and_strange_groups_are_named() {
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
