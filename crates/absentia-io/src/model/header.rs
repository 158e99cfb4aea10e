//! The header of a model file: what it is, who wrote it, and where its tensors are.

use std::collections::HashMap;
use std::ops::Range;
use std::path::Path;

use safetensors::tensor::{Metadata, TensorInfo};

use super::error::ModelFileError;
use crate::error::{Error, shorten};

/// What damaged model files are called in messages.
pub(super) const FORMAT: &str = "model file";
/// The newest version of the format that is read. Older programs know nothing of what is new in a version, so that models
/// without it are written as before.
pub(super) const VERSION: u32 = FOLDER_VERSION;
/// The version of a model whose factors are in files of their own.
pub(super) const FOLDER_VERSION: u32 = 4;
/// The version of a model with features.
pub(super) const FEATURES_VERSION: u32 = 3;
/// The version of a model with relations, none of which has features.
pub(super) const RELATIONS_VERSION: u32 = 2;
/// The version of a model without relations.
pub(super) const PLAIN_VERSION: u32 = 1;
/// Key of the texts in the header, as the safetensors format has it.
pub(super) const METADATA: &str = "__metadata__";
/// Name of the last tensor.
pub(super) const CHECKSUM: &str = "checksum";
/// Bytes of the last tensor.
pub(super) const CHECKSUM_LEN: usize = 8;
/// The largest header that safetensors readers accept.
pub(super) const MAX_HEADER: usize = 100_000_000;

/// A header that describes its file to the byte.
#[derive(Debug)]
pub(super) struct ModelHeader {
    tensors: Metadata,
    texts: HashMap<String, String>,
    /// Where the tensors start in the file.
    start: usize,
}

impl ModelHeader {
    /// The length of header and length field together, given the first bytes of the file.
    pub(super) fn length(first: &[u8], file_len: u64, path: &Path) -> Result<usize, Error> {
        let (Some(length), Some(b'{')) = (first.first_chunk::<8>(), first.get(8)) else {
            return Err(not_a_model(path));
        };
        let length = u64::from_le_bytes(*length);
        if length > MAX_HEADER as u64 || length + 8 > file_len {
            let detail =
                format!("a header of {length} bytes declared in a file of {file_len} bytes");
            return Err(Error::corrupt(path, FORMAT, detail));
        }
        Ok(8 + length as usize)
    }

    /// Reads the header from the first [`length`](Self::length) bytes of the file.
    pub(super) fn parse(bytes: &[u8], file_len: u64, path: &Path) -> Result<Self, Error> {
        let wrong =
            |e: &dyn std::fmt::Display| Error::corrupt(path, FORMAT, format!("its header: {e}"));
        let json = std::str::from_utf8(&bytes[8..]).map_err(|e| wrong(&e))?;
        let tensors: Metadata = serde_json::from_str(json).map_err(|e| wrong(&e))?;
        let texts = tensors.metadata().clone().unwrap_or_default();
        let header = Self {
            tensors,
            texts,
            start: bytes.len(),
        };
        header.check_identity(path)?;
        header.check_length(file_len, path)?;
        Ok(header)
    }

    fn check_identity(&self, path: &Path) -> Result<(), Error> {
        if self.text("format") != Some("absentia") {
            return Err(not_a_model(path));
        }
        let version = self.version(path)?;
        if version > VERSION {
            let written_by = self.text("product_version").unwrap_or("of unknown version");
            return Err(ModelFileError::TooNew {
                path: path.to_owned(),
                found: version,
                written_by: shorten(written_by.as_bytes()),
                newest: VERSION,
            }
            .into());
        }
        Ok(())
    }

    fn check_length(&self, file_len: u64, path: &Path) -> Result<(), Error> {
        let data = self.tensors.data_len() as u64;
        let declared = data.checked_add(self.start as u64);
        if declared == Some(file_len) {
            return Ok(());
        }
        let there = file_len - self.start as u64;
        let detail = format!("{data} bytes of tensors declared, {there} there");
        Err(Error::corrupt(path, FORMAT, detail))
    }

    /// The version of the format.
    pub(super) fn version(&self, path: &Path) -> Result<u32, Error> {
        self.text("format_version")
            .and_then(|version| version.parse().ok())
            .filter(|&version| version > 0)
            .ok_or_else(|| Error::corrupt(path, FORMAT, "it has no format version"))
    }

    /// A text of the header.
    pub(super) fn text(&self, key: &str) -> Option<&str> {
        self.texts.get(key).map(String::as_str)
    }

    /// A text that every model file has.
    pub(super) fn required(&self, key: &'static str, path: &Path) -> Result<&str, Error> {
        self.text(key)
            .ok_or_else(|| Error::corrupt(path, FORMAT, format!("no {key:?} in its header")))
    }

    /// A tensor, with the bytes of the file that it takes.
    pub(super) fn tensor(&self, name: &str) -> Option<(&TensorInfo, Range<usize>)> {
        let info = self.tensors.info(name)?;
        let (from, to) = info.data_offsets;
        Some((info, self.start + from..self.start + to))
    }
}

pub(super) fn not_a_model(path: &Path) -> Error {
    let path = path.to_owned();
    ModelFileError::NotAModel { path }.into()
}
