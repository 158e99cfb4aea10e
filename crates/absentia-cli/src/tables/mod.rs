//! Arrays and tables that weights and starts are given by, from files.
//!
//! An array in a `.npy` file goes by position and needs ids that are row numbers. A table with an id
//! in its first column goes by id.

mod arrays;
mod groups;

use std::path::Path;

use absentia::error::Axis;
use absentia::fit::Init;
use absentia::linalg::Dense;
use absentia::model::Factors;
use absentia::weights::{ArrayLoader, GroupPaths, Groups, Scheme, SchemeSpec};
use absentia_io::{IdMap, NoProgress, npy, read};
use anyhow::{Context as _, Result};

use crate::failure::Refusal;
use crate::store;
use arrays::{array, is_array, keyed};
use groups::{GroupTable, Names, first_columns};

/// Files as seen from a data set.
pub(crate) struct Tables<'d> {
    pub(crate) users: &'d IdMap,
    pub(crate) items: &'d IdMap,
}

impl ArrayLoader for Tables<'_> {
    type Error = anyhow::Error;

    /// One row of numbers for each user or item.
    fn rows(&self, path: &Path, axis: Axis) -> Result<Dense> {
        if is_array(path) {
            self.need_dense_ids(path)?;
            return array(path);
        }
        keyed(path, axis, self.ids(axis))
    }

    fn full(&self, path: &Path) -> Result<Dense> {
        self.need_dense_ids(path)?;
        array(path)
    }

    fn groups(&self, paths: &GroupPaths) -> Result<Groups> {
        let table = GroupTable::read(&paths.table)?;
        Ok(Groups {
            user_segment: self.group_of_each(&paths.users, Axis::User, &table.segments)?,
            item_category: self.group_of_each(&paths.items, Axis::Item, &table.categories)?,
            table: table.weights,
        })
    }
}

impl Tables<'_> {
    /// Yields the scheme of a text, with its files read.
    pub(crate) fn scheme(&self, spec: &SchemeSpec) -> Result<Scheme> {
        spec.load(self)
    }

    /// Yields the start that `--init` names: two arrays, or a model whose rows are found by id.
    pub(crate) fn init(&self, paths: &[String], factors: usize) -> Result<Init> {
        match paths {
            [] => Ok(Init::Gaussian),
            [model] => self.init_from_model(Path::new(model), factors),
            [p, q] => Ok(Init::Given {
                users: self.rows(Path::new(p), Axis::User)?.into(),
                items: self.rows(Path::new(q), Axis::Item)?.into(),
            }),
            _ => Err(Refusal::usage("--init takes P.npy,Q.npy or one model").into()),
        }
    }

    fn init_from_model(&self, path: &Path, factors: usize) -> Result<Init> {
        let stored = store::load(path)?;
        let k = stored.model.n_factors();
        if k != factors {
            let refusal = Refusal::usage(format!("{} has {k} factors", path.display()));
            return Err(refusal.hint(format!("pass --factors {k}")).into());
        }
        // Rows that are new start at zero: the first sweep solves them against the known side.
        let moved = |ids: &IdMap, known: &IdMap, factors: &Factors| {
            let mut rows = Dense::zeros(ids.len(), k);
            for (row, id) in ids.iter().enumerate() {
                if let Some(from) = known.get(&id) {
                    rows.row_mut(row)
                        .copy_from_slice(factors.row(from as usize));
                }
            }
            Factors::from(rows)
        };
        Ok(Init::Given {
            users: moved(self.users, &stored.users, stored.model.user_factors()),
            items: moved(self.items, &stored.items, stored.model.item_factors()),
        })
    }

    fn ids(&self, axis: Axis) -> &IdMap {
        match axis {
            Axis::User => self.users,
            Axis::Item => self.items,
        }
    }

    fn need_dense_ids(&self, path: &Path) -> Result<()> {
        if self.users.is_dense() && self.items.is_dense() {
            return Ok(());
        }
        let refusal = Refusal::usage(format!(
            "{} is an array by position, but ids are not row numbers",
            path.display()
        ));
        let hint =
            "pass --dense-ids if they are, or give a CSV table with an id in its first column";
        Err(refusal.hint(hint).into())
    }

    /// The number of each user's or item's group, from a file of id and group.
    fn group_of_each(&self, path: &Path, axis: Axis, groups: &Names) -> Result<Vec<u32>> {
        let ids = self.ids(axis);
        let mut group = vec![None; ids.len()];
        if is_array(path) {
            self.need_dense_ids(path)?;
            let numbers = npy::read_file(path)?.data.into_i64();
            let numbers = numbers.with_context(|| format!("{}: not integers", path.display()))?;
            for (slot, number) in group.iter_mut().zip(numbers) {
                *slot = Some(groups.number(path, &number.to_string())?);
            }
        } else {
            let pairs = read(&[path.to_owned()], &first_columns(false), &NoProgress)?;
            for (id, name) in pairs.user.iter().zip(&pairs.item) {
                let id = pairs.users.name(*id).unwrap_or_default();
                if let Some(row) = ids.get(&id) {
                    let name = pairs.items.name(*name).unwrap_or_default();
                    group[row as usize] = Some(groups.number(path, &name)?);
                }
            }
        }
        let lacking = |row: usize| {
            let id = ids.name(row as u32).unwrap_or_default();
            Refusal::data(format!("{}: {axis} {id:?} is in no group", path.display()))
                .hint(format!("give every {axis} of the data a line"))
        };
        let named = group.into_iter().enumerate();
        let groups: Result<Vec<u32>, Refusal> = named
            .map(|(row, group)| group.ok_or_else(|| lacking(row)))
            .collect();
        Ok(groups?)
    }
}
