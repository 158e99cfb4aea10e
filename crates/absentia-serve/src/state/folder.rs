//! The data folder: the database, the saved states, and the lock that keeps a second server out.

use std::collections::HashSet;
use std::fs::{self, File};
use std::path::{Path, PathBuf};

use absentia_io::model::file_of_model;
use absentia_job::Listener;
use absentia_online::{LearnError, Learner, Opening, Record, open};

use crate::error::ServeError;
use crate::store::{Digest, StoreReader, digest_of, hex, user_digest};

/// Records that are read at a time.
const CHUNK: usize = 10_000;

/// The folder of a server.
#[derive(Debug)]
pub struct Folder {
    path: PathBuf,
    _lock: File,
}

/// A model that has learned all records up to one.
#[derive(Debug)]
pub struct Opened {
    /// The model.
    pub learner: Learner,
    /// The last record that it has learned.
    pub sequence: u64,
    /// What went wrong with newer states, in sentences.
    pub warnings: Vec<String>,
}

/// A file of [`Folder`].
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct StateFile {
    version: u64,
    sequence: u64,
    /// Whether it is the model as it was trained and nothing else.
    is_trained: bool,
    path: PathBuf,
}

/// The end of the name of a model as it was trained.
const TRAINED: &str = "-trained";

impl StateFile {
    fn of(path: PathBuf) -> Option<Self> {
        let name = path.file_name()?.to_str()?.strip_suffix(".absentia")?;
        let trained = name.strip_suffix(TRAINED);
        let (version, sequence) = trained.unwrap_or(name).split_once('-')?;
        let (version, sequence) = (version.parse().ok()?, sequence.parse().ok()?);
        let is_trained = trained.is_some();
        Some(Self {
            version,
            sequence,
            is_trained,
            path,
        })
    }
}

/// Reads files without saying anything.
pub(crate) struct Silent;

impl Listener for Silent {}

impl Folder {
    /// Opens a folder or makes it.
    ///
    /// # Errors
    /// A folder that another server uses, or that cannot be written.
    pub fn open(path: &Path) -> Result<Self, ServeError> {
        let shown = path.display().to_string();
        for folder in [path.to_owned(), path.join("states"), path.join("incoming")] {
            fs::create_dir_all(folder).map_err(ServeError::io(&shown))?;
        }
        let lock = File::create(path.join("lock")).map_err(ServeError::io(&shown))?;
        match lock.try_lock() {
            Ok(()) => Ok(Self {
                path: path.to_owned(),
                _lock: lock,
            }),
            Err(fs::TryLockError::WouldBlock) => Err(ServeError::InUse(shown)),
            Err(fs::TryLockError::Error(source)) => Err(ServeError::Io {
                what: shown,
                source,
            }),
        }
    }

    /// The database of a folder.
    #[must_use]
    pub fn database(folder: &Path) -> PathBuf {
        folder.join("events.db")
    }

    /// Where it is.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The file of a state.
    #[must_use]
    pub fn state(&self, version: u64, sequence: u64) -> PathBuf {
        let name = format!("{version}-{sequence}.absentia");
        self.path.join("states").join(name)
    }

    /// A file in the folder of models that wait to be registered, if the name is that of a file.
    #[must_use]
    pub fn incoming(&self, name: &str) -> Option<PathBuf> {
        let is_plain =
            !name.is_empty() && !name.starts_with('.') && !name.contains(['/', '\\', '\0']);
        is_plain.then(|| self.path.join("incoming").join(name))
    }

    /// All files of states.
    fn files(&self) -> Vec<StateFile> {
        let Ok(entries) = fs::read_dir(self.path.join("states")) else {
            return Vec::new();
        };
        let mut files: Vec<StateFile> = entries
            .filter_map(|entry| StateFile::of(entry.ok()?.path()))
            .collect();
        files.sort();
        files
    }

    /// States that can be served, oldest first.
    fn states(&self) -> impl DoubleEndedIterator<Item = StateFile> {
        let files = self.files().into_iter();
        files.filter(|file| !file.is_trained)
    }

    /// The model of a version as it was trained, without users that were erased since, and the last record that
    /// it knows: a file of its own once a user was erased, the oldest state before.
    #[must_use]
    pub fn as_trained(&self, version: u64) -> Option<(PathBuf, u64)> {
        let files = self.files().into_iter();
        let own = files.filter(|file| file.version == version);
        let first = own.min_by_key(|file| (!file.is_trained, file.sequence))?;
        Some((first.path, first.sequence))
    }

    /// Makes the oldest state of a version the model as it was trained, if it is older than a record and there
    /// is no such file yet.
    ///
    /// # Errors
    /// A file that cannot be renamed.
    pub fn keep_trained(&self, version: u64, sequence: u64) -> Result<(), ServeError> {
        let files = self.files();
        let mut own = files.iter().filter(|file| file.version == version);
        if own.clone().any(|file| file.is_trained) {
            return Ok(());
        }
        let Some(oldest) = own.next().filter(|file| file.sequence < sequence) else {
            return Ok(());
        };
        let name = format!("{version}-{}{TRAINED}.absentia", oldest.sequence);
        let path = self.path.join("states").join(name);
        let renamed = fs::rename(&oldest.path, &path);
        renamed.map_err(ServeError::io(path.display().to_string()))
    }

