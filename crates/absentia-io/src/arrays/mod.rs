//! Arrays and tables named by path: the files of weight schemes and of starting factors.
//!
//! | file | how its rows are matched |
//! | --- | --- |
//! | `.npy` | by position: ids must be row numbers ([`IdMap::dense`]) |
//! | CSV, TSV or Parquet with an id in the first column | by id |
//!
//! A table of weights for groups has a row for each segment and a column for each category, or one line
//! for each pair: segment, category, weight. A file of release dates has an id and a date, a year or a unix time
//! in each line; items may be left out.

mod dates;
mod error;
mod features;
mod groups;
mod numbers;

use std::path::Path;

use absentia::Axis;
use absentia::Dense;
use absentia::weights::{ArrayLoader, GroupPaths, Groups};

use crate::error::Error;
use crate::ids::IdMap;
pub use dates::date_in_seconds;
pub use error::ArrayError;
pub use features::{FeatureOptions, FeatureTable, read_features};
use groups::{GroupNames, GroupTable, group_lines};
use numbers::{array, is_npy, rows_by_id, whole_numbers};

/// Reads arrays and tables for the users and items of a data set.
///
/// ```
/// use absentia::weights::SchemeSpec;
/// use absentia_io::IdMap;
/// use absentia_io::arrays::Arrays;
///
/// let folder = tempfile::tempdir()?;
/// let (a, b) = (folder.path().join("a.csv"), folder.path().join("b.csv"));
/// std::fs::write(&a, "user,w\nbob,2\nann,1\n")?;
/// std::fs::write(&b, "item,w\njaws,0.5\n")?;
/// let (users, items) = (["ann", "bob"].iter().collect::<IdMap>(), ["jaws"].iter().collect());
/// let spec: SchemeSpec = format!("lowrank:{},{}", a.display(), b.display()).parse()?;
/// let scheme = spec.load(&Arrays { users: &users, items: &items })?;
/// assert_eq!(scheme.terms().len(), 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Arrays<'d> {
    /// Ids of the users.
    pub users: &'d IdMap,
    /// Ids of the items.
    pub items: &'d IdMap,
}

impl ArrayLoader for Arrays<'_> {
    type Error = Error;

    fn rows(&self, path: &Path, axis: Axis) -> Result<Dense, Error> {
        if is_npy(path) {
            self.check_row_numbers(path)?;
            return array(path);
        }
        rows_by_id(path, axis, self.ids(axis))
    }

    fn full(&self, path: &Path) -> Result<Dense, Error> {
        self.check_row_numbers(path)?;
        array(path)
    }

    fn groups(&self, paths: &GroupPaths) -> Result<Groups, Error> {
        let table = GroupTable::read(&paths.table)?;
        Ok(Groups {
            user_segment: self.group_of_each(&paths.users, Axis::User, &table.segments)?,
            item_category: self.group_of_each(&paths.items, Axis::Item, &table.categories)?,
            table: table.weights,
        })
    }

    fn dates(&self, path: &Path) -> Result<Vec<Option<i64>>, Error> {
        if is_npy(path) {
            self.check_row_numbers(path)?;
        }
        dates::dates(path, self.items)
    }
}

impl Arrays<'_> {
    fn ids(&self, axis: Axis) -> &IdMap {
        match axis {
            Axis::User => self.users,
            Axis::Item => self.items,
        }
    }

    fn check_row_numbers(&self, path: &Path) -> Result<(), Error> {
        if self.users.is_dense() && self.items.is_dense() {
            return Ok(());
        }
        Err(ArrayError::NotRowNumbers {
            path: path.to_owned(),
        }
        .into())
    }

    /// The number of the group of each user or item, from a file of id and group.
    fn group_of_each(
        &self,
        path: &Path,
        axis: Axis,
        groups: &GroupNames,
    ) -> Result<Vec<u32>, Error> {
        let ids = self.ids(axis);
        let mut group_of = vec![None; ids.len()];
        if is_npy(path) {
            self.check_row_numbers(path)?;
            for (slot, number) in group_of.iter_mut().zip(whole_numbers(path)?) {
                *slot = Some(groups.number(path, &number.to_string())?);
            }
        } else {
            for (id, group) in group_lines(path)? {
                if let Some(row) = ids.get(&id) {
                    group_of[row as usize] = Some(groups.number(path, &group)?);
                }
            }
        }
        let lacking = |row: usize| ArrayError::NoGroup {
            path: path.to_owned(),
            axis,
            id: ids.name(row as u32).unwrap_or_default().into_owned(),
        };
        let rows = group_of.into_iter().enumerate();
        let groups: Result<Vec<u32>, ArrayError> = rows
            .map(|(row, group)| group.ok_or_else(|| lacking(row)))
            .collect();
        Ok(groups?)
    }
}
