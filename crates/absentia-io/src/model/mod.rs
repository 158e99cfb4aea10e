//! One file for a model: factors, weights, ids, parameters, history and configuration.
//!
//! The file is a [safetensors](https://huggingface.co/docs/safetensors) file, so that Python reads it
//! with `safetensors.numpy.load_file`. A checkpoint is the same file with the state of the run added.
//!
//! | tensor | type and shape | |
//! | --- | --- | --- |
//! | `user_factors`, `item_factors` | f32 (M, K), (N, K) | as trained, post-scaling not applied |
//! | `user_weights`, `item_weights` | f32 (M, Z), (N, Z) | A and B |
//! | `user_counts`, `item_counts` | u32 (M), (N) | interactions in the training data |
//! | `recent_item_counts` | f32 (N) | what items are rescaled by, if the post-scaling has a half-life |
//! | `user_ids`, `item_ids` | i64 (M), (N) | where ids are integers |
//! | `user_id_offsets`, `user_id_bytes`, same for items | u64 (M + 1), u8 | where ids are text: UTF-8 end to end |
//! | `history` | f64 (sweeps, 7) | iteration, observed, missing, regularization, seconds (0, so that equal runs give equal files), measured (0 or 1), validation |
//! | `best`, `best_user_factors`, `best_item_factors` | f64 (1, 2), f32 | checkpoints: iteration and score, and the factors |
//! | `taken_offsets`, `taken_items`, `near_offsets`, `near_items`, `near_similarity` | u64 (M + 1), u32, u64 (N + 1), u32, f32 | `itemknn`: items each user took, neighbours of each item |
//! | `seen_users`, `seen_items` | u32 | on request: the pairs of rows that the model was trained on |
//! | `relations` | u8 | version 2: types and relations beside users, items and the main one, as JSON; users are type 0, items 1 |
//! | `entity_2_factors`, `entity_2_ids` and so on | f32, as for users | factors and ids of each further type |
//! | `relation_0_first_weights`, `relation_0_second_weights`, `relation_0_first_counts`, `relation_0_second_counts` | f32, u32 | weights and counts of each relation |
//! | `online_…` | | models that learn from events: entries of users, and sums in double precision (`online`) |
//! | `weights` | u8 | the text of that name, when it is longer than a mebibyte |
//! | `checksum` | u8 (8) | xxh3-64 (little-endian) of all bytes of the file before it |
//!
//! Ids that are row numbers take no tensor. Texts in the header: `format` (`absentia`),
//! `format_version` (2 for models with relations, 1 for others), `product_version`, `kind` (`model` or `checkpoint`), `params`, `transform` and
//! `weights` (JSON), `config` (whatever the caller gave), in a
//! checkpoint `fingerprint` (what its run is made on), in a model that learns from events `online`.
//!
//! A model can also be a folder (`folder`): version 4, with its factors in files of their own.
//!
//! Tensors start at multiples of their own width and are mapped into memory when loaded. A file
//! that was truncated, or altered in any byte, is rejected; a new version of the format is rejected
//! by name, an old one is read.

mod error;
mod export;
mod folder;
mod header;
mod history;
pub(crate) mod id_list;
mod ids;
mod image;
mod import;
mod inspect;
mod load;
mod map;
mod memory;
mod neighbours;
mod npz;
mod online;
mod opened;
mod related;
mod save;
mod seen;
mod tensor;
mod weights;

use std::path::Path;

pub use error::ModelFileError;
pub use export::{ExportOptions, Layout, export};
pub use folder::{FactorFile, FactorFiles, ModelHead, file_of_model, save_factor_file, save_head};
pub use ids::Ids;
pub use import::{ImportOptions, import_implicit, import_npy};
pub use inspect::{IdForm, ModelInfo, inspect, interactions};
pub use load::{CheckpointState, LoadedCheckpoint, LoadedModel, load_checkpoint, load_model};
pub use memory::loading;
pub use online::{LoadedOnline, load_online, save_online};
pub use opened::verify;
pub use related::{RelationInfo, RelationsInfo};
pub use save::{save_checkpoint, save_model, save_model_and_seen};

use crate::error::Error;

/// What a model file holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A finished model.
    Model,
    /// A run between two sweeps.
    Checkpoint,
}

impl Kind {
    /// The name used in files.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Model => "model",
            Self::Checkpoint => "checkpoint",
        }
    }

    fn of(header: &header::ModelHeader, path: &Path) -> Result<Self, Error> {
        match header.text("kind") {
            Some("model") => Ok(Self::Model),
            Some("checkpoint") => Ok(Self::Checkpoint),
            _ => Err(Error::corrupt(
                path,
                header::FORMAT,
                "neither a model nor a checkpoint",
            )),
        }
    }
}
