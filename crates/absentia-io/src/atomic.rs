//! Files that appear all at once or not at all.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;

use crate::error::Error;
use crate::remains;
use crate::standard::is_standard;

/// A file that is written next to the one it will replace.
///
/// Until [`commit`](Self::commit) succeeds the old file stays as it was; a dropped `AtomicFile` leaves no trace.
/// A link stays a link, and what it leads to is replaced. What is not a regular file, such as a pipe or
/// a device, is written to as it is; `-` is standard output.
#[derive(Debug)]
pub struct AtomicFile {
    path: PathBuf,
    writer: Writer,
}

#[derive(Debug)]
enum Writer {
    /// A file in the same folder, which takes the place of the old one in the end.
    Temporary(BufWriter<NamedTempFile>),
    /// What is not a regular file.
    Direct(BufWriter<File>),
    /// Standard output.
    Standard(BufWriter<io::Stdout>),
}

/// Bytes that are gathered before they are written.
const BUFFER: usize = 1 << 20;

impl AtomicFile {
    /// Starts a file in the folder of `path`.
    ///
    /// # Errors
    /// The folder does not exist or cannot be written to; `path` is a folder itself.
    pub fn create(path: &Path) -> Result<Self, Error> {
        if is_standard(path) {
            return Ok(Self {
                path: path.to_owned(),
                writer: Writer::Standard(BufWriter::with_capacity(BUFFER, io::stdout())),
            });
        }
        let path = &without_links(path);
        if path.is_symlink() {
            let error = io::Error::other("is a link that leads back to itself");
            return Err(Error::io(path)(error));
        }
        match std::fs::metadata(path) {
            Ok(found) if found.is_dir() => {
                let error = io::Error::new(io::ErrorKind::IsADirectory, "is a folder");
                return Err(Error::io(path)(error));
            }
            Ok(found) if !found.is_file() => {
                let file = File::options().write(true).open(path);
                return Ok(Self {
                    path: path.clone(),
                    writer: Writer::Direct(BufWriter::with_capacity(
                        BUFFER,
                        file.map_err(Error::io(path))?,
                    )),
                });
            }
            _ => {}
        }
        let folder = folder_of(path);
        if !folder.is_dir() {
            let missing = format!("folder {} does not exist", folder.display());
            return Err(Error::io(path)(io::Error::new(
                io::ErrorKind::NotFound,
                missing,
            )));
        }
        remains::remove(folder);
        let file = remains::create(folder, path).map_err(without_path);
        let file = file.map_err(Error::io(path))?;
        Ok(Self {
            path: path.clone(),
            writer: Writer::Temporary(BufWriter::with_capacity(BUFFER, file)),
        })
    }

    /// Replaces a file by one with these bytes.
    ///
    /// # Errors
    /// As [`create`](Self::create) and [`commit`](Self::commit).
    pub fn write_whole(path: &Path, bytes: &[u8]) -> Result<(), Error> {
        let mut file = Self::create(path)?;
        file.write_all(bytes).map_err(Error::io(path))?;
        file.commit()
    }

