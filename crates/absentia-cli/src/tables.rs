//! Weights and starts that arguments name by path.

use std::path::Path;

use absentia::Dense;
use absentia::error::Axis;
use absentia::fit::Init;
use absentia::model::Factors;
use absentia::weights::{ArrayLoader as _, Scheme, SchemeSpec};
use absentia_io::IdMap;
use absentia_io::arrays::{ArrayError, Arrays};
use anyhow::Result;

use crate::failure::Refusal;
use crate::store;

/// The files of a data set with these ids.
pub(crate) struct Tables<'d> {
    pub(crate) users: &'d IdMap,
    pub(crate) items: &'d IdMap,
}

impl Tables<'_> {
    /// Yields the scheme of a text, with its files read.
    pub(crate) fn scheme(&self, spec: &SchemeSpec) -> Result<Scheme> {
        spec.load(&self.arrays()).map_err(with_flag)
    }

    /// Yields the start that `--init` names: two arrays, or a model whose rows are found by id.
    pub(crate) fn init(&self, paths: &[String], factors: usize) -> Result<Init> {
        match paths {
            [] => Ok(Init::Gaussian),
            [model] => self.init_from_model(Path::new(model), factors),
            [p, q] => Ok(Init::Given {
                users: self.rows(Path::new(p), Axis::User)?,
                items: self.rows(Path::new(q), Axis::Item)?,
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

    fn rows(&self, path: &Path, axis: Axis) -> Result<Factors> {
        let rows = self.arrays().rows(path, axis).map_err(with_flag)?;
        Ok(rows.into())
    }

    fn arrays(&self) -> Arrays<'_> {
        let (users, items) = (self.users, self.items);
        Arrays { users, items }
    }
}

/// Adds the flag that helps.
fn with_flag(error: absentia_io::Error) -> anyhow::Error {
    let absentia_io::Error::Array(ArrayError::NotRowNumbers { path }) = &error else {
        return error.into();
    };
    let refusal = Refusal::usage(format!(
        "{} is an array by position, but ids are not row numbers",
        path.display()
    ));
    let hint = "pass --dense-ids if they are, or give a CSV table with an id in its first column";
    refusal.hint(hint).into()
}
