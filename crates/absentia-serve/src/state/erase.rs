//! Erasing users from the state, the saved states and the database.
//!
//! The record that erases is committed first. Then the state without the user is saved and older ones are
//! removed, the model as it was trained and the states of other versions are rewritten, and at last the texts of
//! the user's records go. A crash in between is made up for at the next start, because the erasure is remembered as begun.

use super::folder::Folder;
use super::live::Live;
use crate::error::ServeError;
use crate::store::{Change, Store};

/// Finishes erasures whose records the state has learned.
pub(crate) fn finish(
    store: &mut dyn Store,
    live: &Live,
    folder: &Folder,
    begun: &[(String, u64)],
) -> Result<(), ServeError> {
    let sequence = {
        let state = live.read();
        state
            .learner
            .save(&folder.state(live.version, state.sequence))?;
        state.sequence
    };
    folder.keep_trained(live.version, sequence)?;
    folder.forget_before(live.version, sequence);
    let mut changes = Vec::with_capacity(begun.len());
    for (user, sequence) in begun {
        folder.erase_from_others(live.version, user)?;
        changes.push(Change::EraseDone {
            user: user.clone(),
            sequence: *sequence,
        });
    }
    store.commit(&changes)?;
    Ok(())
}
