//! Users and items without a training row, measured apart with the settings that were chosen.

use absentia::evaluate::{EvaluateOptions, History, evaluate};
use absentia::fit::Cancel;
use absentia::relations::Relations;
use absentia_job::{Execution, Input, Job};
use absentia_search::Fold;
use anyhow::Result;

use super::folds::Folds;
use crate::cli::Context;
use crate::cold::{self, Cold};

/// Whether a fold holds out rows of users or items that it has no other rows of.
pub(super) fn has_new(fold: &Fold<'_>) -> bool {
    let (users, items) = (fold.train.user_counts(), fold.train.item_counts());
    let is_new = |counts: &[u32], row: u32| counts[row as usize] == 0;
    let mut held_out = fold.held_out.users().iter().enumerate();
    held_out.any(|(at, &user)| {
        let mut listed = fold.held_out.lists().row(at).iter();
        is_new(&users, user) || listed.any(|&item| is_new(&items, item))
    })
}

/// Trains the best settings on the first fold, and measures new and known ones of its held-out rows apart.
pub(super) fn measured(
    job: &Job,
    (folds, relations): (&Folds, Option<&Relations<'_>>),
    options: &EvaluateOptions,
    cancel: &Cancel,
    context: &Context,
) -> Result<Vec<Cold>> {
    let Some(fold) = folds.apart.as_ref().filter(|_| !cancel.is_cancelled()) else {
        return Ok(Vec::new());
    };
    let ids = folds.ids();
    let mut training = job.training(Input {
        data: &fold.train,
        ids: &ids,
        held_out: None,
        related: relations,
    })?;
    training.check_memory(&context.ui)?;
    let fitted = training.fit(Execution {
        cancel: cancel.clone(),
        ..Execution::default()
    })?;
    let (users, items) = (fold.train.user_counts(), fold.train.item_counts());
    let history = History::of(&fold.train);
    cold::measure(&fold.held_out, (&users, &items), &|test, candidates| {
        let options = EvaluateOptions {
            candidates,
            ..options.clone()
        };
        let scorer = fitted.model.scorer();
        Ok(evaluate(&scorer, &history, test, &options, &|_, _| {})?)
    })
}
