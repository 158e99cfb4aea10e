//! The end of a search: the simplest model that nothing richer beats by more than noise.

use super::plan::{PlannedTrial, candidates};
use super::schedule::sample_sizes;
use super::{Baseline, Kept, SearchResult, StagedSearch};
use crate::error::SearchError;
use crate::fold::Fold;
use crate::trial::{Trial, ranked};
use crate::trial_runner::TrialRunner;
use crate::user_scores::UserScores;

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
        let rung = result.best().rung;
        if result.interrupted || !self.schedule(&result.trials).rungs[rung].is_last {
            return Ok(());
        }
        let mut simplest: Option<usize> = None;
        for next in self
            .best_of_families(&result.ranked(rung))
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

    /// Drops the scores of users of all trials of a rung but those that [`keep_simpler`](Self::keep_simpler) can compare:
    /// they would add up over a long search.
    pub(super) fn keep_compared<'t>(
        &self,
        kept: &mut Kept,
        trials: impl IntoIterator<Item = &'t Trial>,
        rung: usize,
    ) {
        let ranked = ranked(trials, rung);
        let mut compared = self.best_of_families(&ranked);
        compared.extend(candidates(&ranked));
        kept.users.retain(|number, _| compared.contains(number));
    }

    /// Bytes of the scores of users that are stored, and of those of the trial that is being made.
    pub(super) fn score_bytes(&self) -> u64 {
        let largest = *sample_sizes(self.folds.len()).last().unwrap_or(&0);
        let measured = |fold: &Fold<'_>| fold.held_out.users().len().min(largest);
        let measured: usize = self.folds.iter().map(measured).sum();
        let users = measured.min(self.folds[0].train.n_users());
        // The best of each family, a few that can be the best of all, and the trial itself.
        let trials = self.space.families().len() + 4;
        (trials * users * UserScores::BYTES) as u64
    }

    /// Numbers of the best trials of the families, the simplest family first.
    fn best_of_families(&self, ranked: &[&Trial]) -> Vec<usize> {
        let best = |family: &crate::space::Family| {
            let is_within = |trial: &&&Trial| self.space.is_within(*family, &trial.point);
            ranked.iter().find(is_within).map(|trial| trial.number)
        };
        self.space.families().iter().filter_map(best).collect()
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
        let rung = self.schedule(trials).rungs[again.rung];
        if let Some((.., users)) = self.run(runner, &again, &rung, None)? {
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
