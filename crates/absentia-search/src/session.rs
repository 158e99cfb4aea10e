//! The trials of a search, in order, and their observer.

use crate::trial::Trial;

/// Is called with all trials after every new one; ends the search by yielding `false`.
pub(crate) type Observer<'s> = dyn FnMut(&[Trial]) -> bool + 's;

/// The trials of a search so far.
pub(crate) struct Session<'s> {
    trials: Vec<Trial>,
    observer: &'s mut Observer<'s>,
    is_ended: bool,
}

impl<'s> Session<'s> {
    /// Continues after known trials, or starts if there are none.
    pub(crate) fn new(trials: Vec<Trial>, observer: &'s mut Observer<'s>) -> Self {
        Self {
            trials,
            observer,
            is_ended: false,
        }
    }

    pub(crate) fn trials(&self) -> &[Trial] {
        &self.trials
    }

    /// Whether the observer has ended the search.
    pub(crate) fn is_ended(&self) -> bool {
        self.is_ended
    }

    /// Adds a trial.
    pub(crate) fn add(&mut self, trial: Trial) {
        self.trials.push(trial);
        self.is_ended = !(self.observer)(&self.trials);
    }

    pub(crate) fn into_trials(self) -> Vec<Trial> {
        self.trials
    }
}
