//! A model as a folder, for factors that no machine has in one place: everything but the factors in an ordinary model
//! file, and the factors in files of some rows each, written by whoever has them.
//!
//! The file, `model.absentia`, has no tensors `user_factors` and `item_factors`. The text `pieces` in its header names the
//! files of each side in the order of their rows, with the number of rows and the xxh3-64 of each. A file has the rows one
//! after the other, as floats, nothing else.

use std::io::Write;
use std::path::{Path, PathBuf};

use absentia::data::{FrozenTransform, Storage};
use absentia::fit::Sweep;
use absentia::model::Factors;
use absentia::weights::MissingWeights;
use absentia::{Axis, Params, Sides};
use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::xxh3_64;

use super::error::ModelFileError;
use super::header::{FOLDER_VERSION, ModelHeader};
use super::ids::{self, Ids};
use super::image::Image;
use super::map::JoinedMaps;
use super::save::{text_of, text_of_params};
use super::tensor::Tensor;
use super::{Kind, history, weights};
use crate::atomic::{AtomicFile, folder_of};
use crate::error::Error;

/// The file of a folder that has everything but the factors.
const HEAD: &str = "model.absentia";
/// The text of the header that names the files.
pub(super) const FACTOR_FILES: &str = "pieces";

/// Some rows of factors in a file of their own.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FactorFile {
    /// Its name in the folder.
    pub file: String,
    /// Number of rows.
    pub rows: usize,
    /// xxh3-64 of the file, in hexadecimal digits.
    pub digest: String,
}

/// The factors of a model in a folder.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FactorFiles {
    /// Number of factors.
    pub factors: usize,
    /// The files of users and of items, in the order of their rows.
    #[serde(flatten)]
    pub sides: Sides<Vec<FactorFile>>,
}

impl FactorFiles {
    /// The files that a header names, if there are any.
    pub(super) fn of(header: &ModelHeader, path: &Path) -> Result<Option<Self>, Error> {
        let Some(text) = header.text(FACTOR_FILES) else {
            return Ok(None);
        };
        let wrong =
            |error| Error::corrupt(path, super::header::FORMAT, format!("its files: {error}"));
        serde_json::from_str(text).map(Some).map_err(wrong)
    }

    /// Number of rows of a side.
    pub(super) fn rows(&self, axis: Axis) -> usize {
        let rows = self.sides[axis].iter().map(|file| file.rows);
        rows.fold(0, usize::saturating_add)
    }

    /// Bytes of all files.
    pub(super) fn bytes(&self) -> u64 {
        let rows = self.rows(Axis::User).saturating_add(self.rows(Axis::Item));
        4 * (rows as u64).saturating_mul(self.factors as u64)
    }

    /// The factors of a side, left in their files, which are checked.
    pub(super) fn load(&self, axis: Axis, head: &Path) -> Result<Factors, Error> {
        let folder = folder_of(head);
        let mut files = Vec::new();
        for file in &self.sides[axis] {
            // Names lead out of the folder in no file that this crate has written.
            let is_name = Path::new(&file.file).components().count() == 1 && file.file != "..";
            if !is_name {
                let detail = format!("{:?} is no name of a file", file.file);
                return Err(Error::corrupt(head, super::header::FORMAT, detail));
            }
            let expected = 4 * (file.rows as u64).saturating_mul(self.factors as u64);
            files.push((folder.join(&file.file), expected));
        }
        let maps = JoinedMaps::open(&files)?;
        for (at, (file, (path, _))) in self.sides[axis].iter().zip(&files).enumerate() {
            if format!("{:016x}", xxh3_64(maps.bytes(at))) != file.digest {
                let detail = "the checksum does not match, the file was altered";
                return Err(Error::corrupt(path, FACTOR_FILE, detail));
            }
        }
        let rows = self.rows(axis);
        let factors = Factors::new(rows, self.factors, Storage::shared(maps));
        factors.ok_or_else(|| Error::corrupt(head, super::header::FORMAT, "its files do not fit"))
    }
}

/// What damaged files are called in messages.
pub(super) const FACTOR_FILE: &str = "file of factors";

/// The file to read where a model is given: for a folder, the one that has everything but the factors. It has the
/// checksums of the factors, so that models whose files have equal bytes are equal.
#[must_use]
pub fn file_of_model(path: &Path) -> PathBuf {
    let head = path.join(HEAD);
    if path.is_dir() && head.is_file() {
        head
    } else {
        path.to_owned()
    }
}

/// The same, for a file or a folder that is to be a model.
pub(super) fn file_to_read(path: &Path) -> Result<PathBuf, Error> {
    let file = file_of_model(path);
    if file.is_dir() {
        return Err(ModelFileError::NotAModelFolder { path: file }.into());
    }
    Ok(file)
}

/// Writes rows of a side into a folder of a model, as the file that begins with row `first`.
///
/// # Errors
/// A file that cannot be written.
pub fn save_factor_file(
    folder: &Path,
    axis: Axis,
    first: usize,
    rows: (&[f32], usize),
) -> Result<FactorFile, Error> {
    let (numbers, factors) = rows;
    std::fs::create_dir_all(folder).map_err(Error::io(folder))?;
    let bytes: &[u8] = bytemuck::cast_slice(numbers);
    let digest = format!("{:016x}", xxh3_64(bytes));
    let side = match axis {
        Axis::User => "users",
        Axis::Item => "items",
    };
    // Those of another model have other names: a folder that is written over is either model until its head is replaced.
    let file = format!("{side}-{first:010}-{digest}.f32");
    let path = folder.join(&file);
    let mut out = AtomicFile::create(&path)?;
    out.write_all(bytes).map_err(Error::io(&path))?;
    out.commit()?;
    let rows = numbers.len() / factors.max(1);
    Ok(FactorFile { file, rows, digest })
}

