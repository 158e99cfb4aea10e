//! Two folders that change places at once.

use std::fs::{self, FileType};
use std::io;
use std::path::Path;

/// The folder that a folder is in; if the folder cannot be replaced as a whole, the reason.
pub(super) fn parent_of<'f>(folder: &'f Path, names: &[String]) -> Result<&'f Path, String> {
    let parent = folder.parent().ok_or("it is no folder in another one")?;
    let current = std::env::current_dir().and_then(|current| current.canonicalize());
    if current.is_ok_and(|current| current == folder) {
        return Err("it is the current folder, which cannot be exchanged".to_owned());
    }
    if is_mounted(folder, parent) {
        return Err("it is where a file system is mounted".to_owned());
    }
    let entries = fs::read_dir(folder).map_err(|error| error.to_string())?;
    for entry in entries {
        let entry = entry.map_err(|error| error.to_string())?;
        let kind = entry.file_type().map_err(|error| error.to_string())?;
        let name = entry.file_name();
        let shown = name.to_string_lossy();
        if kind.is_dir() {
            return Err(format!("it has the folder {shown} in it"));
        }
        let is_member = names.iter().any(|member| name == member.as_str());
        if is_member && !kind.is_file() {
            return Err(format!("{shown} is no plain file"));
        }
    }
    Ok(parent)
}

#[cfg(unix)]
fn is_mounted(folder: &Path, parent: &Path) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    let device = |path: &Path| path.metadata().map(|found| found.dev()).ok();
    device(folder) != device(parent)
}

#[cfg(not(unix))]
fn is_mounted(_: &Path, _: &Path) -> bool {
    false
}

/// Links all other files of a folder into the new one, and exchanges the two.
pub(super) fn commit(folder: &Path, new: &Path, names: &[String]) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let (name, to) = (entry.file_name(), new.join(entry.file_name()));
        if !names.iter().any(|member| name == member.as_str()) {
            link(&entry.path(), entry.file_type()?, &to)?;
        } else if to.is_file() {
            fs::set_permissions(&to, entry.metadata()?.permissions())?;
        }
    }
    own_like(folder, new)?;
    exchange(folder, new)
}

/// Gives a file a second name; a link is copied.
fn link(from: &Path, kind: FileType, to: &Path) -> io::Result<()> {
    #[cfg(unix)]
    if kind.is_symlink() {
        return std::os::unix::fs::symlink(fs::read_link(from)?, to);
    }
    if kind.is_dir() {
        return Err(io::Error::other("a folder has appeared in it"));
    }
    fs::hard_link(from, to)
}

/// Gives a folder the owner and the permissions of another one.
#[cfg(unix)]
fn own_like(folder: &Path, new: &Path) -> io::Result<()> {
    use std::os::unix::fs::MetadataExt as _;
    let (old, own) = (folder.metadata()?, new.metadata()?);
    if (old.uid(), old.gid()) != (own.uid(), own.gid()) {
        std::os::unix::fs::chown(new, Some(old.uid()), Some(old.gid()))?;
    }
    fs::set_permissions(new, old.permissions())
}

#[cfg(not(unix))]
fn own_like(_: &Path, _: &Path) -> io::Result<()> {
    Ok(())
}

#[cfg(any(target_os = "linux", target_os = "android", target_vendor = "apple"))]
pub(super) fn exchange(one: &Path, two: &Path) -> io::Result<()> {
    use rustix::fs::{CWD, RenameFlags, renameat_with};
    Ok(renameat_with(CWD, one, CWD, two, RenameFlags::EXCHANGE)?)
}

#[cfg(not(any(target_os = "linux", target_os = "android", target_vendor = "apple")))]
pub(super) fn exchange(_: &Path, _: &Path) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}
