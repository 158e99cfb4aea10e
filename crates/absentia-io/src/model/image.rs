//! A model file before it is written: header, tensors, checksum.

use std::collections::BTreeMap;
use std::io::{self, BufWriter, Write};
use std::path::Path;

use safetensors::Dtype;
use serde_json::{Map, Value, json};
use xxhash_rust::xxh3::Xxh3;

use super::error::ModelFileError;
use super::header::{CHECKSUM, CHECKSUM_LEN, MAX_HEADER, METADATA};
use super::tensor::Tensor;
use crate::atomic::AtomicFile;
use crate::error::Error;

/// Tensors start on a cache line, so that mapped numbers of any width are aligned.
const ALIGN: usize = 64;

/// What goes into a file.
pub(super) struct Image<'a> {
    /// Texts of the header.
    pub(super) metadata: BTreeMap<&'static str, String>,
    /// The arrays.
    pub(super) tensors: Vec<Tensor<'a>>,
}

impl Image<'_> {
    /// Writes the file beside `path` and puts it there once it is complete and on disk.
    pub(super) fn save(mut self, path: &Path) -> Result<(), Error> {
        // Wide numbers first: then each tensor starts at a multiple of its own width without gaps,
        // which the format does not allow.
        let width = |tensor: &Tensor<'_>| std::cmp::Reverse(tensor.dtype.bitsize());
        self.tensors.sort_by_key(width);
        let header = self.header();
        if header.len() > MAX_HEADER {
            return Err(ModelFileError::HeaderTooLarge {
                path: path.to_owned(),
                got: header.len(),
                most: MAX_HEADER,
            }
            .into());
        }
        let mut file = AtomicFile::create(path)?;
        self.write(&header, &mut file).map_err(Error::io(path))?;
        file.commit()
    }

    fn header(&self) -> Vec<u8> {
        let mut entries = Map::new();
        entries.insert(METADATA.to_owned(), json!(self.metadata));
        let mut start = 0;
        for tensor in &self.tensors {
            let end = start + tensor.len();
            let entry = described(tensor.dtype, &tensor.shape, start, end);
            entries.insert(tensor.name.clone().into_owned(), entry);
            start = end;
        }
        let end = start + CHECKSUM_LEN;
        let entry = described(Dtype::U8, &[CHECKSUM_LEN], start, end);
        entries.insert(CHECKSUM.to_owned(), entry);
        let mut header = Value::Object(entries).to_string().into_bytes();
        let aligned = (8 + header.len()).next_multiple_of(ALIGN) - 8;
        header.resize(aligned, b' ');
        header
    }

    /// Writes all bytes in order, the checksum of those before it last.
    pub(super) fn write(&self, header: &[u8], out: &mut impl Write) -> io::Result<()> {
        // Rows are short; hashing and writing them by the block is several times faster.
        let mut out = BufWriter::with_capacity(256 << 10, Summed::new(out));
        out.write_all(&(header.len() as u64).to_le_bytes())?;
        out.write_all(header)?;
        for tensor in &self.tensors {
            tensor.write(&mut out)?;
        }
        let summed = out.into_inner().map_err(io::IntoInnerError::into_error)?;
        let checksum = summed.hasher.digest();
        summed.out.write_all(&checksum.to_le_bytes())
    }
}

fn described(dtype: Dtype, shape: &[usize], start: usize, end: usize) -> Value {
    json!({ "dtype": dtype, "shape": shape, "data_offsets": [start, end] })
}

/// Hashes what passes through.
struct Summed<'w, W> {
    out: &'w mut W,
    hasher: Xxh3,
}

impl<'w, W: Write> Summed<'w, W> {
    fn new(out: &'w mut W) -> Self {
        Self {
            out,
            hasher: Xxh3::new(),
        }
    }
}

impl<W: Write> Write for Summed<'_, W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.out.write(bytes)?;
        self.hasher.update(&bytes[..written]);
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rejects everything after some bytes, as a full disk does.
    struct Full<W> {
        out: W,
        left: usize,
    }

    impl<W: Write> Write for Full<W> {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            let fits = bytes.len().min(self.left);
            if fits == 0 && !bytes.is_empty() {
                return Err(io::ErrorKind::StorageFull.into());
            }
            self.left -= fits;
            self.out.write(&bytes[..fits])
        }

        fn flush(&mut self) -> io::Result<()> {
            self.out.flush()
        }
    }

    #[test]
    fn a_disk_that_fills_up_at_any_byte_leaves_the_old_file_and_no_other() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("m.absentia");
        std::fs::write(&path, "the old file").unwrap();
        let numbers = [1.0_f64, 2.0, 3.0];
        let image = Image {
            metadata: BTreeMap::from([("format", "absentia".to_owned())]),
            tensors: vec![Tensor::list("x", &numbers[..])],
        };
        let header = image.header();
        let mut whole = Vec::new();
        image.write(&header, &mut whole).unwrap();
        for left in 0..whole.len() {
            let mut file = AtomicFile::create(&path).unwrap();
            let mut full = Full {
                out: &mut file,
                left,
            };
            let error = image.write(&header, &mut full).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::StorageFull);
            drop(file);
        }
        assert_eq!(std::fs::read(&path).unwrap(), b"the old file");
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn the_official_reader_accepts_the_file() {
        let numbers = [1_u32, 2, 3];
        let image = Image {
            metadata: BTreeMap::from([("format", "absentia".to_owned())]),
            tensors: vec![Tensor::list("x", &numbers[..])],
        };
        let mut file = Vec::new();
        image.write(&image.header(), &mut file).unwrap();
        let tensors = safetensors::SafeTensors::deserialize(&file).unwrap();
        let x = tensors.tensor("x").unwrap();
        assert_eq!(x.data(), bytemuck::cast_slice::<_, u8>(&numbers));
        assert_eq!(tensors.names().len(), 2);
    }
}
