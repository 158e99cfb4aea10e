//! What a model file says of itself, without its factors.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use absentia::data::FrozenTransform;
use absentia::fit::Sweep;
use absentia::weights::Frozen;
use absentia::{Axis, Params};
use serde::de::DeserializeOwned;

use super::folder::{self, FactorFiles};
use super::header::{FORMAT, ModelHeader};
use super::related::{self, RelationsInfo};
use super::{Kind, history, weights};
use crate::error::Error;

/// How a model names its users or items.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IdForm {
    /// By row number.
    Dense,
    /// By integers.
    Integers,
    /// By text.
    Text,
}

/// What a model file says of itself.
#[derive(Clone, Debug)]
pub struct ModelInfo {
    /// Whether it is a model or a checkpoint.
    pub kind: Kind,
    /// Version of its format.
    pub format_version: u32,
    /// Version of the program that wrote it.
    pub product_version: String,
    /// Size of the file in bytes.
    pub bytes: u64,
    /// Number of users M.
    pub n_users: usize,
    /// Number of items N.
    pub n_items: usize,
    /// Number of factors K.
    pub n_factors: usize,
    /// Number of components Z of the weights on missing entries.
    pub weights_rank: usize,
    /// How users are named.
    pub user_ids: IdForm,
    /// How items are named.
    pub item_ids: IdForm,
    /// Parameters of the run.
    pub params: Params,
    /// Targets and weights of observed entries.
    pub transform: FrozenTransform,
    /// What the weights on missing entries were made from.
    pub weights: Frozen,
    /// Every sweep of the run.
    pub history: Vec<Sweep>,
    /// Iteration and score of the best factors of a checkpoint, where there are any.
    pub best: Option<(usize, f64)>,
    /// The configuration it was saved with.
    pub config: Option<String>,
    /// Relations beside the main one.
    pub relations: Option<RelationsInfo>,
}

/// Reads what a model file says of itself: fast for any size, for the factors are not read and the
/// checksum is not verified; [`verify`](super::verify) does.
///
/// # Errors
/// The file cannot be read, is not a model, is visibly damaged, or was written by a later version.
pub fn inspect(path: &Path) -> Result<ModelInfo, Error> {
    let mut reader = Reader::open(path)?;
    let ((n_users, n_factors), n_items) = reader.factors()?;
    let header = &reader.header;
    Ok(ModelInfo {
        kind: Kind::of(header, path)?,
        format_version: header.version(path)?,
        product_version: header.required("product_version", path)?.to_owned(),
        bytes: reader.bytes + reader.factor_files()?.map_or(0, |files| files.bytes()),
        n_users,
        n_items,
        n_factors,
        weights_rank: weights::rank(header).unwrap_or_default(),
        user_ids: id_form(header, "user_ids", "user_id_offsets"),
        item_ids: id_form(header, "item_ids", "item_id_offsets"),
        config: header.text("config").map(str::to_owned),
        params: reader.json("params")?,
        transform: reader.json("transform")?,
        weights: reader.json(weights::FROZEN)?,
        history: reader.history()?,
        best: reader.best()?,
        relations: reader.relations()?,
    })
}

/// Number of interactions that a model was trained on; 0 if it was trained elsewhere and they were not counted.
///
/// # Errors
/// The file cannot be read or is not a model.
pub fn interactions(path: &Path) -> Result<u64, Error> {
    let counts = Reader::open(path)?.tensor("user_counts")?;
    let bytes = counts.unwrap_or_default();
    let (counts, _) = bytes.as_chunks::<4>();
    let counts = counts.iter().map(|count| u32::from_le_bytes(*count));
    Ok(counts.map(u64::from).sum())
}

fn id_form(header: &ModelHeader, integers: &str, text: &str) -> IdForm {
    if header.tensor(integers).is_some() {
        IdForm::Integers
    } else if header.tensor(text).is_some() {
        IdForm::Text
    } else {
        IdForm::Dense
    }
}

/// An open file, read in small parts.
struct Reader {
    path: PathBuf,
    file: File,
    bytes: u64,
    header: ModelHeader,
}

