//! Trials of families of simpler settings: the best of the space must beat the best of every family, which must not be
//! a worse search.

use super::plan::{PlannedTrial, Planner};
use super::propose::Proposer;
use super::schedule::Schedule;
use crate::space::Family;
use crate::trial::{Trial, ranked};

/// One in this many of the trials that the model proposes is of a family.
const SIMPLER_EVERY: usize = 4;

impl Planner<'_> {
    /// The family whose turn it is to be searched.
    pub(super) fn simpler_in_turn(&self, number: usize) -> Option<Family> {
        let families = self.families;
        let (turn, rest) = (number / SIMPLER_EVERY, number % SIMPLER_EVERY);
        let is_turn = rest == SIMPLER_EVERY - 1 && !families.is_empty();
        is_turn.then(|| families[turn % families.len()])
    }

    /// A proposal of the model of the trials of a family; of all trials, if it has too few.
    pub(super) fn near_the_best_of(
        &self,
        family: Family,
        stream: usize,
        ranked: &[&Trial],
        focus: f64,
    ) -> Vec<f64> {
        let is_within = |trial: &&&Trial| self.space.is_within(family, &trial.point);
        let own: Vec<&Trial> = ranked.iter().filter(is_within).copied().collect();
        let trials = if own.len() < 3 { ranked } else { &own[..] };
        let proposer = Proposer::new(self.space, self.options.seed);
        let point = proposer.model(stream, trials, focus);
        self.space.within(family, &point)
    }

    /// The best, on the rungs below, of a family that has trials of its own, but none on this rung.
    pub(super) fn best_of_family(&self, trials: &[Trial], rung: usize) -> Option<Trial> {
        let here = || trials.iter().filter(|trial| trial.rung == rung);
        let missing = self.families.iter().filter(|family| {
            let is_within = |trial: &Trial| self.space.is_within(**family, &trial.point);
            !here().any(is_within)
        });
        let best = |family: &Family| self.best_below(*family, trials, 0..rung).cloned();
        missing.into_iter().find_map(best)
    }

    /// The best of uniform weights of the phase before, once on every rung with all factors: fewer factors, or fewer
    /// users, would say little about whether what is richer is better.
    pub(super) fn uniform_before(
        &self,
        trials: &[Trial],
        schedule: &Schedule,
        rung: usize,
    ) -> Option<PlannedTrial> {
        let before = self.uniform.as_ref()?;
        let first_full = schedule.first_full();
        if rung < first_full || ranked(trials, rung).is_empty() {
            return None;
        }
        // The rung below may have changed its penalty.
        let below = self.best_below(Family::Uniform, trials, first_full..rung);
        let candidate = below.unwrap_or(before);
        let is_same = |trial: &Trial| {
            let penalties = self.space.penalty_over(&trial.point, &candidate.point);
            trial.rung == rung && penalties.is_some()
        };
        let is_made = trials.iter().any(is_same);
        (!is_made).then(|| self.promoted(candidate, trials, schedule, rung))
    }

    /// The best trial of a family on the highest of some rungs that has any.
    fn best_below<'t>(
        &self,
        family: Family,
        trials: &'t [Trial],
        rungs: std::ops::Range<usize>,
    ) -> Option<&'t Trial> {
        let is_within = |trial: &&Trial| self.space.is_within(family, &trial.point);
        let best = |rung| ranked(trials, rung).into_iter().find(is_within);
        rungs.rev().find_map(best)
    }
}
