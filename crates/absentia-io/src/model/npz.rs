//! Archives of arrays as `np.savez` writes them.

use std::fs::File;
use std::io::BufReader;
use std::path::{Path, PathBuf};

use zip::ZipArchive;
use zip::result::ZipError;

use crate::error::Error;
use crate::npy::{self, Array, Data};

const FORMAT: &str = "npz archive";

/// An open archive.
pub(super) struct Npz {
    pub(super) path: PathBuf,
    archive: ZipArchive<BufReader<File>>,
    length: u64,
}

impl Npz {
    pub(super) fn open(path: &Path) -> Result<Self, Error> {
        Error::refuse_folder(path)?;
        let file = File::open(path).map_err(Error::io(path))?;
        let length = file.metadata().map_err(Error::io(path))?.len();
        let archive =
            ZipArchive::new(BufReader::new(file)).map_err(|e| Error::corrupt(path, FORMAT, e))?;
        Ok(Self {
            path: path.to_owned(),
            archive,
            length,
        })
    }

    /// An array, or `None` if the archive has none of this name; pickled ones are rejected.
    pub(super) fn array(&mut self, name: &str) -> Result<Option<Array>, Error> {
        let mut entry = match self.archive.by_name(&format!("{name}.npy")) {
            Err(ZipError::FileNotFound) => return Ok(None),
            found => found.map_err(|e| Error::corrupt(&self.path, FORMAT, e))?,
        };
        let size = entry.size();
        // Trained numbers do not shrink a hundredfold; an archive that claims so is a bomb.
        if size > self.length.saturating_mul(100).saturating_add(1 << 24) {
            let detail = format!("{size} bytes declared in a file of {}", self.length);
            return Err(Error::corrupt(&self.path, FORMAT, detail));
        }
        npy::read(&mut entry, size, &self.path).map(Some)
    }

    /// A single number, if there is one of this name.
    pub(super) fn number(&mut self, name: &str) -> Result<Option<f64>, Error> {
        let data = self.array(name)?.map(|array| array.data);
        Ok(match data {
            Some(Data::F64(x)) if x.len() == 1 => Some(x[0]),
            Some(Data::F32(x)) if x.len() == 1 => Some(f64::from(x[0])),
            Some(Data::Bool(x)) if x.len() == 1 => Some(f64::from(u8::from(x[0]))),
            Some(data) if data.len() == 1 => data.into_i64().map(|x| x[0] as f64),
            _ => None,
        })
    }
}
