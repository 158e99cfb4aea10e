//! Saving states, making indexes and comparing caches on threads beside the writer.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;

use absentia::ranking::IndexedItems;
use absentia_online::StateCopy;

use super::folder::Folder;
use crate::background;
use crate::quality::Drift;

/// What a background thread has done.
pub(super) enum Done {
    /// An index for a version.
    Index(u64, Arc<IndexedItems>),
    /// A state was saved, or not.
    Saved(Result<(), String>),
    /// The caches of a version were compared.
    Checked(u64, Drift),
}

/// Background work of the writer: at most one index, one state and one comparison at a time.
pub(super) struct Background {
    send: Sender<Done>,
    done: Receiver<Done>,
    pub(super) makes_index: bool,
    pub(super) saves: bool,
    pub(super) checks: bool,
}

impl Background {
    pub(super) fn new() -> Self {
        let (send, done) = channel();
        Self {
            send,
            done,
            makes_index: false,
            saves: false,
            checks: false,
        }
    }

    /// What is done since the last call.
    pub(super) fn finished(&mut self) -> Vec<Done> {
        let finished: Vec<Done> = self.done.try_iter().collect();
        for done in &finished {
            self.note(done);
        }
        finished
    }

    /// Waits until nothing runs any more.
    pub(super) fn wait(&mut self) -> Vec<Done> {
        let mut finished = self.finished();
        while self.makes_index || self.saves || self.checks {
            let Ok(done) = self.done.recv() else {
                break;
            };
            self.note(&done);
            finished.push(done);
        }
        finished
    }

    fn note(&mut self, done: &Done) {
        match done {
            Done::Index(..) => self.makes_index = false,
            Done::Saved(_) => self.saves = false,
            Done::Checked(..) => self.checks = false,
        }
    }

    /// Makes the index of a copy of the items.
    pub(super) fn index(
        &mut self,
        version: u64,
        make: impl FnOnce() -> IndexedItems + Send + 'static,
    ) {
        self.makes_index = true;
        let send = self.send.clone();
        thread::spawn(move || {
            let _alone = background::begin();
            send.send(Done::Index(version, Arc::new(make())))
        });
    }

    /// Compares the caches of a version.
    pub(super) fn check(&mut self, version: u64, compare: impl FnOnce() -> Drift + Send + 'static) {
        self.checks = true;
        let send = self.send.clone();
        thread::spawn(move || {
            let _alone = background::begin();
            send.send(Done::Checked(version, compare()))
        });
    }

    /// Saves a copy of the state.
    pub(super) fn save(
        &mut self,
        folder: &Arc<Folder>,
        copy: StateCopy,
        (version, sequence): (u64, u64),
    ) {
        self.saves = true;
        let (send, folder) = (self.send.clone(), folder.clone());
        thread::spawn(move || {
            let _alone = background::begin();
            let saved = copy.save(&folder.state(version, sequence));
            if saved.is_ok() {
                folder.thin(version);
            }
            send.send(Done::Saved(saved.map_err(|error| error.to_string())))
        });
    }
}
