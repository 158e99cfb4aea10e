//! From a scorer and held-out items to a table of metrics.

use rayon::prelude::*;

use super::catalogue::{CatalogueCounts, CatalogueResult};
use super::error::EvaluateError;
use super::history::History;
use super::metrics::{MetricName, UserRanks};
use super::options::{Candidates, EvaluateOptions};
use super::summary::Summary;
use crate::error::Axis;
use crate::ranking::{
    BATCH, ItemLists, RankError, RankRequest, Ranking, Scorer, UserItems, check_range, rank,
    rank_lists,
};

/// The items held out for each user that has any.
pub type TestSet = UserItems;

/// On which candidates an evaluation was made; say it wherever a figure is shown.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "kebab-case", tag = "kind"))]
pub enum CandidateKind {
    /// All items the user had not seen.
    AllUnseen,
    /// All items, seen ones included.
    All,
    /// Test items and sampled negatives only.
    Sampled {
        /// Mean number of negatives a user.
        negatives: f64,
    },
    /// Some items only.
    Only {
        /// Number of them.
        items: usize,
        /// Whether those that the user has seen are left out.
        unseen: bool,
    },
}

impl std::fmt::Display for CandidateKind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            CandidateKind::AllUnseen => f.write_str("all unseen items ranked"),
            CandidateKind::All => f.write_str("all items ranked, seen ones included"),
            CandidateKind::Sampled { negatives } => {
                write!(f, "sampled: {negatives:.0} negatives a user")
            }
            CandidateKind::Only { items, unseen } => {
                let seen = if *unseen { ", seen ones left out" } else { "" };
                write!(f, "{items} items ranked{seen}")
            }
        }
    }
}

/// One metric over all users.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct MetricResult {
    /// Which metric.
    pub name: MetricName,
    /// Mean over users with a test item, and its spread.
    pub summary: Summary,
    /// The value of each user, in the order of [`Evaluation::users`].
    pub per_user: Vec<f32>,
}

/// The result of an evaluation.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Evaluation {
    /// The users with a test item, rising.
    pub users: Vec<u32>,
    /// On which candidates.
    pub candidates: CandidateKind,
    /// Every requested metric.
    pub metrics: Vec<MetricResult>,
    /// Coverage, Gini and popularity for each cut-off; empty when candidates were sampled.
    pub catalogue: Vec<CatalogueResult>,
}

impl Evaluation {
    /// The result of a metric by its name, as in `recall@20`.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&MetricResult> {
        let name: MetricName = name.parse().ok()?;
        self.metrics.iter().find(|result| result.name == name)
    }
}

/// Ranks the candidates of every user with a test item and measures the rankings.
///
/// `progress(done, total)` is called on the calling thread every few thousand users.
///
/// # Errors
/// Options without a metric, an empty test set, users or items the scorer does not know, or
/// test users without sampled negatives.
pub fn evaluate(
    scorer: &dyn Scorer,
    history: &History<'_>,
    test: &TestSet,
    options: &EvaluateOptions,
    progress: &dyn Fn(usize, usize),
) -> Result<Evaluation, EvaluateError> {
    let names = options.names()?;
    check(scorer, history, test)?;
    let mut table = Table::new(&names, options, scorer.n_items())?;
    let total = test.users().len();
    progress(0, total);
    for first in (0..total).step_by(BATCH) {
        let end = total.min(first + BATCH);
        let batch = Batch::new(test, first..end);
        let rankings = batch.rank(scorer, history, options, &names)?;
        table.add(&batch, &rankings, history);
        progress(end, total);
    }
    Ok(table.finish(test, options))
}

fn check(scorer: &dyn Scorer, history: &History<'_>, test: &TestSet) -> Result<(), EvaluateError> {
    if test.users().is_empty() {
        return Err(EvaluateError::NoTestUsers);
    }
    if history.item_counts.len() != scorer.n_items() {
        return Err(RankError::Length {
            what: "item counts",
            expected: scorer.n_items(),
            got: history.item_counts.len(),
        }
        .into());
    }
    let items = test.lists().items();
    check_range("test set", Axis::User, test.users(), scorer.n_users())?;
    check_range("test set", Axis::Item, items, scorer.n_items())?;
    Ok(())
}

/// Some users of the test set.
struct Batch<'a> {
    users: &'a [u32],
    test: ItemLists,
}

impl<'a> Batch<'a> {
    fn new(test: &'a TestSet, range: std::ops::Range<usize>) -> Self {
        let mut lists = ItemLists::new();
        for at in range.clone() {
            lists.push_with(|items| items.extend_from_slice(test.lists().row(at)));
        }
        Self {
            users: &test.users()[range],
            test: lists,
        }
    }

