//! Whether the trials of a log are those of this search.

use super::StagedSearch;
use super::options::Budget;
use super::plan::PlannedTrial;
use crate::trial::Trial;

/// What differs if a log was made with another number of trials.
const NUMBER: &str = "the number of trials";

impl StagedSearch<'_> {
    /// The first trial of a log that this search would not have made, and what differs.
    pub(super) fn difference(&self, trials: &[Trial]) -> Option<(usize, &'static str)> {
        let strange = trials.iter().enumerate().find_map(|(place, trial)| {
            let order = self.is_out_of_order(trials, place);
            let order = order.then_some("the order of the trials");
            let what = order.or_else(|| self.other_settings(trial))?;
            Some((trial.number, what))
        });
        strange.or_else(|| Some((self.other_number(trials)?, NUMBER)))
    }

    fn is_out_of_order(&self, trials: &[Trial], place: usize) -> bool {
        let trial = &trials[place];
        let follows_whole = place > 0 && !self.is_first_phase(&trials[place - 1]);
        trial.number != place
            || trial.parent.is_some_and(|parent| parent >= place)
            || (self.is_first_phase(trial) && follows_whole)
    }

    /// What differs in the settings of a trial from those that this search would give it.
    fn other_settings(&self, trial: &Trial) -> Option<&'static str> {
        let space = self.space_of(trial.scope);
        if space.scope() != trial.scope || space.dimensions().len() != trial.point.len() {
            return Some("what is searched");
        }
        let weights = space.settings(&trial.point).weights;
        let is_same = Some(weights) == trial.weights && trial.params.seed == self.options.seed;
        (!is_same).then_some("the data, the seed or the version of the search")
    }

    /// The first trial that a search with this number of trials would not have made. Where the log has more than this
    /// number, the search is over, and nothing depends on it.
    ///
    /// With a time budget, the trials depend on the machine.
    fn other_number(&self, trials: &[Trial]) -> Option<usize> {
        let (Budget::Trials(number), Some(first)) = (self.options.budget, self.first_trials())
        else {
            return None;
        };
        let last = trials.len().checked_sub(1).filter(|last| *last < number)?;
        let mut places = 0..trials.len();
        let is_of_other_phase =
            |place: &usize| self.is_first_phase(&trials[*place]) != (*place < first);
        if let Some(place) = places.find(is_of_other_phase) {
            return Some(place);
        }
        // The last trial is enough: it follows from those before it.
        let planned = self.next(&trials[..last])?;
        let made = PlannedTrial::of(&trials[last]);
        let of = |one: &PlannedTrial| (one.scope, one.rung, one.factors);
        let is_other = planned.point != made.point || of(&planned) != of(&made);
        is_other.then_some(last)
    }
}
