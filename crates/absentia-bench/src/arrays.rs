//! Arrays that are exchanged with other contenders as `.npy` files.
//!
//! Integers are signed in the files, as scipy's matrices have them.

use std::path::Path;

use absentia_io::npy::{Array, Data, read_file, write_file};
use anyhow::{Result, bail};

/// Writes indices.
pub(crate) fn write_u32(path: &Path, shape: &[usize], values: &[u32]) -> Result<()> {
    let signed: &[i32] = bytemuck::cast_slice(values);
    Ok(write_file(path, shape, signed)?)
}

/// Writes offsets.
pub(crate) fn write_u64(path: &Path, shape: &[usize], values: &[u64]) -> Result<()> {
    let signed: &[i64] = bytemuck::cast_slice(values);
    Ok(write_file(path, shape, signed)?)
}

/// Reads indices and their shape.
pub(crate) fn read_u32(path: &Path) -> Result<(Vec<usize>, Vec<u32>)> {
    match read_file(path)? {
        Array {
            shape,
            data: Data::I32(values),
        } => Ok((shape, values.into_iter().map(i32::cast_unsigned).collect())),
        _ => bail!("{} does not hold 32-bit integers", path.display()),
    }
}

/// Reads offsets.
pub(crate) fn read_u64(path: &Path) -> Result<Vec<u64>> {
    match read_file(path)?.data {
        Data::I64(values) => Ok(values.into_iter().map(i64::cast_unsigned).collect()),
        _ => bail!("{} does not hold 64-bit integers", path.display()),
    }
}

/// Reads factors and their shape.
pub(crate) fn read_f32(path: &Path) -> Result<(Vec<usize>, Vec<f32>)> {
    match read_file(path)? {
        Array {
            shape,
            data: Data::F32(values),
        } => Ok((shape, values)),
        _ => bail!("{} does not hold 32-bit floats", path.display()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_back() {
        let path = std::env::temp_dir().join(format!("absentia-bench-{}.npy", std::process::id()));
        write_u32(&path, &[2, 2], &[1, 2, 3, u32::MAX]).unwrap();
        let read = read_u32(&path).unwrap();
        assert_eq!(read, (vec![2, 2], vec![1, 2, 3, u32::MAX]));
        assert!(read_f32(&path).is_err());
        write_u64(&path, &[3], &[1, 2, 1 << 40]).unwrap();
        assert_eq!(read_u64(&path).unwrap(), [1, 2, 1 << 40]);
        std::fs::remove_file(path).unwrap();
    }
}