    fn rank(
        &self,
        scorer: &dyn Scorer,
        history: &History<'_>,
        options: &EvaluateOptions,
        names: &[MetricName],
    ) -> Result<Vec<Ranking>, EvaluateError> {
        let top = options.longest(scorer.n_items());
        if let Candidates::Sampled(negatives) = &options.candidates {
            let lists = self.with_negatives(negatives)?;
            return Ok(rank_lists(scorer, self.users, &lists, top, &self.test)?);
        }
        let exact = names.iter().any(|name| name.cutoff.is_none());
        let request = RankRequest {
            users: self.users,
            top,
            exclude: options.exclude_seen.then_some(history.seen),
            targets: exact.then_some(&self.test),
            allow: match &options.candidates {
                Candidates::Only(items) => Some(items),
                _ => None,
            },
            ..RankRequest::default()
        };
        Ok(rank(scorer, &request)?)
    }

    fn with_negatives(&self, negatives: &UserItems) -> Result<ItemLists, EvaluateError> {
        let mut lists = ItemLists::new();
        for (row, &user) in self.users.iter().enumerate() {
            let sampled = negatives.get(user);
            let sampled = sampled.ok_or(EvaluateError::NoNegatives { user })?;
            lists.push(sampled.iter().chain(self.test.row(row)).copied());
        }
        Ok(lists)
    }

    /// Rising ranks of the test items of a user: exact ones, or those within the list.
    fn ranks(&self, row: usize, ranking: &Ranking) -> Vec<u32> {
        let test = self.test.row(row);
        if ranking.ranks.is_empty() {
            let hit = |at: &usize| test.binary_search(&ranking.top[*at].item).is_ok();
            let hits = (0..ranking.top.len()).filter(hit);
            return hits.map(|at| at as u32 + 1).collect();
        }
        let mut ranks: Vec<u32> = ranking.ranks.iter().copied().flatten().collect();
        ranks.sort_unstable();
        ranks
    }
}

/// Values of all metrics as users are added.
struct Table {
    names: Vec<MetricName>,
    values: Vec<Vec<f64>>,
    catalogue: Vec<CatalogueCounts>,
    negatives: usize,
}

impl Table {
    fn new(
        names: &[MetricName],
        options: &EvaluateOptions,
        n_items: usize,
    ) -> Result<Self, EvaluateError> {
        let mut cutoffs = options.sorted_cutoffs()?;
        if matches!(options.candidates, Candidates::Sampled(_)) {
            cutoffs.clear();
        }
        let counts = |k| CatalogueCounts::new(k, n_items);
        Ok(Self {
            names: names.to_vec(),
            values: vec![Vec::new(); names.len()],
            catalogue: cutoffs.into_iter().map(counts).collect(),
            negatives: 0,
        })
    }

    fn add(&mut self, batch: &Batch<'_>, rankings: &[Ranking], history: &History<'_>) {
        let names = &self.names;
        let measure = |(row, ranking): (usize, &Ranking)| -> Vec<f64> {
            let ranks = UserRanks {
                ranks: &batch.ranks(row, ranking),
                n_test: batch.test.row(row).len(),
                candidates: ranking.candidates,
            };
            names.iter().map(|&name| ranks.value(name)).collect()
        };
        let measured = rankings.par_iter().enumerate().map(measure);
        for values in measured.collect::<Vec<_>>() {
            for (column, value) in self.values.iter_mut().zip(values) {
                column.push(value);
            }
        }
        for (row, ranking) in rankings.iter().enumerate() {
            self.negatives += ranking.candidates.saturating_sub(batch.test.row(row).len());
            for counts in &mut self.catalogue {
                counts.add(&ranking.top, &history.item_counts);
            }
        }
    }

    fn finish(self, test: &TestSet, options: &EvaluateOptions) -> Evaluation {
        let negatives = self.negatives as f64 / test.users().len() as f64;
        let candidates = match (&options.candidates, options.exclude_seen) {
            (Candidates::Sampled(_), _) => CandidateKind::Sampled { negatives },
            (Candidates::Only(items), unseen) => CandidateKind::Only {
                items: items.len(),
                unseen,
            },
            (Candidates::All, true) => CandidateKind::AllUnseen,
            (Candidates::All, false) => CandidateKind::All,
        };
        let result = |(name, values): (MetricName, Vec<f64>)| MetricResult {
            name,
            summary: Summary::of(&values),
            per_user: values.into_iter().map(|value| value as f32).collect(),
        };
        Evaluation {
            users: test.users().to_vec(),
            candidates,
            metrics: self
                .names
                .into_iter()
                .zip(self.values)
                .map(result)
                .collect(),
            catalogue: self
                .catalogue
                .into_iter()
                .map(CatalogueCounts::finish)
                .collect(),
        }
    }
}
