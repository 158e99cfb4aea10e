//! The description of a run, and the one pipeline that carries it out.
//!
//! A [`Job`] says where data comes from and how it is prepared, which weights and parameters a model is
//! trained with, what is left to be chosen automatically, and what the run may take. The command line, a
//! configuration file and Python build jobs; what a value means is decided here once.
//!
//! | step | what does it |
//! | --- | --- |
//! | read and prepare | [`Job::read`] for files, [`Job::prepare`] for rows in memory |
//! | choose settings, check memory, fit | [`Training`] |
//! | report progress | [`Listener`], and events in words: [`Event::message`] |
//!
//! | file | concept |
//! | --- | --- |
//! | `text/` | values as they are written |
//! | `job`, `configuration`, `config_file` | the description, as keys and values, and files of them |
//! | `keys` | which fields are keys |
//! | `reading`, `preparation`, `exposed_entries`, `validation`, `settings` | the groups of a job |
//! | `defaults`, `preset` | the values of keys that were not given |
//! | `files`, `rows`, `related`, `training_data` | from files to a matrix, or several, with ids |
//! | `folding/` | users and items that a model does not know, from interactions and attributes |
//! | `pipeline` | the steps from a job to a model |
//! | `message`, `unused` | events, and keys without effect, in words |
//! | `shared/` | jobs that several workers share |
//! | `start`, `memory`, `resume`, `validator`, `training` | the run |
//!
//! The feature `clap` makes the groups arguments of a command line.
// Documentation of arguments is shown as help, where back-ticks would be shown too.
#![allow(clippy::doc_markdown, clippy::struct_excessive_bools)]
#![deny(missing_docs)]

mod config_file;
mod configuration;
pub mod defaults;
mod error;
mod exposed_entries;
mod files;
mod fingerprint;
mod folding;
mod held_out;
mod job;
pub mod keys;
mod listener;
mod memory;
mod message;
mod pipeline;
mod preparation;
mod preset;
mod reading;
mod related;
mod resume;
mod rows;
mod settings;
mod shared;
mod start;
pub mod text;
mod training;
mod training_data;
mod unused;
mod validation;
mod validator;

pub use absentia_search::Automatic;
pub use config_file::{ConfigFile, Entry};
pub use error::JobError;
pub use exposed_entries::ExposedEntries;
pub use files::{read_files, read_known};
pub use fingerprint::{
    Fingerprint, of_data as data_fingerprint, of_relation as relation_fingerprint,
};
pub use folding::{
    Attributes, Folded, FoldedScores, FoldedSide, GivenRows, KnownRows, entry_of, known_entries,
    read_attributes,
};
pub use held_out::{ExposedPairs, pairs_of, without_held_out};
pub use job::Job;
pub use listener::{Choice, Event, Listener, Step};
pub use memory::{Ledger, Plan, while_held};
pub use message::{Level, unknown_text};
pub use preparation::{Preparation, merge_repeats};
pub use preset::Preset;
pub use reading::Reading;
pub use related::{RelatedData, RelationRows, RelationTable};
pub use resume::same_ids;
pub use rows::{Rows, take_log};
pub use settings::{GivenSettings, half_life_of, post_scaling_text};
pub use shared::{
    Agreed, Bundle, Facts, Finished, Frame, Need, Opened, Part, Platform, Record, Spread, shards,
};
pub use training::{Execution, Measuring, Training};
pub use training_data::{Input, TrainingData, report_held_out_less, split_rows};
pub use validation::ValidationSettings;
pub use validator::metric_name;