    /// Flushes to disk and takes the place of the old file.
    ///
    /// # Errors
    /// The disk is full or refuses; the old file is then as it was.
    pub fn commit(self) -> Result<(), Error> {
        let Self { path, writer } = self;
        let writer = match writer {
            Writer::Temporary(writer) => writer,
            Writer::Direct(mut writer) => return writer.flush().map_err(Error::io(&path)),
            Writer::Standard(mut writer) => return writer.flush().map_err(Error::io(&path)),
        };
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
        match &mut self.writer {
            Writer::Temporary(writer) => writer.write(bytes),
            Writer::Direct(writer) => writer.write(bytes),
            Writer::Standard(writer) => writer.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match &mut self.writer {
            Writer::Temporary(writer) => writer.flush(),
            Writer::Direct(writer) => writer.flush(),
            Writer::Standard(writer) => writer.flush(),
        }
    }
}

impl io::Seek for AtomicFile {
    fn seek(&mut self, to: io::SeekFrom) -> io::Result<u64> {
        match &mut self.writer {
            Writer::Temporary(writer) => writer.seek(to),
            Writer::Direct(writer) => writer.seek(to),
            Writer::Standard(_) => Err(io::ErrorKind::NotSeekable.into()),
        }
    }
}

/// Where a link leads to in the end, there or not; other paths as they are.
#[must_use]
pub fn without_links(path: &Path) -> PathBuf {
    // More links than the system follows are a circle.
    const LINKS: usize = 40;
    let mut path = path.to_owned();
    for _ in 0..LINKS {
        match std::fs::read_link(&path) {
            Ok(target) => path = folder_of(&path).join(target),
            Err(_) => break,
        }
    }
    path
}

/// The cause without the name of the temporary file, which means nothing to the user.
fn without_path(error: io::Error) -> io::Error {
    let cause = error.get_ref().and_then(|inner| inner.source());
    match cause.map(ToString::to_string) {
        Some(cause) => io::Error::new(error.kind(), cause),
        None => error,
    }
}

pub(crate) fn folder_of(path: &Path) -> &Path {
    path.parent()
        .filter(|folder| !folder.as_os_str().is_empty())
        .unwrap_or(Path::new("."))
}

/// Makes the renaming itself durable, on file systems that can.
pub(crate) fn sync_folder(folder: &Path) {
    if let Ok(folder) = File::open(folder) {
        let _ = folder.sync_all();
    }
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

    #[cfg(unix)]
    #[test]
    fn links_stay_and_lead_to_the_new_file() {
        let folder = tempfile::tempdir().unwrap();
        let (link, target) = (folder.path().join("link"), folder.path().join("sub/x"));
        std::fs::create_dir(folder.path().join("sub")).unwrap();
        std::os::unix::fs::symlink("sub/x", &link).unwrap();
        for text in ["first", "second"] {
            let mut file = AtomicFile::create(&link).unwrap();
            file.write_all(text.as_bytes()).unwrap();
            file.commit().unwrap();
            assert_eq!(std::fs::read_to_string(&target).unwrap(), text);
            assert!(link.symlink_metadata().unwrap().is_symlink());
        }
    }

    #[cfg(unix)]
    #[test]
    fn what_is_no_file_is_written_to_and_stays() {
        use std::os::unix::fs::FileTypeExt;
        let folder = tempfile::tempdir().unwrap();
        let pipe = folder.path().join("pipe");
        let made = std::process::Command::new("mkfifo").arg(&pipe).status();
        assert!(made.unwrap().success());
        let reader = std::thread::spawn({
            let pipe = pipe.clone();
            move || std::fs::read_to_string(pipe).unwrap()
        });
        let mut file = AtomicFile::create(&pipe).unwrap();
        file.write_all(b"through").unwrap();
        file.commit().unwrap();
        assert_eq!(reader.join().unwrap(), "through");
        assert!(pipe.symlink_metadata().unwrap().file_type().is_fifo());
    }

    #[cfg(unix)]
    #[test]
    fn a_link_that_leads_nowhere_but_back_stays() {
        let folder = tempfile::tempdir().unwrap();
        let (one, two) = (folder.path().join("one"), folder.path().join("two"));
        std::os::unix::fs::symlink("two", &one).unwrap();
        std::os::unix::fs::symlink("one", &two).unwrap();
        let error = AtomicFile::write_whole(&one, b"new").unwrap_err();
        assert!(
            error.to_string().ends_with("leads back to itself"),
            "{error}"
        );
        assert!(one.is_symlink() && two.is_symlink());
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 2);
    }

    #[test]
    fn what_a_killed_run_left_is_removed_and_what_is_written_now_stays() {
        let folder = tempfile::tempdir().unwrap();
        let left = folder.path().join(".absentia-a1B2c3.tmp");
        let others = [".absentia-notes", ".absentia-a1B2c3.tmp.gz", "x.tmp"];
        std::fs::write(&left, "half of a model").unwrap();
        for name in others {
            std::fs::write(folder.path().join(name), "kept").unwrap();
        }
        let path = folder.path().join("model");
        let mut first = AtomicFile::create(&path).unwrap();
        assert!(!left.exists());
        // What another run writes at the same time is not what a killed one left.
        first.write_all(b"first").unwrap();
        assert_eq!(remains::removed_from(folder.path()), 0);
        first.commit().unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"first");
        let names = std::fs::read_dir(folder.path()).unwrap().count();
        assert_eq!(names, others.len() + 1);
    }

    #[test]
    fn a_folder_is_not_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let error = AtomicFile::create(folder.path()).unwrap_err();
        assert!(error.to_string().ends_with("is a folder"));
    }

    #[test]
    fn a_missing_folder_is_named() {
        let error = AtomicFile::create(Path::new("no/such/folder/x")).unwrap_err();
        let expected = "no/such/folder/x: folder no/such/folder does not exist";
        assert_eq!(error.to_string(), expected);
    }
}
