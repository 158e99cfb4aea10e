//! Saving states, preparing lists and comparing caches on threads beside the writer.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

use absentia_online::StateCopy;

use super::folder::Folder;
use super::prepared::{ChangedUsers, Prepared, Renewed, Rows};
use crate::background::{self, Pace};
use crate::quality::Drift;

/// What a background thread has done.
pub(super) enum Done {
    /// What lists of a version are made from, and how long it took.
    Prepared(u64, Box<Prepared>, Duration),
    /// Shortlists of users who had changed, and how long it took.
    Renewed(u64, Box<Renewed>, Duration),
    /// A state was saved, or not.
    Saved(Result<(), String>),
    /// The caches of a version were compared.
    Checked(u64, Drift),
}

/// The latest renewal of shortlists.
#[derive(Clone, Copy)]
enum Renewal {
    None,
    Running,
    /// When it ended, and how long it took.
    Ended(Instant, Duration),
}

/// Background work of the writer: at most one preparation, one renewal of shortlists, one state and one comparison at a time.
pub(super) struct Background {
    send: Sender<Done>,
    done: Receiver<Done>,
    pub(super) prepares: bool,
    /// Rows that are being copied for the next preparation.
    pub(super) copying: Option<Rows>,
    /// Ends the preparation with what it has.
    stop_preparing: Arc<AtomicBool>,
    /// The active version, whose preparations count.
    version: u64,
    /// When the last preparation ended, and how long it took: of an index alone, and with shortlists.
    prepared: [Option<(Instant, Duration)>; 2],
    renewal: Renewal,
    pub(super) saves: bool,
    pub(super) checks: bool,
}

impl Background {
    pub(super) fn new(version: u64) -> Self {
        let (send, done) = channel();
        Self {
            send,
            done,
            prepares: false,
            copying: None,
            stop_preparing: Arc::default(),
            version,
            prepared: [None; 2],
            renewal: Renewal::None,
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

    /// Waits until no state is being saved any more; yields what is done by then.
    pub(super) fn wait_for_save(&mut self) -> Vec<Done> {
        let mut finished = self.finished();
        while self.saves {
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
            Done::Prepared(version, prepared, took) => {
                self.prepares = false;
                if *version == self.version {
                    let kind = usize::from(prepared.shortlists.is_some());
                    self.prepared[kind] = Some((Instant::now(), *took));
                }
            }
            Done::Renewed(_, _, took) => self.renewal = Renewal::Ended(Instant::now(), *took),
            Done::Saved(_) => self.saves = false,
            Done::Checked(..) => self.checks = false,
        }
    }

    /// Prepares the lists of a version from copies of its rows.
    pub(super) fn prepare(&mut self, version: u64, rows: Rows) {
        self.prepares = true;
        self.stop_preparing = Arc::default();
        let (send, stop) = (self.send.clone(), self.stop_preparing.clone());
        thread::spawn(move || {
            let _alone = background::begin(Pace::Steady);
            let begun = Instant::now();
            let prepared = Box::new(rows.prepare(&stop));
            send.send(Done::Prepared(version, prepared, begun.elapsed()))
        });
    }

    /// Ends a preparation soon, with the shortlists that it has made.
    pub(super) fn stop_preparing(&self) {
        self.stop_preparing.store(true, Ordering::Relaxed);
    }

    /// Starts again with another version: what was prepared for the one before is of no use.
    pub(super) fn begin_version(&mut self, version: u64) {
        self.stop_preparing();
        (self.version, self.copying, self.prepared) = (version, None, [None; 2]);
    }

    /// Whether an index, with shortlists or without, can be prepared again: if it takes as long as the last time, that is
    /// at most one part in `parts` of the time.
    pub(super) fn may_prepare(&self, with_shortlists: bool, parts: u32) -> bool {
        let last = self.prepared[usize::from(with_shortlists)];
        last.is_none_or(|(ended, took)| ended.elapsed() > took * parts)
    }

    /// Whether shortlists can be renewed again: that takes at most one part in `parts` of the time.
    pub(super) fn may_renew(&self, parts: u32) -> bool {
        match self.renewal {
            Renewal::None => true,
            Renewal::Running => false,
            Renewal::Ended(ended, took) => ended.elapsed() > took * parts,
        }
    }

    /// Makes new shortlists of users who have changed.
    pub(super) fn renew(&mut self, version: u64, users: ChangedUsers) {
        self.renewal = Renewal::Running;
        let send = self.send.clone();
        thread::spawn(move || {
            let _alone = background::begin(Pace::Steady);
            let begun = Instant::now();
            let renewed = Box::new(users.rank());
            send.send(Done::Renewed(version, renewed, begun.elapsed()))
        });
    }

    /// Compares the caches of a version.
    pub(super) fn check(&mut self, version: u64, compare: impl FnOnce() -> Drift + Send + 'static) {
        self.checks = true;
        let send = self.send.clone();
        thread::spawn(move || {
            let _alone = background::begin(Pace::Idle);
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
            let _alone = background::begin(Pace::Steady);
            let saved = copy.save(&folder.state(version, sequence));
            if saved.is_ok() {
                folder.thin(version);
            }
            send.send(Done::Saved(saved.map_err(|error| error.to_string())))
        });
    }
}