impl Reader {
    fn open(path: &Path) -> Result<Self, Error> {
        let path = &folder::file_to_read(path)?;
        let mut file = File::open(path).map_err(Error::io(path))?;
        let bytes = file.metadata().map_err(Error::io(path))?.len();
        let mut head = Vec::new();
        read_up_to(&mut file, 9, &mut head).map_err(Error::io(path))?;
        let length = ModelHeader::length(&head, bytes, path)?;
        let rest = length.saturating_sub(head.len());
        read_up_to(&mut file, rest, &mut head).map_err(Error::io(path))?;
        let header = ModelHeader::parse(&head[..length.min(head.len())], bytes, path)?;
        Ok(Self {
            path: path.to_owned(),
            file,
            bytes,
            header,
        })
    }

    fn corrupt(&self, detail: impl std::fmt::Display) -> Error {
        Error::corrupt(&self.path, FORMAT, detail)
    }

    fn factor_files(&self) -> Result<Option<FactorFiles>, Error> {
        FactorFiles::of(&self.header, &self.path)
    }

    /// Users and factors, and items.
    fn factors(&self) -> Result<((usize, usize), usize), Error> {
        if let Some(files) = self.factor_files()? {
            let users = (files.rows(Axis::User), files.factors);
            return Ok((users, files.rows(Axis::Item)));
        }
        let (items, _) = self.shape("item_factors")?;
        Ok((self.shape("user_factors")?, items))
    }

    fn shape(&self, name: &str) -> Result<(usize, usize), Error> {
        match self.header.tensor(name).map(|(info, _)| &info.shape[..]) {
            Some(&[rows, cols]) => Ok((rows, cols)),
            _ => Err(self.corrupt(format!("tensor {name:?} is missing or not a table"))),
        }
    }

    /// A text of the header, or of the tensor that has its name, as a value.
    fn json<T: DeserializeOwned>(&mut self, key: &'static str) -> Result<T, Error> {
        let parsed = match self.header.text(key) {
            Some(text) => serde_json::from_str(text),
            None => serde_json::from_slice(&self.tensor(key)?.unwrap_or_default()),
        };
        parsed.map_err(|e| self.corrupt(format!("its {key}: {e}")))
    }

    /// The bytes of a tensor; the header has been checked against the length of the file.
    fn tensor(&mut self, name: &str) -> Result<Option<Vec<u8>>, Error> {
        let Some((_, range)) = self.header.tensor(name) else {
            return Ok(None);
        };
        let mut bytes = Vec::new();
        self.file
            .seek(SeekFrom::Start(range.start as u64))
            .and_then(|_| read_up_to(&mut self.file, range.len(), &mut bytes))
            .map_err(Error::io(&self.path))?;
        Ok(Some(bytes))
    }

    fn numbers(&mut self, name: &str) -> Result<Option<Vec<f64>>, Error> {
        let bytes = self.tensor(name)?;
        Ok(bytes.map(|bytes| {
            let (numbers, _) = bytes.as_chunks::<8>();
            numbers.iter().map(|n| f64::from_le_bytes(*n)).collect()
        }))
    }

    fn history(&mut self) -> Result<Vec<Sweep>, Error> {
        let (_, cols) = self.shape(history::HISTORY)?;
        let numbers = self.numbers(history::HISTORY)?.unwrap_or_default();
        history::sweeps(&numbers, cols)
            .ok_or_else(|| self.corrupt("its history is not a list of sweeps"))
    }

    fn relations(&mut self) -> Result<Option<RelationsInfo>, Error> {
        let Some(bytes) = self.tensor(related::RELATIONS)? else {
            return Ok(None);
        };
        let parsed = serde_json::from_slice::<related::Description>(&bytes);
        let described = parsed.map_err(|e| self.corrupt(format!("its relations: {e}")))?;
        Ok(Some(described.info()))
    }

    fn best(&mut self) -> Result<Option<(usize, f64)>, Error> {
        let numbers = self.numbers(history::BEST)?;
        Ok(numbers.and_then(|numbers| history::best(&numbers)))
    }
}

/// Reads a number of bytes, fewer if there are fewer; memory follows what is really there.
fn read_up_to(file: &mut File, count: usize, bytes: &mut Vec<u8>) -> std::io::Result<usize> {
    file.take(count as u64).read_to_end(bytes)
}
