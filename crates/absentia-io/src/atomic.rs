//! Files that appear all at once or not at all.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;

use crate::error::Error;

/// A file being written beside the one it will replace.
///
/// Until [`commit`](Self::commit) succeeds the old file stays as it was; a dropped `AtomicFile` leaves no trace.
#[derive(Debug)]
pub struct AtomicFile {
    path: PathBuf,
    writer: BufWriter<NamedTempFile>,
}

impl AtomicFile {
    /// Starts a file in the folder of `path`.
    ///
    /// # Errors
    /// The folder does not exist or cannot be written to.
    pub fn create(path: &Path) -> Result<Self, Error> {
        let folder = folder_of(path);
        if !folder.is_dir() {
            let missing = format!("folder {} does not exist", folder.display());
            return Err(Error::io(path)(io::Error::new(
                io::ErrorKind::NotFound,
                missing,
            )));
        }
        let mut builder = tempfile::Builder::new();
        builder.prefix(".absentia-");
        #[cfg(unix)]
        builder.permissions(permissions(path));
        let file = builder.tempfile_in(folder).map_err(without_path);
        let file = file.map_err(Error::io(path))?;
        Ok(Self {
            path: path.to_owned(),
            writer: BufWriter::with_capacity(1 << 20, file),
        })
    }

    /// Flushes to disk and takes the place of the old file.
    ///
    /// # Errors
    /// The disk is full or refuses; the old file is then as it was.
    pub fn commit(self) -> Result<(), Error> {
        let Self { path, writer } = self;
        let file = writer
            .into_inner()
            .map_err(|e| Error::io(&path)(e.into_error()))?;
        file.as_file().sync_all().map_err(Error::io(&path))?;
        file.persist(&path).map_err(|e| Error::io(&path)(e.error))?;
        sync_folder(folder_of(&path));
        Ok(())
    }
}

impl Write for AtomicFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.writer.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.writer.flush()
    }
}

impl io::Seek for AtomicFile {
    fn seek(&mut self, to: io::SeekFrom) -> io::Result<u64> {
        self.writer.seek(to)
    }
}

/// The cause alone, for nobody knows the file that `tempfile` names.
fn without_path(error: io::Error) -> io::Error {
    let cause = error.get_ref().and_then(|inner| inner.source());
    match cause.map(ToString::to_string) {
        Some(cause) => io::Error::new(error.kind(), cause),
        None => error,
    }
}

fn folder_of(path: &Path) -> &Path {
    path.parent()
        .filter(|folder| !folder.as_os_str().is_empty())
        .unwrap_or(Path::new("."))
}

/// Makes the renaming itself durable; file systems that cannot are left to their own ways.
fn sync_folder(folder: &Path) {
    if let Ok(folder) = File::open(folder) {
        let _ = folder.sync_all();
    }
}

/// Those of the file that is replaced, or what the process would give a new one.
#[cfg(unix)]
fn permissions(path: &Path) -> std::fs::Permissions {
    use std::os::unix::fs::PermissionsExt;
    std::fs::metadata(path).map_or_else(
        |_| std::fs::Permissions::from_mode(0o666),
        |old| old.permissions(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_old_file_stays_until_commit() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x");
        std::fs::write(&path, "old").unwrap();
        let mut file = AtomicFile::create(&path).unwrap();
        file.write_all(b"new").unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"old");
        drop(file);
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
        let mut file = AtomicFile::create(&path).unwrap();
        file.write_all(b"new").unwrap();
        file.commit().unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"new");
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_missing_folder_is_named() {
        let error = AtomicFile::create(Path::new("no/such/folder/x")).unwrap_err();
        let expected = "no/such/folder/x: folder no/such/folder does not exist";
        assert_eq!(error.to_string(), expected);
    }
}
