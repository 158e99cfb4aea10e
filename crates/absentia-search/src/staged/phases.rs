//! The two phases of a search: uniform weights first, searched as if nothing else were, then the whole space.
//!
//! A larger space finds its best point later. Without the first phase, a search over everything could end below a search
//! over uniform weights.
//!
//! With a time budget, the first phase is the search over uniform weights that has the whole time, trial for trial. It goes on
//! until it ends by itself or has spent its part of the time. Where it ends by itself, both searches know the same best trial
//! of uniform weights.

use std::time::Duration;

use super::StagedSearch;
use super::options::{Budget, SearchOptions};
use super::plan::{PlannedTrial, Planner};
use super::schedule::Schedule;
use crate::space::{Family, Scope, Space};
use crate::trial::{Trial, best_first, ranked};

/// The first phase has this part of the budget before its last rung: a quarter. If it needs more time, it would not end by
/// itself, and the time is better spent on the whole space.
const PART: u32 = 4;
/// It has this part of a time budget in all: half.
const MOST: u32 = 2;
/// The fewest trials of a first phase: its first rung has all recipes and some random trials, its last rung has two.
const FEWEST: usize = 20;

/// A phase of a search with the trials that it has made.
pub(super) struct Phase<'s, 't> {
    planner: Planner<'s>,
    pub(super) trials: &'t [Trial],
}

impl<'t> Phase<'_, 't> {
    pub(super) fn schedule(&self) -> Schedule {
        self.planner.schedule(self.trials)
    }

    /// Its best trial, on the highest rung that was reached.
    pub(super) fn best(&self) -> Option<&'t Trial> {
        self.planner.best(self.trials)
    }

    /// Its best trial, if the last rung was reached.
    pub(super) fn final_best(&self) -> Option<&'t Trial> {
        self.best()
            .filter(|best| self.schedule().rung_of(best).is_last)
    }

    /// Its trials of the last rung, best first.
    pub(super) fn finalists(&self) -> Vec<&'t Trial> {
        let best = self.final_best();
        best.map_or_else(Vec::new, |best| ranked(self.trials, best.rung))
    }

    /// The best of some of its trials that is of a family; the best come first.
    pub(super) fn best_of<'r>(&self, family: Family, ranked: &[&'r Trial]) -> Option<&'r Trial> {
        let is_within = |trial: &&&Trial| self.planner.space.is_within(family, &trial.point);
        ranked.iter().find(is_within).copied()
    }

    /// The families that are smaller than its space, the simplest first.
    pub(super) fn families(&self) -> &'static [Family] {
        self.planner.space.families()
    }

    fn next(&self) -> Option<PlannedTrial> {
        self.planner.next(self.trials)
    }

    /// The next trial, if it begins in the part of the time that a first phase has.
    fn next_in_part(&self) -> Option<PlannedTrial> {
        let next = self.next()?;
        let Budget::Time(time) = self.planner.options.budget else {
            return Some(next);
        };
        let part = if next.rung == self.schedule().last() {
            MOST
        } else {
            PART
        };
        (seconds(self.trials) < (time / part).as_secs_f64()).then_some(next)
    }

    /// How good its best trial is: trials that were measured with more factors, or more users, come after all others. The
    /// last rungs of both phases measure alike.
    fn standing(&self) -> Option<((bool, usize, usize), &'t Trial)> {
        let best = self.best()?;
        let schedule = self.schedule();
        let rung = schedule.rung_of(best);
        let measured = if rung.is_last {
            (true, 0, 0)
        } else {
            (false, rung.factors, rung.sample)
        };
        Some((measured, best))
    }
}

/// The phases of a search.
pub(super) struct Phases<'s, 't> {
    /// Uniform weights; nothing if the search has one phase.
    pub(super) first: Option<Phase<'s, 't>>,
    /// The whole space.
    pub(super) whole: Phase<'s, 't>,
}

impl<'s, 't> Phases<'s, 't> {
    fn iter(&self) -> impl Iterator<Item = &Phase<'s, 't>> {
        self.first.iter().chain([&self.whole])
    }

    /// The phase that searches a scope.
    pub(super) fn of(self, scope: Scope) -> Phase<'s, 't> {
        match self.first {
            Some(first) if first.planner.space.scope() == scope => first,
            _ => self.whole,
        }
    }
}

