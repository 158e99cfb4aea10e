//! Files mapped into memory: the only unsafe code of this crate.

use std::fs::File;
use std::marker::PhantomData;
use std::ops::{Deref, Range};
use std::path::Path;
use std::sync::Arc;

use bytemuck::Pod;
use memmap2::Mmap;

use crate::error::Error;

/// The bytes of a file, kept as long as a clone lives.
#[derive(Clone, Debug)]
pub(super) struct FileMap(Arc<Mmap>);

impl FileMap {
    /// Maps a whole file that is not empty.
    pub(super) fn open(path: &Path) -> Result<Self, Error> {
        let file = File::open(path).map_err(Error::io(path))?;
        Self::map(&file).map_err(Error::io(path))
    }

    #[allow(unsafe_code)]
    fn map(file: &File) -> std::io::Result<Self> {
        // SAFETY: the map is private and read-only, and the bytes must not change while it lives.
        // This crate never writes to a model in place: it is replaced by renaming, which leaves the
        // mapped file as it was. Another program that truncates or overwrites a model in use breaks
        // this; the documentation of `load_model` says so.
        let map = unsafe { memmap2::MmapOptions::new().map_copy_read_only(file)? };
        Ok(Self(Arc::new(map)))
    }

    /// The numbers in a range of bytes, or `None` if the range is not whole aligned numbers within the file.
    pub(super) fn numbers<T: Pod>(&self, range: Range<usize>) -> Option<Mapped<T>> {
        let bytes = self.0.get(range.clone())?;
        bytemuck::try_cast_slice::<u8, T>(bytes).ok()?;
        Some(Mapped {
            map: self.clone(),
            range,
            numbers: PhantomData,
        })
    }
}

impl Deref for FileMap {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.0
    }
}

/// Numbers in a mapped file.
pub(super) struct Mapped<T> {
    map: FileMap,
    range: Range<usize>,
    numbers: PhantomData<fn() -> T>,
}

impl<T: Pod> AsRef<[T]> for Mapped<T> {
    fn as_ref(&self) -> &[T] {
        // `FileMap::numbers` has checked range and alignment, and the map does not move.
        bytemuck::cast_slice(&self.map[self.range.clone()])
    }
}

impl<T: Pod> Deref for Mapped<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        self.as_ref()
    }
}
