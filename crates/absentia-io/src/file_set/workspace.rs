//! The folder that a set is written in, and what killed runs left of theirs.
//!
//! `record` names the folder of the set and its files, and is locked for as long as its process lives.
//! `new` is the folder with the new files; after an exchange, it is the old one.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::exchange::exchange;
use crate::remains;

const RECORD: &str = "record";
const NEW: &str = "new";
const OTHER: &str = "other";

/// A folder of this process. What is in it when it is dropped is removed, unless it belongs to somebody
/// else.
#[derive(Debug)]
pub(super) struct Workspace {
    path: PathBuf,
    /// Open, so that it stays locked.
    #[allow(dead_code, reason = "the lock ends when the file is closed")]
    record: File,
}

/// The folder of a set and its files.
#[derive(Default, Deserialize, Serialize)]
struct SetRecord {
    /// Its name in the folder of the workspace; nothing for that folder itself.
    folder: Option<OsString>,
    names: Vec<String>,
}

impl Workspace {
    /// Makes a workspace in a folder, for files of that folder or of one in it.
    pub(super) fn create(place: &Path, folder: &Path, names: &[String]) -> io::Result<Self> {
        let name = folder.file_name().filter(|_| folder != place);
        let record = SetRecord {
            folder: name.map(Into::into),
            names: names.to_vec(),
        };
        let text = serde_json::to_vec(&record)?;
        loop {
            let path = remains::new_name().tempdir_in(place)?.keep();
            let mut record = match File::create_new(path.join(RECORD)) {
                // Another run took it for left behind.
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                record => record?,
            };
            // Where files cannot be locked, none is taken for left behind either.
            let _ = record.lock_shared();
            let written = record.write_all(&text);
            if path.join(RECORD).exists() {
                let workspace = Self { path, record };
                written?;
                fs::create_dir(workspace.new_folder())?;
                return Ok(workspace);
            }
        }
    }

    /// Tries whether folders can be exchanged here.
    pub(super) fn try_exchange(&self) -> io::Result<()> {
        let other = self.path.join(OTHER);
        fs::create_dir(&other)?;
        exchange(&self.new_folder(), &other)?;
        fs::remove_dir(other)
    }

    pub(super) fn new_folder(&self) -> PathBuf {
        self.path.join(NEW)
    }

    /// Leaves everything as a killed process does.
    #[cfg(test)]
    pub(super) fn abandon(&self) {
        let _ = self.record.unlock();
    }
}

impl Drop for Workspace {
    fn drop(&mut self) {
        // What cannot be removed is removed by a later run.
        let _ = clear(&self.path);
    }
}

/// Removes the workspace of a killed run, and tells whether it did. It is locked meanwhile, so that a run
/// that has just made it finds it gone and makes another.
pub(crate) fn removed(path: &Path) -> bool {
    let Ok(record) = File::open(path.join(RECORD)) else {
        // Killed before there was a record, or made just now: both are empty.
        return fs::remove_dir(path).is_ok();
    };
    record.try_lock().is_ok() && clear(path).is_ok()
}

/// Removes a workspace. What is not known to belong to it goes to the folder of the set.
fn clear(path: &Path) -> io::Result<()> {
    let record = SetRecord::read(&path.join(RECORD))?;
    let place = path.parent().unwrap_or(path);
    let folder = record.folder.map(|name| place.join(name));
    let folder = folder.as_deref().unwrap_or(place);
    let (new, other) = (path.join(NEW), path.join(OTHER));
    if new.is_dir() {
        for entry in fs::read_dir(&new)? {
            let entry = entry?;
            let is_member = |name: &String| entry.file_name() == name.as_str();
            let to = folder.join(entry.file_name());
            if record.names.iter().any(is_member) || remains::is_removed(&entry.path()) {
                remove(&entry.path())?;
            } else if to.symlink_metadata().is_err() {
                fs::rename(entry.path(), to)?;
            } else {
                // A second name of what is in the folder.
                fs::remove_file(entry.path())?;
            }
        }
        fs::remove_dir(&new)?;
    }
    if other.is_dir() {
        fs::remove_dir(other)?;
    }
    fs::remove_file(path.join(RECORD))?;
    fs::remove_dir(path)
}

/// Removes a file that may be gone.
fn remove(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        done => done,
    }
}

impl SetRecord {
    fn read(path: &Path) -> io::Result<Self> {
        let text = fs::read(path)?;
        if text.is_empty() {
            // Killed before it was written, and before anything else was made.
            return Ok(Self::default());
        }
        Ok(serde_json::from_slice(&text)?)
    }
}
