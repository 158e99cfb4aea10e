//! Arrays that are exchanged with other contenders as `.npy` files.
//!
//! Integers are signed in the files, as scipy's matrices have them.

use std::path::Path;

use absentia_io::npy::{Array, Data, read_file, write_file};
use anyhow::{Result, bail};

/// Writes indices.
pub(crate) fn write_u32(path: &Path, shape: &[usize], values: &[u32]) -> Result<()> {
    Ok(write_file::<i32>(
        path,
        shape,
        bytemuck::cast_slice(values),
    )?)
}

/// Writes offsets.
pub(crate) fn write_u64(path: &Path, shape: &[usize], values: &[u64]) -> Result<()> {
    Ok(write_file::<i64>(
        path,
        shape,
        bytemuck::cast_slice(values),
    )?)
}

/// Reads indices and their shape.
pub(crate) fn read_u32(path: &Path) -> Result<(Vec<usize>, Vec<u32>)> {
    let Array { shape, data } = read_file(path)?;
    let Data::I32(values) = data else {
        bail!("{} holds no 32-bit integers", path.display());
    };
    Ok((shape, values.into_iter().map(i32::cast_unsigned).collect()))
}

/// Reads offsets.
pub(crate) fn read_u64(path: &Path) -> Result<Vec<u64>> {
    let Data::I64(values) = read_file(path)?.data else {
        bail!("{} holds no 64-bit integers", path.display());
    };
    Ok(values.into_iter().map(i64::cast_unsigned).collect())
}

/// Reads factors and their shape.
pub(crate) fn read_f32(path: &Path) -> Result<(Vec<usize>, Vec<f32>)> {
    let Array { shape, data } = read_file(path)?;
    let Data::F32(values) = data else {
        bail!("{} holds no floats of 32 bits", path.display());
    };
    Ok((shape, values))
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
