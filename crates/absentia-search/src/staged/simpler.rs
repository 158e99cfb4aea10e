//! The end of a search: the simplest model that nothing richer beats by more than noise.

use super::phases::Phase;
use super::plan::{PlannedTrial, candidates};
use super::schedule::sample_sizes;
use super::{Baseline, Kept, SearchResult, StagedSearch};
use crate::error::SearchError;
use crate::fold::Fold;
use crate::trial::{Trial, ranked};
use crate::trial_runner::TrialRunner;
use crate::user_scores::UserScores;

/// The most trials of a phase, beside the best of its families, whose scores of users are stored: those that can be its
/// best now or later.
const CANDIDATES: usize = 6;

impl StagedSearch<'_> {
    /// Replaces the best trial of a finished search by a simpler one, unless it is better than the best of each family
    /// by more than noise. Trials of earlier rungs are not compared: they have fewer factors, or fewer sweeps.
    pub(super) fn keep_simpler(
        &self,
        runner: &TrialRunner<'_>,
        result: &mut SearchResult,
        kept: &mut Kept,
    ) -> Result<(), SearchError> {
        let best = result.best().number;
        if result.interrupted || !self.is_final(result.best(), &result.trials) {
            return Ok(());
        }
        let mut simplest: Option<usize> = None;
        for next in self
            .simplest_first(&result.trials)
            .into_iter()
            .chain([best])
        {
            simplest = match simplest {
                Some(current) if current != next => {
                    let is_better = self.beats(runner, &result.trials, (next, current), kept)?;
                    Some(if is_better { next } else { current })
                }
                _ => Some(next),
            };
        }
        result.best = simplest.unwrap_or(best);
        result.highest = (result.best != best).then_some(best);
        Ok(())
    }

    /// Numbers of the best trials of the families on the last rungs, the simplest family first. The best of the first phase
    /// comes before all others, of uniform weights as well: it is what a search over uniform weights would have found.
    pub(super) fn simplest_first(&self, trials: &[Trial]) -> Vec<usize> {
        let phases = self.phases(trials);
        let finalists = phases.whole.finalists();
        let alone = phases.first.as_ref().and_then(Phase::final_best);
        let families = phases.whole.families().iter();
        let of_families = families.filter_map(|family| phases.whole.best_of(*family, &finalists));
        let all = alone.into_iter().chain(of_families);
        all.map(|best| best.number).collect()
    }

    /// Drops the scores of users of all trials but those that [`keep_simpler`](Self::keep_simpler) can compare: they would
    /// add up over a long search. `made` is the latest trial, of a last rung; `trials` are those before it.
    pub(super) fn keep_compared(&self, kept: &mut Kept, trials: &[Trial], made: &Trial) {
        let phases = self.phases(trials);
        let alone = phases.first.as_ref().and_then(Phase::final_best);
        let alone = alone.filter(|_| !self.is_first_phase(made));
        let phase = phases.of(made.scope);
        let ranked = ranked(phase.trials.iter().chain([made]), made.rung);
        let families = phase.families().iter();
        let of_families = families.filter_map(|family| phase.best_of(*family, &ranked));
        let simple = of_families.chain(alone).map(|trial| trial.number);
        let candidates = candidates(&ranked).into_iter().take(CANDIDATES);
        let compared: Vec<usize> = simple.chain(candidates).collect();
        kept.users.retain(|number, _| compared.contains(number));
    }

    /// Bytes of the scores of users that are stored, and of those of the trial that is being made.
    pub(super) fn score_bytes(&self) -> u64 {
        let largest = *sample_sizes(self.folds.len()).last().unwrap_or(&0);
        let measured = |fold: &Fold<'_>| fold.held_out.users().len().min(largest);
        let measured: usize = self.folds.iter().map(measured).sum();
        let users = measured.min(self.folds[0].train.n_users());
        // The best of each family, the candidates, the best of the first phase, and the trial itself.
        let trials = self.space.families().len() + CANDIDATES + 2;
        (trials * users * UserScores::BYTES) as u64
    }

    fn beats(
        &self,
        runner: &TrialRunner<'_>,
        trials: &[Trial],
        (richer, simpler): (usize, usize),
        kept: &mut Kept,
    ) -> Result<bool, SearchError> {
        if trials[richer].score <= trials[simpler].score {
            return Ok(false);
        }
        for number in [richer, simpler] {
            self.measure_users(runner, trials, number, kept)?;
        }
        let of = |number| {
            kept.users
                .get(number)
                .filter(|users| **users != UserScores::default())
        };
        // Without them nothing speaks against the higher score.
        Ok(match (of(&richer), of(&simpler)) {
            (Some(richer), Some(simpler)) => richer.beats(simpler),
            _ => true,
        })
    }

    /// Makes a trial of a log again, whose scores of users are not known.
    fn measure_users(
        &self,
        runner: &TrialRunner<'_>,
        trials: &[Trial],
        number: usize,
        kept: &mut Kept,
    ) -> Result<(), SearchError> {
        if kept.users.contains_key(&number) {
            return Ok(());
        }
        let again = PlannedTrial::of(&trials[number]);
        let schedule = self.phases(trials).of(again.scope).schedule();
        let rung = schedule.rung_of(&trials[number]);
        if let Some((.., users)) = self.run(runner, &again, rung, None)? {
            kept.users.insert(number, users);
        }
        Ok(())
    }
}

/// What the most popular items reach.
pub(super) fn baselines(runner: &TrialRunner<'_>) -> Result<Vec<Baseline>, SearchError> {
    let found = runner.popularity()?.into_iter();
    let baseline = |(name, measured): (_, crate::evaluator::Measured)| Baseline {
        name,
        score: measured.score,
        stderr: measured.stderr,
    };
    Ok(found.map(baseline).collect())
}
