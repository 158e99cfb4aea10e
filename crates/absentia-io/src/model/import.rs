//! Factors trained elsewhere, as a model.

use std::path::{Path, PathBuf};

use absentia::data::{Confidence, FrozenTransform, Storage, Targets};
use absentia::model::{Factors, ModelParts};
use absentia::weights::MissingWeights;
use absentia::{Axis, Model, Params, Solver};

use super::error::ModelFileError;
use super::id_list;
use super::ids::{Ids, check_count};
use super::npz::Npz;
use crate::error::Error;
use crate::ids::IdMap;
use crate::npy::{self, Array};

/// What goes with imported factors.
#[derive(Clone, Debug)]
pub struct ImportOptions {
    /// A list of user ids, one a line, as [`export`](super::export) writes them; row numbers when not given.
    pub users: Option<PathBuf>,
    /// A list of item ids; row numbers when not given.
    pub items: Option<PathBuf>,
    /// An array of one number an item that item factors are multiplied by, such as the
    /// `item_scale.npy` of an export; for `.npy` arrays only.
    pub item_scale: Option<PathBuf>,
    /// Interactions of each user in the training data; zeros when not given.
    pub user_counts: Option<Vec<u32>>,
    /// Interactions of each item in the training data; zeros when not given.
    pub item_counts: Option<Vec<u32>>,
    /// The weight of missing entries the factors were trained with.
    pub weight: f32,
    /// The penalty the factors were trained with; that of the file or the default when not given.
    pub regularization: Option<f32>,
}

impl Default for ImportOptions {
    fn default() -> Self {
        Self {
            users: None,
            items: None,
            item_scale: None,
            user_counts: None,
            item_counts: None,
            weight: 1.0,
            regularization: None,
        }
    }
}

/// Reads the `.npz` that a matrix-factorisation model of the Python package `implicit` saves.
///
/// `alpha`, `regularization`, `iterations`, `factors` and the solver are taken over. Implicit
/// weighs missing entries 1 and an observed one α times its value with a target of 1: here, a
/// constant confidence α, which is the same for binary data; for counts, fold in with weights α x.
/// Nothing is unpickled.
///
/// # Errors
/// The file cannot be read, is damaged or has no factors, or ids and counts do not fit them.
pub fn import_implicit(path: &Path, options: ImportOptions) -> Result<(Model, Ids), Error> {
    let mut npz = Npz::open(path)?;
    let users = npz_factors(&mut npz, "user_factors", Axis::User)?;
    let items = npz_factors(&mut npz, "item_factors", Axis::Item)?;
    let params = implicit_params(&mut npz, users.cols())?;
    assemble(path, users, items, params, options)
}

/// Reads a pair of `.npy` arrays: P with a row per user and Q with a row per item.
///
/// # Errors
/// A file cannot be read, is damaged or not a table of numbers, or shapes, ids and counts do not fit.
pub fn import_npy(
    users: &Path,
    items: &Path,
    options: ImportOptions,
) -> Result<(Model, Ids), Error> {
    let p = factors(npy::read_file(users)?, users, "P", Axis::User)?;
    let mut q = factors(npy::read_file(items)?, items, "Q", Axis::Item)?;
    if let Some(path) = &options.item_scale {
        q = scaled(&q, path)?;
    }
    let params = Params::new().factors(p.cols());
    assemble(items, p, q, params, options)
}

/// Item factors multiplied by the numbers of a file, one an item.
fn scaled(q: &Factors, path: &Path) -> Result<Factors, Error> {
    let array = npy::read_file(path)?;
    let rows = match &array.shape[..] {
        &[rows] => Some(rows),
        _ => None,
    };
    let scale = array.data.into_f32().filter(|_| rows == Some(q.rows()));
    let values = scale.map(|scale| {
        let rows = scale.iter().enumerate();
        rows.flat_map(|(item, by)| q.row(item).iter().map(move |x| x * by))
            .collect::<Vec<f32>>()
    });
    let factors = values.and_then(|v| Factors::new(q.rows(), q.cols(), Storage::shared(v)));
    factors.ok_or_else(|| {
        let detail = format!("expected one number for each of {} items", q.rows());
        Error::corrupt(path, "item scale", detail)
    })
}

