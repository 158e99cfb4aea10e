//! The metric of a model on held-out rows.

use absentia::data::Interactions;
use absentia::evaluate::{
    Candidates, EvaluateError, EvaluateOptions, Evaluation, History, MetricName, Summary, TestSet,
    evaluate,
};
use absentia::model::Model;
use absentia::ranking::{PopularityScorer, Scorer};

use crate::error::SearchError;
use crate::fold::users_at;
use crate::trial_runner::Scoring;
use crate::user_scores::{UserScores, ndcg_beside};

/// A mean over users and its standard error.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Measured {
    pub(crate) score: f64,
    pub(crate) stderr: f64,
    /// What it is a mean of.
    pub(crate) users: UserScores,
}

/// Measures one metric of models that are trained on the same matrix.
pub struct SingleMetric<'d> {
    history: History<'d>,
    name: MetricName,
    options: EvaluateOptions,
}

impl<'d> SingleMetric<'d> {
    /// Takes the matrix trained on, whose entries are left out of the lists, and the metric.
    #[must_use]
    pub fn new(train: &'d Interactions<'_>, name: MetricName) -> Self {
        let mut metrics = vec![name.metric];
        // From the same lists: it costs nothing.
        metrics.extend(ndcg_beside(name).map(|ndcg| ndcg.metric));
        metrics.dedup();
        Self {
            history: History::of(train),
            name,
            options: EvaluateOptions {
                cutoffs: name.cutoff.into_iter().collect(),
                metrics,
                ..EvaluateOptions::default()
            },
        }
    }

    /// Ranks nothing but items without an entry in the matrix.
    #[must_use]
    pub fn among_new(mut self, train: &Interactions<'_>) -> Self {
        let counts = train.item_counts();
        let is_new = |item: &u32| counts[*item as usize] == 0;
        let new = (0..counts.len() as u32).filter(is_new).collect();
        self.options.candidates = Candidates::Only(new);
        self
    }

    /// The metric of a model over the users with held-out rows.
    ///
    /// # Errors
    /// Rows of users or items that the model does not have.
    pub fn measure(&self, model: &Model, held_out: &TestSet) -> Result<Summary, EvaluateError> {
        self.measure_scorer(&model.scorer(), held_out)
    }

    /// The metric of any scores over the users with held-out rows.
    ///
    /// # Errors
    /// As [`measure`](Self::measure).
    pub fn measure_scorer(
        &self,
        scorer: &dyn Scorer,
        held_out: &TestSet,
    ) -> Result<Summary, EvaluateError> {
        Ok(self.summary(&self.evaluation(scorer, held_out)?))
    }

    fn evaluation(
        &self,
        scorer: &dyn Scorer,
        held_out: &TestSet,
    ) -> Result<Evaluation, EvaluateError> {
        let (history, options) = (&self.history, &self.options);
        evaluate(scorer, history, held_out, options, &|_, _| {})
    }

    fn summary(&self, evaluation: &Evaluation) -> Summary {
        let mut results = evaluation.metrics.iter();
        let found = results.find(|result| result.name == self.name);
        found.map(|result| result.summary).unwrap_or_default()
    }
}

/// The most popular items, and where there are times those of the last twentieth of the rows, with their names: what
/// every model is compared with.
#[must_use]
pub fn popularity_scorers(train: &Interactions<'_>) -> Vec<(&'static str, PopularityScorer)> {
    let (users, counts) = (train.n_users(), train.item_counts());
    let mut scorers = vec![("most popular", PopularityScorer::new(users, &counts))];
    if let Some(latest) = train.latest_item_counts() {
        let lately = PopularityScorer::lately(users, &latest, &counts);
        scorers.push(("most popular lately", lately));
    }
    scorers
}

/// Measures models on samples of the held-out users; each sample is part of the next.
pub(crate) struct Evaluator<'d> {
    metric: SingleMetric<'d>,
    samples: Vec<TestSet>,
}

impl<'d> Evaluator<'d> {
    /// Takes the matrix trained on, the rows held out of it and how they are measured.
    pub(crate) fn new(
        train: &'d Interactions<'d>,
        held_out: &TestSet,
        scoring: Scoring<'_>,
    ) -> Result<Self, SearchError> {
        let Scoring {
            metric: name,
            sample_sizes: sizes,
            seed,
            among_new,
        } = scoring;
        if held_out.users().is_empty() {
            return Err(SearchError::NothingHeldOut);
        }
        let samples = sizes.iter().map(|&size| sample(held_out, size, seed));
        Ok(Self {
            metric: if among_new {
                SingleMetric::new(train, name).among_new(train)
            } else {
                SingleMetric::new(train, name)
            },
            samples: samples.collect(),
        })
    }

    /// The metric of a model on a sample.
    pub(crate) fn measure(&self, model: &Model, sample: usize) -> Result<Measured, SearchError> {
        self.measure_scorer(&model.scorer(), sample)
    }

    /// The metric of any scores on a sample.
    pub(crate) fn measure_scorer(
        &self,
        scorer: &dyn Scorer,
        sample: usize,
    ) -> Result<Measured, SearchError> {
        let held_out = &self.samples[sample.min(self.samples.len() - 1)];
        let evaluation = self.metric.evaluation(scorer, held_out)?;
        let summary = self.metric.summary(&evaluation);
        Ok(Measured {
            score: summary.mean,
            stderr: summary.stderr(),
            users: UserScores::of(&evaluation, self.metric.name),
        })
    }
}

/// Up to `size` users with their held-out items, chosen by a hash of the user.
fn sample(held_out: &TestSet, size: usize, seed: u64) -> TestSet {
    if held_out.users().len() <= size {
        return held_out.clone();
    }
    let mut order: Vec<(u64, usize)> = (0..held_out.users().len())
        .map(|row| (hash(seed, held_out.users()[row]), row))
        .collect();
    order.sort_unstable();
    let mut rows: Vec<usize> = order[..size].iter().map(|(_, row)| *row).collect();
    rows.sort_unstable();
    users_at(rows.into_iter(), held_out)
}

fn hash(seed: u64, user: u32) -> u64 {
    absentia::data::mix(seed, u64::from(user), 0x7475_6e65)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_are_parts_of_one_another_and_keep_whole_users() {
        let users: Vec<u32> = (0..600).map(|at| at / 3).collect();
        let items: Vec<u32> = (0..600).map(|at| at % 50).collect();
        let all = TestSet::from_pairs(&users, &items).unwrap();
        let (small, large) = (sample(&all, 20, 1), sample(&all, 60, 1));
        assert_eq!((small.users().len(), large.users().len()), (20, 60));
        for &user in small.users() {
            assert_eq!(large.get(user), all.get(user));
            assert_eq!(small.get(user), all.get(user));
        }
        assert_ne!(sample(&all, 20, 2), small);
        assert_eq!(sample(&all, 200, 2), all);
    }
}
