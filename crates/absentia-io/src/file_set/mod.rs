//! Files of one folder that appear together.
//!
//! No file system replaces several files at once, but some exchange two folders at once. New files are
//! therefore written to a folder of their own ([`Workspace`]), and
//!
//! - where the folder is not there yet, that folder takes its name;
//! - where it has no file of the set, the files are moved into it, one after the other;
//! - where it has some, the other files of the folder are linked into the new folder, and the two are
//!   exchanged. A folder that cannot be exchanged stays as it is, and the set is refused.
//!
//! Whenever a process is killed, a folder that had a set holds all of the old files or all of the new.

mod exchange;
mod workspace;

use std::fs;
use std::path::{Path, PathBuf};

use crate::atomic::{folder_of, sync_folder};
use crate::error::Error;
use crate::remains;
use workspace::Workspace;
pub(crate) use workspace::removed;

/// Files that belong together, being written beside those they will replace.
///
/// Until [`commit`](Self::commit) succeeds the old files stay as they were; a dropped `FileSet` leaves
/// no trace.
#[derive(Debug)]
pub struct FileSet {
    /// The folder without links.
    folder: PathBuf,
    names: Vec<String>,
    workspace: Workspace,
    way: Way,
}

/// How the files get to their folder.
#[derive(Clone, Copy, Debug)]
enum Way {
    /// The new folder takes the name of one that is not there.
    Rename,
    /// Files are moved one by one, and replace none.
    Move,
    /// The two folders are exchanged.
    Exchange,
}

impl FileSet {
    /// Starts the set of these names in a folder, which is made if it is not there. Files of these
    /// names that are not written are removed.
    ///
    /// # Errors
    /// The folder cannot be written to; or it has files of these names and cannot be replaced as a whole.
    pub fn create<N: Into<String>>(
        folder: &Path,
        names: impl IntoIterator<Item = N>,
    ) -> Result<Self, Error> {
        let names: Vec<String> = names.into_iter().map(Into::into).collect();
        let given = folder;
        let Ok(folder) = folder.canonicalize() else {
            return Self::new_folder(folder, names);
        };
        if !folder.is_dir() {
            return Err(Error::io(given)(std::io::ErrorKind::NotADirectory.into()));
        }
        // First around the folder: what a killed run left there may belong into the folder.
        folder.parent().into_iter().for_each(remains::remove);
        remains::remove(&folder);
        let found = |name: &&String| folder.join(name).symlink_metadata().is_ok();
        let old: Vec<&str> = names.iter().filter(found).map(String::as_str).collect();
        let refused = |reason: String| Error::NotReplaceable {
            folder: given.to_owned(),
            files: old.join(", "),
            reason,
        };
        let (workspace, way) = if old.is_empty() {
            let made = Workspace::create(&folder, &folder, &names);
            (made.map_err(Error::io(given))?, Way::Move)
        } else {
            let parent = exchange::parent_of(&folder, &names).map_err(refused)?;
            let made = Workspace::create(parent, &folder, &names);
            let tried = made.and_then(|made| made.try_exchange().map(|()| made));
            let reason = |error| format!("folders beside it cannot be exchanged: {error}");
            (tried.map_err(reason).map_err(refused)?, Way::Exchange)
        };
        Ok(Self {
            folder,
            names,
            workspace,
            way,
        })
    }

    fn new_folder(folder: &Path, names: Vec<String>) -> Result<Self, Error> {
        let parent = folder_of(folder);
        fs::create_dir_all(parent).map_err(Error::io(folder))?;
        let parent = parent.canonicalize().map_err(Error::io(folder))?;
        let Some(name) = folder.file_name().filter(|_| !folder.is_symlink()) else {
            let error = std::io::Error::other("is no name for a folder");
            return Err(Error::io(folder)(error));
        };
        remains::remove(&parent);
        let folder = parent.join(name);
        let workspace = Workspace::create(&parent, &folder, &names);
        Ok(Self {
            workspace: workspace.map_err(Error::io(&folder))?,
            folder,
            names,
            way: Way::Rename,
        })
    }

    /// Lets `body` write a file of the set to the path that it has until all are complete. Errors name
    /// the path that it gets then.
    ///
    /// # Errors
    /// That of `body`.
    pub fn write<T>(
        &self,
        name: &str,
        body: impl FnOnce(&Path) -> Result<T, Error>,
    ) -> Result<T, Error> {
        body(&self.path(name)).map_err(|error| match error {
            Error::Io { path, source } => {
                let path = match path.strip_prefix(self.workspace.new_folder()) {
                    Ok(name) => self.folder.join(name),
                    Err(_) => path,
                };
                Error::Io { path, source }
            }
            error => error,
        })
    }

    fn path(&self, name: &str) -> PathBuf {
        self.workspace.new_folder().join(name)
    }

    /// Puts all files in their place.
    ///
    /// # Errors
    /// The system refuses; the old files are then as they were.
    pub fn commit(self) -> Result<(), Error> {
        let new = self.workspace.new_folder();
        sync_folder(&new);
        match self.way {
            Way::Rename => fs::rename(&new, &self.folder),
            Way::Move => self.move_files(),
            Way::Exchange => exchange::commit(&self.folder, &new, &self.names),
        }
        .map_err(Error::io(&self.folder))?;
        sync_folder(folder_of(&self.folder));
        Ok(())
    }