/// What a model has beside its factors.
#[derive(Clone, Copy, Debug)]
pub struct ModelHead<'a> {
    /// The weights on missing entries.
    pub weights: &'a MissingWeights,
    /// Targets and weights of observed entries.
    pub transform: &'a FrozenTransform,
    /// Interactions of users and items in the training data.
    pub counts: &'a Sides<Vec<u32>>,
    /// Parameters of the run.
    pub params: &'a Params,
    /// Every sweep of the run.
    pub history: &'a [Sweep],
    /// The ids of its rows.
    pub ids: &'a Ids,
    /// The configuration that is kept with it.
    pub config: Option<&'a str>,
}

/// Makes a model of the files in a folder: writes what it has beside its factors, and then removes the files of a model
/// that was there before.
///
/// # Errors
/// Parameters that cannot be stored, a file that cannot be written.
pub fn save_head(folder: &Path, head: &ModelHead<'_>, files: &FactorFiles) -> Result<(), Error> {
    let path = folder.join(HEAD);
    let weights_text = weights::text(head.weights, &path)?;
    let mut metadata = super::save::texts(FOLDER_VERSION, Kind::Model);
    metadata.insert("params", text_of_params(head.params, &path)?);
    metadata.insert(
        "transform",
        text_of(head.transform, "targets and confidence", &path)?,
    );
    metadata.insert(FACTOR_FILES, text_of(files, "pieces", &path)?);
    metadata.extend(head.config.map(|config| ("config", config.to_owned())));
    let mut tensors = weights::tensors(head.weights, &weights_text);
    if weights::is_short(&weights_text) {
        metadata.insert(weights::FROZEN, weights_text.clone());
    }
    tensors.push(history::tensor(head.history));
    tensors.push(Tensor::list("user_counts", &head.counts.users[..]));
    tensors.push(Tensor::list("item_counts", &head.counts.items[..]));
    tensors.extend(ids::tensors(Axis::User, &head.ids.users));
    tensors.extend(ids::tensors(Axis::Item, &head.ids.items));
    Image { metadata, tensors }.save(&path)?;
    remove_others(folder, files);
    Ok(())
}

/// Removes files that the model does not name.
fn remove_others(folder: &Path, files: &FactorFiles) {
    let Ok(entries) = std::fs::read_dir(folder) else {
        return;
    };
    let own = |name: &str| {
        let all = files.sides.users.iter().chain(&files.sides.items);
        all.clone().any(|file| file.file == name)
    };
    for entry in entries.flatten() {
        let name = entry.file_name();
        let is_factors = |name: &&str| {
            let side = name.starts_with("users-") || name.starts_with("items-");
            side && Path::new(name).extension().is_some_and(|end| end == "f32")
        };
        if name
            .to_str()
            .filter(is_factors)
            .is_some_and(|name| !own(name))
        {
            // One that cannot be removed does no harm.
            let _ = std::fs::remove_file(entry.path());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_any_length_are_one_table() {
        let folder = tempfile::tempdir().unwrap();
        for rows in [[2048, 2048, 100], [3, 5, 7], [2048, 0, 1]] {
            let factors = 4;
            let (mut all, mut users) = (Vec::new(), Vec::new());
            for count in rows {
                let first = all.len() / factors;
                let numbers: Vec<f32> = (0..count * factors).map(|n| (n + first) as f32).collect();
                users.push(
                    save_factor_file(folder.path(), Axis::User, first, (&numbers, factors))
                        .unwrap(),
                );
                all.extend(numbers);
            }
            let sides = Sides {
                users,
                items: Vec::new(),
            };
            let files = FactorFiles { factors, sides };
            let head = folder.path().join(HEAD);
            assert_eq!(files.load(Axis::User, &head).unwrap().as_slice(), all);
            assert_eq!(files.load(Axis::Item, &head).unwrap().rows(), 0);
            let damaged = folder.path().join(&files.sides.users[0].file);
            let mut bytes = std::fs::read(&damaged).unwrap();
            bytes[5] ^= 1;
            std::fs::write(&damaged, bytes).unwrap();
            let error = files.load(Axis::User, &head).unwrap_err().to_string();
            assert!(
                error.contains("users-0000000000") && error.contains("checksum"),
                "{error}"
            );
            std::fs::write(&damaged, b"short").unwrap();
            let error = files.load(Axis::User, &head).unwrap_err().to_string();
            assert!(error.contains("5 bytes"), "{error}");
        }
    }

    #[test]
    fn names_do_not_lead_out_of_the_folder() {
        let file = |file: &str| FactorFile {
            file: file.to_owned(),
            rows: 0,
            digest: String::new(),
        };
        for name in ["../x", "/etc/passwd", "..", ""] {
            let sides = Sides {
                users: vec![file(name)],
                items: Vec::new(),
            };
            let files = FactorFiles { factors: 1, sides };
            assert!(
                files
                    .load(Axis::User, Path::new("m/model.absentia"))
                    .is_err(),
                "{name}"
            );
        }
    }
}