impl StagedSearch<'_> {
    /// Whether a trial is of the first phase, which searches uniform weights alone.
    #[must_use]
    pub fn is_first_phase(&self, trial: &Trial) -> bool {
        let uniform = self.uniform.as_ref();
        uniform.is_some_and(|space| space.scope() == trial.scope)
    }

    /// The phases of these trials; those of the first come first.
    ///
    /// A log that starts with the whole space is continued in one phase.
    pub(super) fn phases<'t>(&self, trials: &'t [Trial]) -> Phases<'_, 't> {
        let is_first = |trial: &&Trial| self.is_first_phase(trial);
        let made = trials.iter().take_while(is_first).count();
        let has_first = made > 0 || (trials.is_empty() && self.plans_first_phase());
        let uniform = self.uniform.as_ref().filter(|_| has_first);
        let (first, rest) = trials.split_at(made);
        let first = uniform.map(|space| Phase {
            planner: self.planner(space, self.budget_of_first()),
            trials: first,
        });
        let mut whole = Phase {
            planner: self.planner(&self.space, self.rest_of_budget(&trials[..made])),
            trials: rest,
        };
        if let Some(first) = &first {
            self.continue_after(first, &mut whole);
        }
        Phases { first, whole }
    }

    /// Uniform weights need no further search if the first phase measured its best on its last rung. Otherwise its best is
    /// tried on the rungs with all factors of the whole space.
    fn continue_after(&self, first: &Phase<'_, '_>, whole: &mut Phase<'_, '_>) {
        if first.final_best().is_some() {
            let families = self.space.families();
            let others = families.strip_prefix(&[Family::Uniform]);
            whole.planner.families = others.unwrap_or(families);
        } else {
            let best = first.best();
            whole.planner.uniform = best.map(|best| self.in_space(&self.space, best));
        }
        whole.planner.made_before = first.trials.len();
    }

    fn planner<'s>(&self, space: &'s Space, budget: Budget) -> Planner<'s> {
        Planner::new(space, self.with_budget(budget), self.problem_size())
    }

    fn with_budget(&self, budget: Budget) -> SearchOptions {
        SearchOptions {
            budget,
            ..self.options.clone()
        }
    }

    /// The budget that the first phase plans with. A search of a number of trials does not end by itself: it has a part of
    /// them.
    fn budget_of_first(&self) -> Budget {
        match self.options.budget {
            Budget::Trials(n) => Budget::Trials(n / PART as usize),
            Budget::Time(time) => Budget::Time(time),
        }
    }

    /// What the first phase leaves of the budget; half of it if its last trial took more than that.
    fn rest_of_budget(&self, first: &[Trial]) -> Budget {
        match self.options.budget {
            Budget::Trials(n) => Budget::Trials(n.saturating_sub(first.len())),
            Budget::Time(time) => {
                let left = time.as_secs_f64() - seconds(first);
                let left = Duration::try_from_secs_f64(left).unwrap_or_default();
                Budget::Time(left.max(time / MOST))
            }
        }
    }

    /// Whether a new search has a first phase: one that is too short to reach its last rung would find nothing.
    fn plans_first_phase(&self) -> bool {
        let is_enough = match self.budget_of_first() {
            Budget::Trials(n) => n >= FEWEST,
            Budget::Time(time) => {
                let needed = Schedule::expected_seconds(&self.options, &self.problem_size());
                needed <= (time / PART).as_secs_f64()
            }
        };
        self.uniform.is_some() && !self.options.first_rung_only && is_enough
    }

    /// Number of trials of the first phase, where that is known in advance.
    pub(super) fn first_trials(&self) -> Option<usize> {
        match self.budget_of_first() {
            Budget::Trials(n) if self.plans_first_phase() => Some(n),
            Budget::Trials(_) => Some(0),
            Budget::Time(_) => None,
        }
    }

    /// The trial that comes next, or nothing when the budget is spent. The first phase does not go on after a trial of
    /// the whole space.
    pub(super) fn next(&self, trials: &[Trial]) -> Option<PlannedTrial> {
        let phases = self.phases(trials);
        let first = phases.first.as_ref();
        let first = first.filter(|_| phases.whole.trials.is_empty());
        first
            .and_then(Phase::next_in_part)
            .or_else(|| phases.whole.next())
    }

    /// The rungs of the phase that the last of these trials is of; those of the whole space if there is none.
    #[must_use]
    pub fn schedule(&self, trials: &[Trial]) -> Schedule {
        let scope = trials.last().map_or(self.options.scope, |last| last.scope);
        self.phases(trials).of(scope).schedule()
    }

    /// The best trial of the phase that the last of these is of, on the highest rung that it has reached.
    #[must_use]
    pub fn best_of_phase<'t>(&self, trials: &'t [Trial]) -> Option<&'t Trial> {
        self.phases(trials).of(trials.last()?.scope).best()
    }

    /// The best of some trials. Those of last rungs are compared by score, whatever phase they are of; if there is none,
    /// the best with the most factors.
    pub(super) fn best<'t>(&self, trials: &'t [Trial]) -> Option<&'t Trial> {
        let phases = self.phases(trials);
        let score = |trial: &Trial| trial.score.unwrap_or(f64::MIN);
        let standings = phases.iter().filter_map(Phase::standing);
        let best = standings.max_by(|(a_measured, a), (b_measured, b)| {
            let by_score = score(a).total_cmp(&score(b));
            a_measured.cmp(b_measured).then(by_score)
        });
        best.map(|(_, best)| best)
    }

    /// Whether a trial was measured as the final model is: on the last rung of its phase.
    pub(super) fn is_final(&self, trial: &Trial, trials: &[Trial]) -> bool {
        let phase = self.phases(trials).of(trial.scope);
        phase.schedule().rung_of(trial).is_last
    }

    /// Numbers of the trials that were measured as this one was, best first.
    pub(super) fn measured_alike(&self, trial: &Trial, trials: &[Trial]) -> Vec<usize> {
        let phases = self.phases(trials);
        let alike = if self.is_final(trial, trials) {
            best_first(phases.iter().flat_map(Phase::finalists))
        } else {
            ranked(phases.of(trial.scope).trials, trial.rung)
        };
        alike.into_iter().map(|trial| trial.number).collect()
    }

    /// The space that the most trials of first rungs are of: the whole one, unless the search ended early.
    #[must_use]
    pub fn most_tried(&self, trials: &[Trial]) -> &Space {
        let spaces = self.uniform.iter().chain([&self.space]);
        let tried = |space: &&Space| crate::trial::first_rung(space, trials).len();
        spaces.max_by_key(tried).unwrap_or(&self.space)
    }
}

fn seconds(trials: &[Trial]) -> f64 {
    trials.iter().map(|trial| trial.seconds).sum()
}

#[cfg(test)]
mod tests;