    fn move_files(&self) -> std::io::Result<()> {
        for name in &self.names {
            let (from, to) = (self.path(name), self.folder.join(name));
            if from.exists() {
                fs::rename(from, to)?;
            }
        }
        sync_folder(&self.folder);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(folder: &Path, text: &str, names: &[&str]) -> Result<(), Error> {
        let set = FileSet::create(folder, ["a", "b", "c"])?;
        for name in names {
            set.write(name, |path| {
                crate::AtomicFile::write_whole(path, text.as_bytes())
            })?;
        }
        set.commit()
    }

    fn contents(folder: &Path) -> Vec<(String, String)> {
        let mut found = Vec::new();
        for entry in fs::read_dir(folder).unwrap().flatten() {
            let text = fs::read_to_string(entry.path()).unwrap_or_else(|_| "folder".to_owned());
            found.push((entry.file_name().into_string().unwrap(), text));
        }
        found.sort();
        found
    }

    fn pairs(expected: &[(&str, &str)]) -> Vec<(String, String)> {
        let owned = expected
            .iter()
            .map(|(a, b)| ((*a).to_owned(), (*b).to_owned()));
        owned.collect()
    }

    #[test]
    fn a_set_is_made_replaced_and_kept_together_with_other_files() {
        let around = tempfile::tempdir().unwrap();
        let folder = around.path().join("some/out");
        write(&folder, "old", &["a", "b"]).unwrap();
        assert_eq!(contents(&folder), pairs(&[("a", "old"), ("b", "old")]));
        fs::write(folder.join("notes"), "kept").unwrap();
        #[cfg(unix)]
        std::os::unix::fs::symlink("nowhere", folder.join("link")).unwrap();
        // Nothing is left of b.
        write(&folder, "new", &["a", "c"]).unwrap();
        #[cfg(unix)]
        assert_eq!(
            fs::read_link(folder.join("link")).unwrap(),
            Path::new("nowhere")
        );
        let _ = fs::remove_file(folder.join("link"));
        let expected = [("a", "new"), ("c", "new"), ("notes", "kept")];
        assert_eq!(contents(&folder), pairs(&expected));
        assert_eq!(contents(folder.parent().unwrap()).len(), 1);
    }

    #[test]
    fn a_folder_with_other_files_gets_the_set_and_a_dropped_set_leaves_no_trace() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("deep")).unwrap();
        write(folder.path(), "first", &["a"]).unwrap();
        let expected = pairs(&[("a", "first"), ("deep", "folder")]);
        assert_eq!(contents(folder.path()), expected);
        let refused = write(folder.path(), "second", &["a"])
            .unwrap_err()
            .to_string();
        assert!(refused.contains("a cannot be replaced"), "{refused}");
        assert!(refused.contains("deep"), "{refused}");
        assert_eq!(contents(folder.path()), expected);
        let set = FileSet::create(&folder.path().join("new"), ["a"]).unwrap();
        fs::write(set.path("a"), "half").unwrap();
        drop(set);
        assert_eq!(contents(folder.path()), expected);
    }

    #[cfg(unix)]
    #[test]
    fn permissions_stay() {
        use std::os::unix::fs::PermissionsExt as _;
        let around = tempfile::tempdir().unwrap();
        let folder = around.path().join("out");
        write(&folder, "old", &["a"]).unwrap();
        let mode = |path: &Path, mode: u32| {
            fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
        };
        mode(&folder, 0o750);
        mode(&folder.join("a"), 0o640);
        write(&folder, "new", &["a"]).unwrap();
        let found = |path: &Path| path.metadata().unwrap().permissions().mode() & 0o777;
        assert_eq!((found(&folder), found(&folder.join("a"))), (0o750, 0o640));
    }

    #[test]
    fn what_a_killed_run_left_is_removed_and_other_files_come_back() {
        let around = tempfile::tempdir().unwrap();
        let folder = around.path().join("out");
        write(&folder, "old", &["a"]).unwrap();
        fs::write(folder.join("linked"), "kept").unwrap();
        // Killed after the exchange: what the workspace holds is the old folder.
        let set = FileSet::create(&folder, ["a"]).unwrap();
        fs::write(set.path("a"), "older").unwrap();
        fs::hard_link(folder.join("linked"), set.path("linked")).unwrap();
        fs::write(set.path("appeared"), "kept").unwrap();
        set.workspace.abandon();
        assert_eq!(contents(around.path()).len(), 2);
        assert_eq!(remains::removed_from(around.path()), 1);
        let expected = [("a", "old"), ("appeared", "kept"), ("linked", "kept")];
        assert_eq!(contents(&folder), pairs(&expected));
        assert_eq!(contents(around.path()).len(), 1);
        // What another run writes at the same time stays.
        let set = FileSet::create(&folder, ["a"]).unwrap();
        fs::write(set.path("a"), "new").unwrap();
        assert_eq!(remains::removed_from(around.path()), 0);
        set.commit().unwrap();
        assert_eq!(fs::read_to_string(folder.join("a")).unwrap(), "new");
    }
}
