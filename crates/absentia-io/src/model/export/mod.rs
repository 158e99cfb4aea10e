//! Factors for other programs: arrays, tables, and the vector files of nearest-neighbour libraries.

mod faiss;
mod onnx;
mod table;
mod vectors;

use std::path::{Path, PathBuf};

use absentia::{Axis, Model};

use super::id_list;
use super::ids::Ids;
use crate::error::Error;
use crate::file_set::FileSet;
use crate::npy;
use vectors::Vectors;

/// The files an export consists of.
///
/// | layout | files | loaded by |
/// | --- | --- | --- |
/// | `Npy` | `P.npy`, `Q.npy`, f32 in C order; `item_scale.npy` where there is a post-scaling that was not applied | `np.load` |
/// | `Parquet` | `users.parquet`, `items.parquet`: columns `id`, `factors` (fixed-size list of f32), `scale` likewise | pandas, polars, Arrow |
/// | `Faiss` | `items.index`, an index of inner products; `users.fvecs`, `items.fvecs`: each vector after its length as i32 | `faiss.read_index`; `faiss.contrib.vecs_io.fvecs_read` |
/// | `Onnx` | `scorer.onnx`: from rows of users to scores and the best items | ONNX runtimes; inputs `user` and `k`, outputs `scores`, `items` and `top_scores` |
/// | `Usearch` | `users.fbin`, `items.fbin`: rows and columns as u32, then all vectors | `usearch.io.load_matrix`, then `index.add` |
/// | `Hnswlib` | `users.f32`, `items.f32`: all vectors, nothing else | `np.fromfile(f, np.float32).reshape(-1, K)`, then `index.add_items`; hnswlib has no vector file of its own |
///
/// All but `Parquet` come with `users.txt` and `items.txt`: the id of row r on line r + 1, with
/// `\\`, `\n` and `\r` for a backslash and line ends inside an id. Scores are inner products:
/// `METRIC_INNER_PRODUCT`, `metric="ip"`, `space="ip"`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Layout {
    /// `NumPy` arrays.
    #[default]
    Npy,
    /// Parquet tables with ids.
    Parquet,
    /// An index and `.fvecs`, as faiss reads them.
    Faiss,
    /// A scorer for ONNX runtimes.
    Onnx,
    /// `.fbin`, as usearch reads them.
    Usearch,
    /// Bare floats, as hnswlib takes them through `NumPy`.
    Hnswlib,
}

impl Layout {
    /// All layouts.
    pub const ALL: [Self; 6] = [
        Self::Npy,
        Self::Parquet,
        Self::Faiss,
        Self::Onnx,
        Self::Usearch,
        Self::Hnswlib,
    ];

    /// The name used on the command line.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Npy => "npy",
            Self::Parquet => "parquet",
            Self::Faiss => "faiss",
            Self::Onnx => "onnx",
            Self::Usearch => "usearch",
            Self::Hnswlib => "hnswlib",
        }
    }

    /// Names of all files that an export in this layout may write or remove.
    #[must_use]
    pub fn files(self) -> Vec<&'static str> {
        let mut names = vec![self.file(Axis::User)];
        if self != Self::Onnx {
            names.push(self.file(Axis::Item));
        }
        match self {
            Self::Npy => names.push(ITEM_SCALE),
            Self::Faiss => names.push(FAISS_INDEX),
            _ => {}
        }
        if self != Self::Parquet {
            names.extend(ID_LISTS);
        }
        names
    }

    /// Bytes that writing takes beside the model.
    #[must_use]
    pub fn bytes(self, model: &Model) -> u64 {
        let rows = model.n_users().max(model.n_items()) as u64;
        match self {
            // Rows are encoded by the million before they are written.
            Self::Parquet => 5 * rows.min(1 << 20) * model.n_factors() as u64,
            Self::Npy | Self::Faiss | Self::Onnx | Self::Usearch | Self::Hnswlib => 0,
        }
    }

    /// Whether item factors are rescaled unless asked otherwise: an index ranks by the vectors it
    /// is given, an array is more often read back.
    fn scales(self) -> bool {
        !matches!(self, Self::Npy | Self::Parquet)
    }

    fn file(self, axis: Axis) -> &'static str {
        match (self, axis) {
            (Self::Npy, Axis::User) => "P.npy",
            (Self::Npy, Axis::Item) => "Q.npy",
            (Self::Parquet, Axis::User) => "users.parquet",
            (Self::Parquet, Axis::Item) => "items.parquet",
            (Self::Faiss, Axis::User) => "users.fvecs",
            (Self::Faiss, Axis::Item) => "items.fvecs",
            // Both sides are in it.
            (Self::Onnx, _) => "scorer.onnx",
            (Self::Usearch, Axis::User) => "users.fbin",
            (Self::Usearch, Axis::Item) => "items.fbin",
            (Self::Hnswlib, Axis::User) => "users.f32",
            (Self::Hnswlib, Axis::Item) => "items.f32",
        }
    }
}

