//! Sparse matrices saved by `scipy.sparse.save_npz`; ids are row numbers.

use std::fs::File;
use std::io::BufReader;
use std::path::Path;
use std::sync::Arc;

use zip::ZipArchive;

use super::builder::Builder;
use super::chunk::{Chunk, IdRule, Key, Record, Shape};
use crate::bad_row::RowFault;
use crate::column::Column;
use crate::error::{Error, shorten};
use crate::limits;
use crate::npy::{self, Array, Data};

const FORMAT: &str = "npz matrix";
/// Entries taken over at a time.
const STEP: usize = 1 << 18;

/// A matrix as coordinates.
struct Matrix {
    rows: u32,
    columns: u32,
    row: Vec<u32>,
    column: Vec<u32>,
    /// `None` for a matrix of truth values, whose entries are those that are true.
    value: Option<Vec<f32>>,
}

/// Reads a matrix in CSR, CSC or COO form, keeping empty rows and columns.
pub(super) fn read(path: &Arc<Path>, builder: &mut Builder<'_>) -> Result<(), Error> {
    let length = path.metadata().map_err(Error::io(path))?.len();
    let matrix = NpzArchive::open(path)?.matrix()?.summed();
    let shape = Shape {
        path: Arc::clone(path),
        users: IdRule::Rows {
            limit: Some(matrix.rows),
            base: 0,
        },
        items: IdRule::Rows {
            limit: Some(matrix.columns),
            base: 0,
        },
        has_value: matrix.value.is_some(),
        has_time: false,
        has_weight: false,
        time_unit: None,
    };
    let mut bytes_left = length;
    for start in (0..matrix.row.len()).step_by(STEP) {
        let end = (start + STEP).min(matrix.row.len());
        builder.merge(matrix.chunk(&shape, start..end, std::mem::take(&mut bytes_left))?)?;
    }
    Ok(())
}

impl Matrix {
    /// Adds repeated entries up, as scipy does when it uses a matrix; truth values stay true.
    fn summed(self) -> Self {
        if rises(&self.row, &self.column) || rises(&self.column, &self.row) {
            return self;
        }
        let pair = |at: usize| (self.row[at], self.column[at]);
        let value = |at: usize| self.value.as_ref().map_or(0.0, |value| value[at]);
        let mut order: Vec<usize> = (0..self.row.len()).collect();
        // By value as well, for the sum depends on the order.
        order.sort_unstable_by(|&a, &b| {
            let by_pair = pair(a).cmp(&pair(b));
            by_pair.then_with(|| value(a).total_cmp(&value(b)))
        });
        let groups = || order.chunk_by(|&a, &b| pair(a) == pair(b));
        if groups().all(|group| group.len() == 1) {
            return self;
        }
        let total = |group: &[usize]| group.iter().map(|&at| f64::from(value(at))).sum::<f64>();
        Self {
            rows: self.rows,
            columns: self.columns,
            row: groups().map(|group| self.row[group[0]]).collect(),
            column: groups().map(|group| self.column[group[0]]).collect(),
            value: self
                .value
                .as_ref()
                .map(|_| groups().map(|group| total(group) as f32).collect()),
        }
    }

    fn chunk(
        &self,
        shape: &Shape,
        entries: std::ops::Range<usize>,
        bytes: u64,
    ) -> Result<Chunk, Error> {
        let mut chunk = Chunk::new(shape, bytes);
        chunk.reserve(entries.len());
        for at in entries {
            let value = self.value.as_ref().map_or(0.0, |value| value[at]);
            if value.is_finite() {
                let pair = Record::pair(Key::Row(self.row[at]), Key::Row(self.column[at]));
                chunk.push(&Record { value, ..pair })?;
            } else {
                let fault = RowFault::NotFinite {
                    column: Column::Rating,
                    text: value.to_string(),
                };
                chunk.reject(at as u64 + 1, b"", fault)?;
            }
        }
        Ok(chunk)
    }
}

/// Whether pairs rise, so that none is repeated.
fn rises(major: &[u32], minor: &[u32]) -> bool {
    let pairs = || major.iter().zip(minor);
    pairs().zip(pairs().skip(1)).all(|(one, next)| one < next)
}

/// An open archive of arrays.
struct NpzArchive<'a> {
    path: &'a Path,
    archive: ZipArchive<BufReader<File>>,
}

impl<'a> NpzArchive<'a> {
    fn open(path: &'a Path) -> Result<Self, Error> {
        let file = File::open(path).map_err(Error::io(path))?;
        let length = file.metadata().map_err(Error::io(path))?.len();
        let archive =
            ZipArchive::new(BufReader::new(file)).map_err(|e| Error::corrupt(path, FORMAT, e))?;
        let mut npz = Self { path, archive };
        npz.refuse_bombs(length)?;
        Ok(npz)
    }

    /// Rejects what no encoder could have written, and arrays that do not fit into memory. Equal numbers,
    /// such as ones, shrink a thousandfold, which is the most that the format allows.
    fn refuse_bombs(&mut self, length: u64) -> Result<(), Error> {
        const MOST: u64 = 1032;
        let mut declared = 0_u64;
        for at in 0..self.archive.len() {
            let entry = self
                .archive
                .by_index_raw(at)
                .map_err(|e| Error::corrupt(self.path, FORMAT, e))?;
            declared = declared.saturating_add(entry.size());
        }
        if declared > length.saturating_mul(MOST) {
            return Err(self.wrong(format!("{declared} bytes declared in a file of {length}")));
        }
        match limits::memory_available() {
            Some(available) if declared > available => Err(Error::TooLarge {
                path: self.path.to_owned(),
                needed: declared,
                available,
            }),
            _ => Ok(()),
        }
    }

