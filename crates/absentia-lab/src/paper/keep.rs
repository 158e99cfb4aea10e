//! Finished parts on disk, so that an interrupted run can be resumed.

use std::path::{Path, PathBuf};

use absentia_io::AtomicFile;
use anyhow::{Context as _, Result};
use serde::{Deserialize, Serialize};

use super::lab::Lab;
use super::part::Block;

/// A finished part.
#[derive(Serialize, Deserialize)]
pub(super) struct StoredPart {
    /// The settings it was made with; parts with other settings are not used.
    key: String,
    pub(super) seconds: f64,
    pub(super) blocks: Vec<Block>,
}

/// The folder of finished parts.
pub(super) struct PartStore {
    folder: PathBuf,
    key: String,
}

/// The folder of the finished parts of a report.
#[must_use]
pub fn parts_folder(report: &Path) -> PathBuf {
    report.with_extension("parts")
}

fn path_or_none(path: Option<&Path>) -> std::path::Display<'_> {
    path.unwrap_or(Path::new("none")).display()
}

impl PartStore {
    /// The folder next to a report, with the name of the report.
    pub(super) fn new(report: &Path, lab: &Lab<'_>) -> Result<Self> {
        let folder = parts_folder(report);
        std::fs::create_dir_all(&folder).with_context(|| folder.display().to_string())?;
        let key = format!(
            "{} {} {} threads, data {}, yelp {}, ratings {}",
            env!("CARGO_PKG_VERSION"),
            lab.size.name(),
            lab.n_threads(),
            lab.data.display(),
            path_or_none(lab.yelp.as_deref()),
            path_or_none(lab.ratings.as_deref())
        );
        Ok(Self { folder, key })
    }

    fn path(&self, id: &str) -> PathBuf {
        self.folder.join(format!("{id}.json"))
    }

    pub(super) fn has(&self, id: &str) -> bool {
        self.load(id).is_some()
    }

    /// A part made with the same settings; anything else is ignored.
    pub(super) fn load(&self, id: &str) -> Option<StoredPart> {
        let text = std::fs::read_to_string(self.path(id)).ok()?;
        let kept: StoredPart = serde_json::from_str(&text).ok()?;
        (kept.key == self.key).then_some(kept)
    }

    pub(super) fn keep(&self, id: &str, seconds: f64, blocks: Vec<Block>) -> Result<()> {
        let kept = StoredPart {
            key: self.key.clone(),
            seconds,
            blocks,
        };
        let text = serde_json::to_string_pretty(&kept)?;
        Ok(AtomicFile::write_whole(&self.path(id), text.as_bytes())?)
    }
}
