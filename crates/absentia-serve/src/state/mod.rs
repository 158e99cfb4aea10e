//! The state that answers are made from, and the one thread that changes it.
//!
//! | file | concept |
//! | --- | --- |
//! | `live` | the active model behind a lock: what it has learned, its index and shortlists, what has changed since |
//! | `prepared` | the index and the shortlists, made in the background |
//! | `folder` | the data folder: which states are saved, opening the newest whole one |
//! | `events` | events as they are sent, checked and turned into records |
//! | `event_time` | when an event happened: a number or a date |
//! | `writer` | the writing thread: validate, commit, apply in order, acknowledge |
//! | `upkeep` | what it does beside its commands: learning with predictions, saving, indexes, checks |
//! | `prediction` | predicting a sample of events before they are learned |
//! | `removal` | what removes one event of a pair and leaves the others |
//! | `erase` | erasing users from the state, the saved states and the database |
//! | `background` | saving states, preparing lists and comparing caches beside the writer |
//!
//! A state is saved as `states/VERSION-SEQUENCE.absentia`: a model file that has learned all records up to
//! that sequence number. The first one of a version is the model as it was registered; once a user was erased,
//! it is kept without the user as `states/VERSION-SEQUENCE-trained.absentia`, which predicts events and is never
//! opened to be served: the records that would make the live model of it are gone. Opening a version
//! means to load its newest whole state and to apply the records after it, in order; a record that the model
//! rejects is passed over, in every replay alike. That yields the same bits as before.

mod background;
mod erase;
mod event_time;
mod events;
mod folder;
mod live;
mod prediction;
mod prepared;
mod removal;
mod upkeep;
mod writer;

pub(crate) use erase::finish as finish_erasures;
pub use event_time::EventTime;
pub use events::NewEvent;
pub use folder::{Folder, Opened};
pub(crate) use folder::{Silent, import, model_digest};
pub use live::{Live, State};
pub use prediction::TrainedModel;
pub use prepared::Prepared;
pub use writer::{Command, Erased, Idempotency, Removed, Writer};
