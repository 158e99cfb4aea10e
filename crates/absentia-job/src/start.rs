//! The factors that a run starts from.

use std::path::Path;

use absentia::Dense;
use absentia::error::Axis;
use absentia::fit::Init;
use absentia::model::Factors;
use absentia::weights::{ArrayLoader as _, Scheme, SchemeSpec};
use absentia_io::IdMap;
use absentia_io::arrays::Arrays;
use absentia_io::model::{Ids, load_model};

use crate::error::JobError;

/// The start that files name: two arrays, or a model whose rows are found by id; a random one if there
/// are none.
///
/// # Errors
/// Files that cannot be read, or of another number of factors.
pub(crate) fn start(files: &[&str], ids: &Ids, factors: usize) -> Result<Init, JobError> {
    match files {
        [] => Ok(Init::Gaussian),
        [model] => start_from_model(Path::new(model), ids, factors),
        [users, items] => {
            let rows = |path: &str, axis| arrays(ids).rows(Path::new(path), axis);
            Ok(Init::Given {
                users: rows(users, Axis::User)?.into(),
                items: rows(items, Axis::Item)?.into(),
            })
        }
        files => Err(JobError::SeveralStarts { count: files.len() }),
    }
}

/// Reads the files of a weight scheme.
///
/// # Errors
/// Files that cannot be read.
pub(crate) fn scheme(weights: &SchemeSpec, ids: &Ids) -> Result<Scheme, JobError> {
    Ok(weights.load(&arrays(ids))?)
}

fn arrays(ids: &Ids) -> Arrays<'_> {
    Arrays {
        users: &ids.users,
        items: &ids.items,
    }
}

fn start_from_model(path: &Path, ids: &Ids, factors: usize) -> Result<Init, JobError> {
    let stored = load_model(path)?;
    let k = stored.model.n_factors();
    if k != factors {
        return Err(JobError::StartFactors {
            path: path.to_owned(),
            factors: k,
        });
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
    let model = &stored.model;
    Ok(Init::Given {
        users: moved(&ids.users, &stored.ids.users, model.user_factors()),
        items: moved(&ids.items, &stored.ids.items, model.item_factors()),
    })
}
