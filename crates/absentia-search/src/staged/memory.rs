//! How much memory the trials of a search take.

use absentia::Params;
use absentia::fit::{MemoryPlan, Sizes, default_threads};
use absentia::memory::Stage;
use absentia::weights::Scheme;

use super::{KEPT, StagedSearch};
use crate::trial::Trial;

impl StagedSearch<'_> {
    /// The memory of the largest trial of the rungs beside the folds: folds that are trained at the same time, the models
    /// of those that have been, and the factors that trials can start from.
    #[must_use]
    pub fn stage(&self) -> Stage {
        let schedule = self.schedule(&[]);
        let warm = (0..schedule.rungs.len()).rfind(|&rung| schedule.starts_warm(rung));
        let warm = warm.map(|rung| self.trial_stage(schedule.rungs[rung].factors));
        let kept = (KEPT as u64 + 1) * self.factor_bytes(schedule.rungs[0].factors);
        let warm = warm.map(|stage| stage.with("factors of the best trials", kept));
        let full = self.trial_stage(schedule.rungs[schedule.last()].factors);
        match warm {
            Some(warm) if warm.total() > full.total() => warm,
            _ => full,
        }
    }

    /// The memory of the trial that comes after these, if it has more factors than any rung: whether there is such
    /// a trial depends on those before it.
    #[must_use]
    pub fn larger_stage(&self, trials: &[Trial]) -> Option<Stage> {
        let next = self.next(trials)?;
        let schedule = self.phases(trials).of(next.scope).schedule();
        let is_larger = next.factors > schedule.rungs[schedule.last()].factors;
        is_larger.then(|| self.trial_stage(next.factors))
    }

    /// The memory of a trial with this many factors.
    ///
    /// Folds take about the same time, so that they are trained in groups of as many as there are threads. The peak is
    /// in the first group or in the last, beside the models of all groups before it.
    fn trial_stage(&self, factors: usize) -> Stage {
        let threads = self.options.threads.unwrap_or_else(default_threads);
        let folds = self.folds.len();
        let at_once = folds.min(threads).max(1);
        let params = Params {
            targets: self.space.largest_targets(),
            confidence: self.space.largest_confidence(),
            factors,
            threads: Some(threads.div_ceil(at_once)),
            ..Params::default()
        };
        let sizes = Sizes {
            data: 0,
            orders_times: self.folds[0].train.times().is_some(),
            ..Sizes::of(&self.folds[0].train, &Scheme::uniform(0.0), &params, false)
        };
        let run = MemoryPlan::new(&sizes.stacked(self.relations.as_ref()), &params).total();
        let model = self.factor_bytes(factors) / folds as u64;
        let in_last_group = (folds - 1) % at_once + 1;
        let groups = [(at_once, 0), (in_last_group, folds - in_last_group)];
        let bytes = |&(running, done): &(usize, usize)| {
            run.saturating_mul(running as u64)
                .saturating_add(model.saturating_mul(done as u64))
        };
        let (running, done) = groups.into_iter().max_by_key(bytes).unwrap_or((at_once, 0));
        Stage::new("searching")
            .with("folds at the same time", run.saturating_mul(running as u64))
            .with(
                "models of the other folds",
                model.saturating_mul(done as u64),
            )
            .with("scores of users", self.score_bytes())
    }

    /// Bytes of the factors of a trial, of all folds.
    fn factor_bytes(&self, factors: usize) -> u64 {
        let train = &self.folds[0].train;
        let mut rows = train.n_users() + train.n_items();
        if let Some(relations) = &self.relations {
            rows += relations
                .entities
                .iter()
                .skip(2)
                .map(|e| e.count)
                .sum::<usize>();
        }
        4 * (rows * factors.next_multiple_of(16) * self.folds.len()) as u64
    }
}
