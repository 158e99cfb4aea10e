//! A model file with a correct checksum, ready to be read.

use std::path::{Path, PathBuf};

use absentia::data::Storage;
use absentia::model::Factors;
use absentia::{Axis, Dense};
use serde::de::DeserializeOwned;
use xxhash_rust::xxh3::xxh3_64;

use super::folder::FactorFiles;
use super::header::{CHECKSUM, CHECKSUM_LEN, FORMAT, ModelHeader, not_a_model};
use super::map::{FileMap, Mapped};
use super::tensor::Stored;
use crate::error::Error;

/// More factors than any model has; keeps a hostile shape from overflowing later.
const MAX_COLS: usize = 1 << 20;

/// The numbers of a tensor and its shape.
type TensorNumbers<'a, T> = (Mapped<T>, &'a [usize]);

/// A mapped file with a header that fits it.
pub(super) struct Opened {
    pub(super) path: PathBuf,
    pub(super) header: ModelHeader,
    map: FileMap,
}

/// Checks that a file is a whole, unaltered model or checkpoint: all of it is read.
///
/// # Errors
/// The file cannot be read, is not a model, was altered, or was written by a later version.
pub fn verify(path: &Path) -> Result<(), Error> {
    let opened = Opened::open(path)?;
    if let Some(files) = FactorFiles::of(&opened.header, &opened.path)? {
        files.load(Axis::User, &opened.path)?;
        files.load(Axis::Item, &opened.path)?;
    }
    Ok(())
}

impl Opened {
    /// Maps a file and checks that it is a whole, unaltered model.
    pub(super) fn open(path: &Path) -> Result<Self, Error> {
        let path = &super::folder::file_to_read(path)?;
        let found = std::fs::metadata(path).map_err(Error::io(path))?;
        if !found.is_file() || found.len() == 0 {
            // Pipes and empty files cannot be mapped.
            return Err(not_a_model(path));
        }
        let map = FileMap::open(path)?;
        let length = ModelHeader::length(&map, map.len() as u64, path)?;
        let header = ModelHeader::parse(&map[..length], map.len() as u64, path)?;
        let path = path.to_owned();
        let opened = Self { path, header, map };
        opened.verify()?;
        Ok(opened)
    }

    fn verify(&self) -> Result<(), Error> {
        let end = self.header.tensor(CHECKSUM).map(|(_, range)| range);
        let (rest, stored) = self.map.split_at(self.map.len() - CHECKSUM_LEN);
        if end != Some(rest.len()..self.map.len()) {
            return Err(self.corrupt("its last tensor is not the checksum"));
        }
        if xxh3_64(rest).to_le_bytes() != stored {
            return Err(self.corrupt("the checksum does not match, the file was altered"));
        }
        Ok(())
    }

    pub(super) fn corrupt(&self, detail: impl std::fmt::Display) -> Error {
        Error::corrupt(&self.path, FORMAT, detail)
    }

    /// A text of the header as a value.
    pub(super) fn json<T: DeserializeOwned>(&self, key: &'static str) -> Result<T, Error> {
        let text = self.header.required(key, &self.path)?;
        self.parsed(key, text)
    }

    pub(super) fn parsed<T: DeserializeOwned>(&self, what: &str, text: &str) -> Result<T, Error> {
        serde_json::from_str(text).map_err(|e| self.corrupt(format!("its {what}: {e}")))
    }

    /// A tensor and its shape, or `None` if the file has no tensor of this name.
    pub(super) fn find<T: Stored>(
        &self,
        name: &str,
    ) -> Result<Option<TensorNumbers<'_, T>>, Error> {
        let Some((info, range)) = self.header.tensor(name) else {
            return Ok(None);
        };
        if info.dtype != T::DTYPE {
            let detail = format!(
                "tensor {name:?} holds {}, expected {}",
                info.dtype,
                T::DTYPE
            );
            return Err(self.corrupt(detail));
        }
        let numbers = self.map.numbers(range);
        let numbers =
            numbers.ok_or_else(|| self.corrupt(format!("tensor {name:?} is not aligned")))?;
        Ok(Some((numbers, &info.shape)))
    }

    /// A tensor of one dimension.
    pub(super) fn list<T: Stored>(&self, name: &str) -> Result<Mapped<T>, Error> {
        match self.find(name)? {
            Some((numbers, [_])) => Ok(numbers),
            found => Err(self.unfit(name, found.is_some())),
        }
    }

    /// A tensor of two dimensions: its numbers, rows and columns.
    pub(super) fn table<T: Stored>(&self, name: &str) -> Result<(Mapped<T>, usize, usize), Error> {
        match self.find(name)? {
            Some((numbers, &[rows, cols])) if u32::try_from(rows).is_ok() && cols <= MAX_COLS => {
                Ok((numbers, rows, cols))
            }
            found => Err(self.unfit(name, found.is_some())),
        }
    }

    /// The factors of a side, left in the file or the files that have them.
    pub(super) fn factors_of(&self, axis: Axis) -> Result<Factors, Error> {
        match FactorFiles::of(&self.header, &self.path)? {
            Some(files) => files.load(axis, &self.path),
            None => self.factors(match axis {
                Axis::User => "user_factors",
                Axis::Item => "item_factors",
            }),
        }
    }

    /// A table of factors, left in the file.
    pub(super) fn factors(&self, name: &str) -> Result<Factors, Error> {
        let (numbers, rows, cols) = self.table(name)?;
        Factors::new(rows, cols, Storage::shared(numbers)).ok_or_else(|| self.unfit(name, true))
    }

    /// A small matrix, copied.
    pub(super) fn dense(&self, name: &str) -> Result<Dense, Error> {
        let (numbers, rows, cols) = self.table(name)?;
        Dense::from_slice(rows, cols, &numbers).ok_or_else(|| self.unfit(name, true))
    }

    fn unfit(&self, name: &str, there: bool) -> Error {
        let what = if there {
            "has an impossible shape"
        } else {
            "is missing"
        };
        self.corrupt(format!("tensor {name:?} {what}"))
    }
}