fn npz_factors(npz: &mut Npz, name: &str, axis: Axis) -> Result<Factors, Error> {
    let array = npz.array(name)?.ok_or_else(|| {
        let detail = format!("no array {name:?}; was it saved by a model of implicit?");
        Error::corrupt(&npz.path, "implicit model", detail)
    })?;
    factors(array, &npz.path, name, axis)
}

fn factors(array: Array, path: &Path, name: &str, axis: Axis) -> Result<Factors, Error> {
    let shape = array.shape;
    let taken = match (&shape[..], array.data.into_f32()) {
        (&[rows, cols], Some(values)) if u32::try_from(rows).is_ok() && cols > 0 => {
            Factors::new(rows, cols, Storage::shared(values))
        }
        _ => None,
    };
    taken.ok_or_else(|| {
        ModelFileError::NotFactors {
            path: path.to_owned(),
            array: name.to_owned(),
            axis,
        }
        .into()
    })
}

fn implicit_params(npz: &mut Npz, factors: usize) -> Result<Params, Error> {
    // Its penalty is the same for every row.
    let mut params = Params::new().factors(factors).reg_exponent(0.0);
    let alpha = npz.number("alpha")?.unwrap_or(1.0);
    params.confidence = Confidence::Constant {
        weight: alpha as f32,
    };
    if let Some(regularization) = npz.number("regularization")? {
        params.regularization = regularization as f32;
    }
    if let Some(iterations) = npz.number("iterations")? {
        params.iterations = iterations as usize;
    }
    let steps = npz.number("cg_steps")?.unwrap_or(3.0) as usize;
    params.solver = match npz.number("use_cg")? {
        Some(0.0) => Solver::Als.into(),
        _ => Solver::AlsCg { steps }.into(),
    };
    Ok(params)
}

fn assemble(
    path: &Path,
    user_factors: Factors,
    item_factors: Factors,
    mut params: Params,
    options: ImportOptions,
) -> Result<(Model, Ids), Error> {
    let (m, n) = (user_factors.rows(), item_factors.rows());
    if let Some(regularization) = options.regularization {
        params.regularization = regularization;
    }
    let ids = Ids {
        related: Vec::new(),
        users: ids(options.users.as_deref(), Axis::User, m)?,
        items: ids(options.items.as_deref(), Axis::Item, n)?,
    };
    let parts = ModelParts {
        related: None,
        user_factors,
        item_factors,
        weights: uniform(m, n, options.weight, path)?,
        transform: FrozenTransform {
            targets: Targets::Binary,
            confidence: params.confidence,
            scale: 1.0,
            now: 0,
        },
        user_counts: options.user_counts.unwrap_or_else(|| vec![0; m]),
        item_counts: options.item_counts.unwrap_or_else(|| vec![0; n]),
        recent_counts: None,
        params,
        history: Vec::new(),
        neighbours: None,
    };
    let model = Model::from_parts(parts).map_err(|source| ModelFileError::Parts {
        path: path.to_owned(),
        source,
    })?;
    Ok((model, ids))
}

fn ids(list: Option<&Path>, axis: Axis, rows: usize) -> Result<IdMap, Error> {
    let Some(path) = list else {
        return Ok(IdMap::dense(rows as u32));
    };
    let ids = id_list::read(path)?;
    check_count(axis, rows, &ids, path)?;
    Ok(ids)
}

fn uniform(m: usize, n: usize, weight: f32, path: &Path) -> Result<MissingWeights, Error> {
    MissingWeights::uniform(m, n, weight).map_err(|source| {
        ModelFileError::Weights {
            path: path.to_owned(),
            source,
        }
        .into()
    })
}
