//! Files that are being written, and what killed runs left of theirs.
//!
//! A file is written under a name of its own, and locked for as long as its process lives: one that can be
//! locked was left by a process that is gone. Sets of files are written in a folder with such a name.

use std::collections::HashSet;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use tempfile::NamedTempFile;

use crate::file_set;

const PREFIX: &str = ".absentia-";
const SUFFIX: &str = ".tmp";
/// Random characters between the two.
const RANDOM: usize = 6;

/// Starts a file in a folder that will take the place of `path`.
pub(crate) fn create(folder: &Path, path: &Path) -> io::Result<NamedTempFile> {
    let mut builder = new_name();
    #[cfg(unix)]
    builder.permissions(permissions(path));
    #[cfg(not(unix))]
    let _ = path;
    loop {
        let file = builder.tempfile_in(folder)?;
        // Where files cannot be locked, none is taken for left behind either.
        let _ = file.as_file().lock_shared();
        // Another run may have taken it for left behind before it was locked.
        if file.path().exists() {
            return Ok(file);
        }
    }
}

/// A name of its own, for a file or a folder.
pub(crate) fn new_name() -> tempfile::Builder<'static, 'static> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(PREFIX).suffix(SUFFIX).rand_bytes(RANDOM);
    builder
}

/// Removes what killed runs left in a folder, once for each folder.
pub(crate) fn remove(folder: &Path) {
    static SEEN: Mutex<Option<HashSet<PathBuf>>> = Mutex::new(None);
    let Ok(known) = folder.canonicalize() else {
        return;
    };
    let mut seen = SEEN.lock().unwrap_or_else(PoisonError::into_inner);
    if seen.get_or_insert_default().insert(known) {
        removed_from(folder);
    }
}

/// Removes what killed runs left in a folder, and yields the number of files. What cannot be removed
/// stays: it is in nobody's way.
pub(crate) fn removed_from(folder: &Path) -> usize {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let ours = entries.filter(|entry| entry.file_name().to_str().is_some_and(is_name));
    let removed = ours.filter(|entry| {
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            file_set::removed(&entry.path())
        } else {
            is_removed(&entry.path())
        }
    });
    removed.count()
}

fn is_name(name: &str) -> bool {
    let random = name.strip_prefix(PREFIX);
    let random = random.and_then(|rest| rest.strip_suffix(SUFFIX));
    random.is_some_and(|random| {
        random.len() == RANDOM && random.bytes().all(|byte| byte.is_ascii_alphanumeric())
    })
}

/// Removes a file of such a name that nobody writes any more. It is locked meanwhile, so that a run that has just made
/// it finds it gone and makes another.
pub(crate) fn is_removed(path: &Path) -> bool {
    let is_ours = path.file_name().and_then(|name| name.to_str());
    let is_ours = is_ours.is_some_and(is_name);
    let is_file = is_ours && path.symlink_metadata().is_ok_and(|found| found.is_file());
    let Some(file) = is_file.then(|| File::open(path).ok()).flatten() else {
        return false;
    };
    file.try_lock().is_ok() && std::fs::remove_file(path).is_ok()
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