    fn wrong(&self, detail: impl std::fmt::Display) -> Error {
        Error::corrupt(self.path, FORMAT, detail)
    }

    fn array(&mut self, name: &str) -> Result<Array, Error> {
        let missing = || {
            Error::corrupt(
                self.path,
                FORMAT,
                format!("no array {name:?}; was it saved by scipy.sparse.save_npz?"),
            )
        };
        let mut entry = self
            .archive
            .by_name(&format!("{name}.npy"))
            .map_err(|e| match e {
                zip::result::ZipError::FileNotFound => missing(),
                other => Error::corrupt(self.path, FORMAT, other),
            })?;
        let size = entry.size();
        npy::read(&mut entry, size, self.path)
    }

    /// An array of integers that are row numbers.
    fn indices(&mut self, name: &str) -> Result<Vec<u32>, Error> {
        let data = match self.array(name)?.data {
            Data::U32(data) => return Ok(data),
            Data::I32(data) => data
                .into_iter()
                .map(|x| u32::try_from(x).ok())
                .collect::<Option<_>>(),
            Data::I64(data) => data.into_iter().map(|x| u32::try_from(x).ok()).collect(),
            Data::U64(data) => data.into_iter().map(|x| u32::try_from(x).ok()).collect(),
            _ => None,
        };
        data.ok_or_else(|| self.wrong(format!("{name:?} does not hold row numbers")))
    }

    fn matrix(&mut self) -> Result<Matrix, Error> {
        let (rows, columns) = self.shape()?;
        let form = match self.array("format")?.data {
            Data::Text(mut text) if text.len() == 1 => text.remove(0),
            _ => return Err(self.wrong("\"format\" is not a name")),
        };
        let (row, column) = match form.as_str() {
            "csr" => self.compressed(rows)?,
            "csc" => {
                let (column, row) = self.compressed(columns)?;
                (row, column)
            }
            "coo" => (self.indices("row")?, self.indices("col")?),
            other => {
                return Err(self.unsupported(format!(
                    "a sparse matrix in \"{}\" form",
                    shorten(other.as_bytes())
                )));
            }
        };
        self.check(&row, rows)?;
        self.check(&column, columns)?;
        let data = self.array("data")?.data;
        if row.len() != column.len() || data.len() != row.len() {
            return Err(self.wrong(format!(
                "{} rows, {} columns, {} values",
                row.len(),
                column.len(),
                data.len()
            )));
        }
        self.with_values(
            Matrix {
                rows,
                columns,
                row,
                column,
                value: None,
            },
            data,
        )
    }

    fn with_values(&self, mut matrix: Matrix, data: Data) -> Result<Matrix, Error> {
        if let Data::Bool(kept) = &data {
            let keep = |list: &[u32]| {
                list.iter()
                    .zip(kept)
                    .filter(|(_, keep)| **keep)
                    .map(|(x, _)| *x)
                    .collect()
            };
            matrix.row = keep(&matrix.row);
            matrix.column = keep(&matrix.column);
            return Ok(matrix);
        }
        let value = data
            .into_f32()
            .ok_or_else(|| self.unsupported("a matrix of strings".to_owned()))?;
        matrix.value = Some(value);
        Ok(matrix)
    }

    fn unsupported(&self, feature: String) -> Error {
        Error::Unsupported {
            path: self.path.to_owned(),
            feature,
            remedy: "save it as CSR numbers, matrix.tocsr()",
        }
    }

    fn shape(&mut self) -> Result<(u32, u32), Error> {
        match self.indices("shape")?[..] {
            [rows, columns] if rows < u32::MAX && columns < u32::MAX => Ok((rows, columns)),
            _ => Err(self.wrong("\"shape\" is not two counts")),
        }
    }

    fn check(&self, places: &[u32], limit: u32) -> Result<(), Error> {
        match places.iter().find(|&&place| place >= limit) {
            None => Ok(()),
            Some(place) => {
                Err(self.wrong(format!("index {place} in a dimension of length {limit}")))
            }
        }
    }

    /// Reads `indptr` and `indices`; returns the places along both dimensions.
    fn compressed(&mut self, lines: u32) -> Result<(Vec<u32>, Vec<u32>), Error> {
        let starts = self.array("indptr")?.data.into_i64().unwrap_or_default();
        let minor = self.indices("indices")?;
        let rising = starts.windows(2).all(|pair| pair[0] <= pair[1]);
        let spans =
            starts.first() == Some(&0) && starts.last() == i64::try_from(minor.len()).ok().as_ref();
        if starts.len() as u64 != u64::from(lines) + 1 || !rising || !spans {
            return Err(self.wrong("\"indptr\" does not fit the shape and the indices"));
        }
        let mut major = Vec::with_capacity(minor.len());
        for (line, pair) in (0_u32..).zip(starts.windows(2)) {
            major.resize(pair[1] as usize, line);
        }
        Ok((major, minor))
    }
}
