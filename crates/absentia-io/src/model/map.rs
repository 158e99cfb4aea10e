//! Files mapped into memory: the only unsafe code of this crate.

use std::fs::File;
use std::marker::PhantomData;
use std::ops::{Deref, Range};
use std::path::{Path, PathBuf};
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

/// Files one after the other in memory, as one list of floats.
pub(super) struct JoinedMaps {
    numbers: Joined,
    /// Where each file ends, in bytes.
    ends: Vec<usize>,
}

enum Joined {
    #[cfg(unix)]
    Mapped(Region),
    Read(Vec<f32>),
}

impl JoinedMaps {
    /// Maps files of these lengths. Where they do not end on the borders of pages, they are read instead.
    pub(super) fn open(files: &[(PathBuf, u64)]) -> Result<Self, Error> {
        let (mut ends, mut end) = (Vec::new(), 0_usize);
        for (path, expected) in files {
            let found = std::fs::metadata(path).map_err(Error::io(path))?.len();
            if found != *expected {
                let detail = format!("{found} bytes, expected {expected}");
                return Err(Error::corrupt(path, super::folder::FACTOR_FILE, detail));
            }
            end += found as usize;
            ends.push(end);
        }
        #[cfg(unix)]
        if let Some(region) = Region::map(files, &ends)? {
            let numbers = Joined::Mapped(region);
            return Ok(Self { numbers, ends });
        }
        let mut numbers = vec![0_f32; end / 4];
        let bytes: &mut [u8] = bytemuck::cast_slice_mut(&mut numbers);
        let mut start = 0;
        for ((path, _), end) in files.iter().zip(&ends) {
            let file = File::open(path).map_err(Error::io(path))?;
            let mut file = std::io::BufReader::new(file);
            std::io::Read::read_exact(&mut file, &mut bytes[start..*end])
                .map_err(Error::io(path))?;
            start = *end;
        }
        let numbers = Joined::Read(numbers);
        Ok(Self { numbers, ends })
    }

    /// The bytes of a file.
    pub(super) fn bytes(&self, file: usize) -> &[u8] {
        let start = if file == 0 { 0 } else { self.ends[file - 1] };
        &bytemuck::cast_slice(self.as_ref())[start..self.ends[file]]
    }
}

impl AsRef<[f32]> for JoinedMaps {
    fn as_ref(&self) -> &[f32] {
        match &self.numbers {
            #[cfg(unix)]
            Joined::Mapped(region) => bytemuck::cast_slice(region.bytes()),
            Joined::Read(numbers) => numbers,
        }
    }
}

/// A range of addresses with files mapped into it side by side.
#[cfg(unix)]
struct Region {
    start: *mut libc::c_void,
    length: usize,
}

// SAFETY: the range belongs to this value alone, and any thread may unmap it.
#[cfg(unix)]
#[allow(unsafe_code)]
unsafe impl Send for Region {}
// SAFETY: a shared region is only read, its bytes do not change, and nothing unmaps it before it is dropped.
#[cfg(unix)]
#[allow(unsafe_code)]
unsafe impl Sync for Region {}

#[cfg(unix)]
#[allow(unsafe_code)]
impl Region {
    /// Maps files that end at `ends`, if all but the last end on the border of a page.
    fn map(files: &[(PathBuf, u64)], ends: &[usize]) -> Result<Option<Self>, Error> {
        use std::os::fd::AsRawFd;

        // SAFETY: asks for a number.
        let page = usize::try_from(unsafe { libc::sysconf(libc::_SC_PAGESIZE) }).unwrap_or(0);
        let Some((&length, before)) = ends.split_last() else {
            return Ok(None);
        };
        if length == 0 || page == 0 || before.iter().any(|end| end % page != 0) {
            return Ok(None);
        }
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
        // SAFETY: a new range of addresses that nothing else has.
        let start =
            unsafe { libc::mmap(std::ptr::null_mut(), length, libc::PROT_NONE, flags, -1, 0) };
        if start == libc::MAP_FAILED {
            return Ok(None);
        }
        // Unmapped when it is dropped, also where a file cannot be mapped.
        let region = Self { start, length };
        let mut at = 0;
        for ((path, _), end) in files.iter().zip(ends) {
            if *end == at {
                continue;
            }
            let file = File::open(path).map_err(Error::io(path))?;
            let flags = libc::MAP_PRIVATE | libc::MAP_FIXED;
            // SAFETY: the addresses from `at` to `end` are within the region, which nobody else has, and begin a page. That
            // the file is not shortened or written into while it is mapped is asked of callers, as by `FileMap::map`.
            let mapped = unsafe {
                let place = region.start.byte_add(at);
                libc::mmap(place, end - at, libc::PROT_READ, flags, file.as_raw_fd(), 0)
            };
            if mapped == libc::MAP_FAILED {
                return Err(Error::io(path)(std::io::Error::last_os_error()));
            }
            at = *end;
        }
        Ok(Some(region))
    }

    fn bytes(&self) -> &[u8] {
        // SAFETY: all of the region is mapped readable as long as it lives, and files had these lengths when they were
        // mapped.
        unsafe { std::slice::from_raw_parts(self.start.cast(), self.length) }
    }
}

#[cfg(unix)]
#[allow(unsafe_code)]
impl Drop for Region {
    fn drop(&mut self) {
        // SAFETY: the range is this region's, and no slice of it outlives it.
        unsafe { libc::munmap(self.start, self.length) };
    }
}
