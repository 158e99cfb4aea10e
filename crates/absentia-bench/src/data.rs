//! The matrices that all contenders read, as `.npy` files of compressed rows.

use std::path::{Path, PathBuf};

use absentia::data::{Interactions, Triplets, Values};
use absentia_io::{DenseIds, NoProgress, ReadOptions};
use absentia_lab::generate::{Generator, GeneratorParams};
use anyhow::{Context, Result};
use serde::Serialize;

use crate::arrays;

/// A matrix on disk.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Matrix {
    #[serde(skip)]
    pub(crate) folder: PathBuf,
    pub(crate) users: usize,
    pub(crate) items: usize,
    pub(crate) entries: usize,
}

impl Matrix {
    /// Writes the rows of a matrix to a folder.
    pub(crate) fn write(data: &Interactions<'_>, folder: PathBuf) -> Result<Self> {
        std::fs::create_dir_all(&folder).with_context(|| folder.display().to_string())?;
        let rows = data.by_user();
        let (offsets, indices) = (rows.offsets(), rows.indices());
        arrays::write_u64(&folder.join("indptr.npy"), &[offsets.len()], offsets)?;
        arrays::write_u32(&folder.join("indices.npy"), &[indices.len()], indices)?;
        Ok(Self {
            folder,
            users: data.n_users(),
            items: data.n_items(),
            entries: data.len(),
        })
    }

    /// Writes generated data of a shape.
    pub(crate) fn generate(params: GeneratorParams, folder: PathBuf) -> Result<Self> {
        Self::write(&Generator::new(params)?.interactions()?, folder)
    }
}

/// Reads the matrix of a folder.
pub(crate) fn read(folder: &Path, items: usize) -> Result<Interactions<'static>> {
    let offsets = arrays::read_u64(&folder.join("indptr.npy"))?;
    let (_, indices) = arrays::read_u32(&folder.join("indices.npy"))?;
    Ok(Interactions::from_csr(
        items,
        offsets,
        indices,
        Values::Constant(1.0),
    )?)
}

/// The Gowalla split of LightGCN, with the validation part that came with it.
pub(crate) struct Gowalla {
    /// All training entries.
    pub(crate) train: Matrix,
    /// Training entries without the validation part.
    pub(crate) part: Matrix,
    pub(crate) validation: Matrix,
    pub(crate) test: Matrix,
}

impl Gowalla {
    const SHAPE: (usize, usize) = (29_858, 40_981);

    /// Takes the files of `from` over into folders of `into`.
    pub(crate) fn prepare(from: &Path, into: &Path) -> Result<Self> {
        let train = pairs(&from.join("train.tsv.gz"))?;
        let validation = pairs(&from.join("valid_subset_of_train.tsv.gz"))?;
        let held_out: std::collections::HashSet<(u32, u32)> = validation.iter().copied().collect();
        let part: Vec<(u32, u32)> = train
            .iter()
            .copied()
            .filter(|pair| !held_out.contains(pair))
            .collect();
        let write = |pairs: &[(u32, u32)], name: &str| {
            let (users, items): (Vec<u32>, Vec<u32>) = pairs.iter().copied().unzip();
            let data = Triplets::new(&users, &items).build(
                Self::SHAPE.0,
                Self::SHAPE.1,
                absentia::data::Duplicates::Error,
            )?;
            Matrix::write(&data, into.join(name))
        };
        Ok(Self {
            train: write(&train, "gowalla-train")?,
            part: write(&part, "gowalla-part")?,
            validation: write(&validation, "gowalla-validation")?,
            test: write(&pairs(&from.join("test.tsv.gz"))?, "gowalla-test")?,
        })
    }
}

/// Reads pairs of row numbers.
fn pairs(path: &Path) -> Result<Vec<(u32, u32)>> {
    let options = ReadOptions {
        header: Some(false),
        dense_ids: Some(DenseIds { shape: None }),
        ..ReadOptions::default()
    };
    let data = absentia_io::read(&[path.to_owned()], &options, &NoProgress)?;
    Ok(data.user.into_iter().zip(data.item).collect())
}