/// The scale beside item factors that it was not applied to.
const ITEM_SCALE: &str = "item_scale.npy";

/// The index of items for faiss.
const FAISS_INDEX: &str = "items.index";

/// Ids of users and items.
const ID_LISTS: [&str; 2] = ["users.txt", "items.txt"];

/// How factors are exported.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ExportOptions {
    /// The files to write.
    pub layout: Layout,
    /// Whether item factors are multiplied by the post-scaling `n_i^ρ`. When not given: yes for
    /// the layouts of nearest-neighbour libraries, no for arrays and tables, which then hold the
    /// scale beside the factors.
    pub post_scale: Option<bool>,
}

impl ExportOptions {
    /// Whether item factors are multiplied by the post-scaling, so that they rank as the model does.
    #[must_use]
    pub fn scales(&self) -> bool {
        self.post_scale.unwrap_or(self.layout.scales())
    }
}

/// Writes the factors and ids of a model into a folder, which is made if need be, and yields the
/// files written. Files of an earlier export are replaced all at once ([`FileSet`]).
///
/// # Errors
/// There is not one id for each row, the model has neighbours instead of factors, a file cannot be
/// written, or the folder has an earlier export and cannot be replaced as a whole.
pub fn export(
    model: &Model,
    ids: &Ids,
    folder: &Path,
    options: ExportOptions,
) -> Result<Vec<PathBuf>, Error> {
    ids.check(model, folder)?;
    if model.neighbours().is_some() {
        return Err(Error::NoFactors {
            solver: model.params().solver.name(),
        });
    }
    let layout = options.layout;
    let set = FileSet::create(folder, layout.files())?;
    let applied = options.scales();
    let beside = model.item_scale().filter(|_| !applied);
    let mut written = Vec::new();
    let [users, items] = [Axis::User, Axis::Item].map(|axis| vectors_of(model, axis, applied));
    if layout == Layout::Onnx {
        let name = layout.file(Axis::User);
        set.write(name, |path| onnx::write(path, &users, &items))?;
        written.push(name);
    }
    if layout == Layout::Faiss {
        set.write(FAISS_INDEX, |path| faiss::write(path, &items))?;
        written.push(FAISS_INDEX);
    }
    let axes = [(Axis::User, users), (Axis::Item, items)];
    for (axis, vectors) in axes.into_iter().filter(|_| layout != Layout::Onnx) {
        let name = layout.file(axis);
        set.write(name, |path| {
            if layout == Layout::Parquet {
                let scale = beside.filter(|_| axis == Axis::Item);
                table::write(path, ids.get(axis), &vectors, scale)
            } else {
                vectors.write(path, layout)
            }
        })?;
        written.push(name);
    }
    // A scale that an earlier export left would now be wrong; as a file of the set it is removed.
    if let Some(scale) = beside.filter(|_| layout == Layout::Npy) {
        set.write(ITEM_SCALE, |path| {
            npy::write_file(path, &[scale.len()], scale)
        })?;
        written.push(ITEM_SCALE);
    }
    if layout != Layout::Parquet {
        for (name, ids) in ID_LISTS.into_iter().zip([&ids.users, &ids.items]) {
            set.write(name, |path| id_list::write(path, ids))?;
            written.push(name);
        }
    }
    set.commit()?;
    Ok(written.into_iter().map(|name| folder.join(name)).collect())
}

fn vectors_of(model: &Model, axis: Axis, scaled: bool) -> Vectors<'_> {
    match axis {
        Axis::User => Vectors {
            factors: model.user_factors(),
            scale: None,
        },
        Axis::Item => Vectors {
            factors: model.item_factors(),
            scale: model.item_scale().filter(|_| scaled),
        },
    }
}
