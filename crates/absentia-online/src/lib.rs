//! Models that learn from events, by id: what a server and a stream of events need.
//!
//! The engine's [`absentia::online::Online`] knows row numbers. A [`Learner`] adds the ids, a [`Record`]
//! is an operation that names users and items, and a [`Log`] keeps records in a file, from which they
//! replay to the same bits.
//!
//! | file | concept |
//! | --- | --- |
//! | `record` | an operation by ids, as it is written |
//! | `settings` | partial settings |
//! | `learner` | the model with its ids; new ids become rows |
//! | `events` | a table of events as records |
//! | `open` | opens a learner from a model and its rows, or from a saved state |
//! | `log` | records in a file, each with a checksum |
//! | `memory` | what learning and saving take |
//! | `prequential` | how well the next event is predicted before it is learned |
#![deny(missing_docs)]

mod error;
mod events;
mod learner;
mod log;
mod memory;
mod open;
mod prequential;
mod record;
mod settings;

pub use error::LearnError;
pub use events::events_of;
pub use learner::{Learner, MAX_ID_BYTES};
pub use log::{Log, LogError};
pub use memory::record_bytes;
pub use open::{Opening, StateCopy, Trained, open};
pub use prequential::{Measured, Prequential};
pub use record::Record;
pub use settings::LearningSettings;
