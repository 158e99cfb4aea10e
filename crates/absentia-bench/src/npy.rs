//! NumPy's `.npy` files, as far as matrices and factors need them.

use std::fs::File;
use std::io::{BufReader, BufWriter, Read, Write};
use std::path::Path;

use anyhow::{Context, Result, bail, ensure};

/// A number that an array can hold.
pub(crate) trait Element: Copy {
    /// Name of the type in the header.
    const NAME: &'static str;
    const SIZE: usize;
    fn put(self, into: &mut Vec<u8>);
    fn take(bytes: &[u8]) -> Self;
}

macro_rules! element {
    ($type:ty, $name:literal) => {
        impl Element for $type {
            const NAME: &'static str = $name;
            const SIZE: usize = size_of::<$type>();

            fn put(self, into: &mut Vec<u8>) {
                into.extend_from_slice(&self.to_le_bytes());
            }

            fn take(bytes: &[u8]) -> Self {
                let mut word = [0; size_of::<$type>()];
                word.copy_from_slice(bytes);
                Self::from_le_bytes(word)
            }
        }
    };
}

element!(f32, "<f4");
element!(u32, "<i4");
element!(u64, "<i8");

/// Numbers that are converted at a time.
const CHUNK: usize = 1 << 16;

/// Writes an array of one or two dimensions.
pub(crate) fn write<T: Element>(
    path: &Path,
    shape: &[usize],
    values: impl Iterator<Item = T>,
) -> Result<()> {
    let file = File::create(path).with_context(|| path.display().to_string())?;
    let mut out = BufWriter::new(file);
    let sizes: Vec<String> = shape.iter().map(|size| format!("{size},")).collect();
    let mut header = format!(
        "{{'descr': '{}', 'fortran_order': False, 'shape': ({}), }}",
        T::NAME,
        sizes.concat()
    );
    // Magic, version, length and header fill a multiple of 64 bytes, ending in a line feed.
    let padding = 63 - (10 + header.len()) % 64;
    header.extend(std::iter::repeat_n(' ', padding));
    header.push('\n');
    out.write_all(b"\x93NUMPY\x01\x00")?;
    out.write_all(&(header.len() as u16).to_le_bytes())?;
    out.write_all(header.as_bytes())?;
    let mut bytes = Vec::new();
    for value in values {
        value.put(&mut bytes);
        if bytes.len() >= CHUNK {
            out.write_all(&bytes)?;
            bytes.clear();
        }
    }
    out.write_all(&bytes)?;
    out.flush()?;
    Ok(())
}

/// Reads an array of this type: its shape and its numbers, row by row.
pub(crate) fn read<T: Element>(path: &Path) -> Result<(Vec<usize>, Vec<T>)> {
    let name = || path.display().to_string();
    let mut file = BufReader::new(File::open(path).with_context(name)?);
    let mut start = [0; 10];
    file.read_exact(&mut start).with_context(name)?;
    ensure!(
        start.starts_with(b"\x93NUMPY\x01"),
        "{} is no .npy file of version 1",
        name()
    );
    let mut header = vec![0; usize::from(u16::from_le_bytes([start[8], start[9]]))];
    file.read_exact(&mut header).with_context(name)?;
    let header = String::from_utf8_lossy(&header);
    if !header.contains(T::NAME) || !header.contains("'fortran_order': False") {
        bail!("{} is not of type {} by rows: {header}", name(), T::NAME);
    }
    let shape = shape(&header).with_context(name)?;
    let len: usize = shape.iter().product();
    let mut values = Vec::with_capacity(len);
    let mut bytes = vec![0; CHUNK * T::SIZE];
    while values.len() < len {
        let count = CHUNK.min(len - values.len());
        let part = &mut bytes[..count * T::SIZE];
        file.read_exact(part).with_context(name)?;
        values.extend(part.chunks_exact(T::SIZE).map(T::take));
    }
    Ok((shape, values))
}

fn shape(header: &str) -> Result<Vec<usize>> {
    let (_, rest) = header.split_once("'shape': (").context("no shape")?;
    let (sizes, _) = rest.split_once(')').context("no end of the shape")?;
    let sizes = sizes
        .split(',')
        .map(str::trim)
        .filter(|size| !size.is_empty());
    sizes.map(|size| size.parse().context("a size")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_back() {
        let path = std::env::temp_dir().join(format!("absentia-bench-{}.npy", std::process::id()));
        let values: Vec<f32> = (0..70_000).map(|n| n as f32 / 7.0).collect();
        write(&path, &[7, 10_000], values.iter().copied()).unwrap();
        assert_eq!(read::<f32>(&path).unwrap(), (vec![7, 10_000], values));
        assert!(read::<u64>(&path).unwrap_err().to_string().contains("<i8"));
        assert_eq!(std::fs::metadata(&path).unwrap().len() % 64, 0);
        write(&path, &[3], [1_u64, 2, 3].into_iter()).unwrap();
        assert_eq!(read::<u64>(&path).unwrap(), (vec![3], vec![1, 2, 3]));
        std::fs::remove_file(path).unwrap();
    }
}