    /// Removes states of a version but the newest two and the first.
    pub fn thin(&self, version: u64) {
        let own: Vec<_> = self
            .states()
            .filter(|file| file.version == version)
            .collect();
        for file in own.iter().skip(1).rev().skip(2) {
            let _ = fs::remove_file(&file.path);
        }
    }

    /// Removes all states of a version before one.
    pub fn forget_before(&self, version: u64, sequence: u64) {
        for file in self.states() {
            if file.version == version && file.sequence < sequence {
                let _ = fs::remove_file(&file.path);
            }
        }
    }

    /// Removes states of versions that are not registered, which a crash may leave.
    pub fn remove_unregistered(&self, registered: &[u64]) {
        for file in self.files() {
            if !registered.contains(&file.version) {
                let _ = fs::remove_file(&file.path);
            }
        }
    }

    /// Loads the newest whole state of a version. States that know more than the last record are left out:
    /// they are from another database, such as the one before a backup was restored.
    ///
    /// # Errors
    /// No state can be loaded.
    pub fn load(
        &self,
        version: u64,
        last: u64,
        listener: &dyn Listener,
    ) -> Result<Opened, ServeError> {
        let mut warnings = Vec::new();
        let mut failure = None;
        for file in self.states().rev() {
            if file.version != version {
                continue;
            }
            if file.sequence > last {
                let path = file.path.display();
                warnings.push(format!("{path}: the database ends at record {last}"));
                continue;
            }
            match open(&file.path, &Opening::default(), listener) {
                Ok(learner) => {
                    return Ok(Opened {
                        learner,
                        sequence: file.sequence,
                        warnings,
                    });
                }
                Err(error) => {
                    warnings.push(format!("{}: {error}", file.path.display()));
                    failure = Some(error);
                }
            }
        }
        Err(match failure {
            Some(error) => error.into(),
            None => ServeError::NoModel(self.path.display().to_string()),
        })
    }

    /// Rewrites all files without a user but the states of one version.
    ///
    /// # Errors
    /// A state that cannot be read or written.
    pub fn erase_from_others(&self, active: u64, user: &str) -> Result<(), ServeError> {
        for file in self.files() {
            if file.version == active && !file.is_trained {
                continue;
            }
            let mut learner = open(&file.path, &Opening::default(), &Silent)?;
            if learner.erase_with_id(user).is_ok() {
                learner.save(&file.path)?;
            }
        }
        Ok(())
    }
}

/// Opens a model file that is to be registered; erased users are erased from it.
///
/// # Errors
/// A file that cannot be read, or a model that cannot learn from events.
pub(crate) fn import(
    path: &Path,
    opening: &Opening,
    erased: &[Digest],
    listener: &dyn Listener,
) -> Result<Learner, ServeError> {
    let mut learner = open(path, opening, listener)?;
    if !erased.is_empty() {
        let erased: HashSet<&Digest> = erased.iter().collect();
        let users = learner.ids().users.iter();
        let gone = users.filter(|user| erased.contains(&user_digest(user)));
        let gone: Vec<String> = gone.map(std::borrow::Cow::into_owned).collect();
        for user in gone {
            learner.erase_with_id(&user)?;
        }
    }
    Ok(learner)
}

/// The digest of a model, which is a file or a folder.
///
/// # Errors
/// It cannot be read.
pub(crate) fn model_digest(path: &Path) -> Result<String, ServeError> {
    let path = file_of_model(path);
    let bytes = fs::read(&path).map_err(|source| {
        let error = absentia_io::Error::Io { path, source };
        ServeError::Learn(error.into())
    })?;
    Ok(hex(&digest_of(&[&bytes])))
}

/// Applies a record; the id of a user who is erased goes as well.
///
/// # Errors
/// What the model rejects.
pub(crate) fn apply(learner: &mut Learner, record: &Record) -> Result<(), LearnError> {
    match record {
        Record::Erase { user } => learner.erase_with_id(user)?,
        record => learner.apply(record)?,
    };
    Ok(())
}

impl Opened {
    /// Applies the records after the state, up to the last one.
    ///
    /// # Errors
    /// The database cannot be read or is damaged.
    pub fn replay(&mut self, store: &dyn StoreReader) -> Result<u64, ServeError> {
        let mut replayed = 0;
        loop {
            let records = store.records(self.sequence, CHUNK)?;
            let Some(&(last, _)) = records.last() else {
                return Ok(replayed);
            };
            for record in records.iter().filter_map(|(_, record)| record.as_ref()) {
                // What is rejected now was rejected before.
                let _ = apply(&mut self.learner, record);
                replayed += 1;
            }
            self.sequence = last;
        }
    }
}
