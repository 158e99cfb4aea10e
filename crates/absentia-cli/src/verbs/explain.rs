//! `explain`: why an item has its score, and what weight its missing entry had.

use std::path::PathBuf;

use absentia::error::Axis;
use absentia::model::{Explanation, RowWeights};
use absentia_job::{Preparation, Reading};
use absentia_report::format;
use absentia_report::terminal::{Cell, Column, Table};
use anyhow::Result;
use serde_json::json;

use crate::args::{parse_length, warn_of_preparation};
use crate::cli::Context;
use crate::failure::{Outcome, Refusal};
use crate::folding::entries_of;
use crate::guard::Files;
use crate::loading::{Rows, read_known, row_of};
use crate::store::{self, Stored};

const EXAMPLES: &str = "\
Examples:
  $ absentia explain movies.absentia ann heat --train train.csv

The contributions of the user's own interactions, and what is left of the score, add up to it. Pass
the same --min-rating and other preparation as to train, so that it is the same interactions.";

/// Explain a score by the user's own interactions.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Explain {
    /// The model.
    #[arg(value_name = "MODEL")]
    model: PathBuf,
    /// The user.
    #[arg(value_name = "USER")]
    user: String,
    /// The item.
    #[arg(value_name = "ITEM")]
    item: String,
    /// Files the model was trained on.
    #[arg(long, value_name = "FILE", num_args = 1, required = true)]
    train: Vec<String>,
    /// Number of interactions listed.
    #[arg(long, short = 'n', value_name = "N", default_value_t = 10, value_parser = parse_length)]
    top: usize,
    #[command(flatten)]
    read: Reading,
    #[command(flatten)]
    prepare: Preparation,
}

impl Explain {
    /// Every file that the command reads or writes.
    pub(crate) fn files(&self) -> Files {
        Files::default()
            .reads("MODEL", [&self.model])
            .reads("--train", &self.train)
            .reads("--exclude", &self.prepare.exclude)
    }

    pub(crate) fn run(&self, context: &Context) -> Result<Outcome> {
        let mut stored = store::load(&self.model, &context.ui)?;
        let user = row_of(&stored.users, Axis::User, &self.user)?;
        let item = row_of(&stored.items, Axis::Item, &self.item)?;
        let ids = stored.take_ids();
        let ui = &context.ui;
        let mut train = Rows::new(read_known(&self.train, &self.read, ids, ui)?)?;
        train.prepare(&self.prepare, &self.read, ui)?;
        train.merge_repeats(&self.prepare, ui)?;
        warn_of_preparation(&self.prepare, ui);
        let log = train.log.select(|row| train.log.user()[row] == user);
        let entries = entries_of(&log, train.users.len()).swap_remove(user as usize);
        (stored.users, stored.items) = train.take_ids();
        if entries.is_empty() {
            let refusal = Refusal::not_found(format!("user {:?} has no row in --train", self.user));
            return Err(refusal
                .hint("pass the files the model was trained on")
                .into());
        }
        let fold_in = stored.model.fold_in(Axis::User);
        let explanation = fold_in.explain(Some(user), &entries, &RowWeights::Like(user), item)?;
        let seen = entries.iter().any(|entry| entry.index == item);
        self.show(&stored, &explanation, (user, item), seen, context)?;
        Ok(Outcome::Done)
    }

    fn show(
        &self,
        stored: &Stored,
        explanation: &Explanation,
        (user, item): (u32, u32),
        seen: bool,
        context: &Context,
    ) -> Result<()> {
        let name = |item: u32| stored.items.name(item).unwrap_or_default().into_owned();
        let weight = stored.model.weights().explain(user, item);
        let contributions: Vec<_> = explanation
            .contributions
            .iter()
            .take(self.top)
            .map(|part| json!({"item": name(part.item), "contribution": part.contribution}))
            .collect();
        let reasons: Vec<_> = weight
            .parts
            .iter()
            .map(|part| json!({"scheme": part.scheme, "weight": part.value, "reason": part.reason}))
            .collect();
        context.ui.json(&json!({
            "user": self.user,
            "item": self.item,
            "score": explanation.score,
            "contributions": contributions,
            "others": others(explanation, self.top),
            "remainder": explanation.remainder,
            "observed": seen,
            "missing_weight": weight.total,
            "missing_weight_parts": reasons,
        }))?;
        if context.ui.is_json() {
            return Ok(());
        }
        context.ui.table(&self.table(explanation, &name))?;
        context.ui.say(if seen {
            "the pair is observed, so it has no weight as a missing entry".to_owned()
        } else {
            let parts: Vec<String> = weight
                .parts
                .iter()
                .map(|part| part.reason.clone())
                .collect();
            format!(
                "weight as a missing entry: {} ({})",
                format::significant(f64::from(weight.total), 4),
                parts.join("; ")
            )
        })?;
        Ok(())
    }

    fn table(&self, explanation: &Explanation, name: &dyn Fn(u32) -> String) -> Table {
        let mut table = Table::new([
            Column::left(format!("{} for {}, because of", self.item, self.user)),
            Column::right("adds"),
        ]);
        let shown = |value: f64| Cell::text(format::signed(value));
        for part in explanation.contributions.iter().take(self.top) {
            table.row([Cell::text(name(part.item)), shown(part.contribution)]);
        }
        if explanation.contributions.len() > self.top {
            let rest = explanation.contributions.len() - self.top;
            let label = format!("{rest} others");
            table.row([Cell::text(label), shown(others(explanation, self.top))]);
        }
        table.row([
            Cell::text("remainder of the sweeps"),
            shown(explanation.remainder),
        ]);
        table.row([Cell::text("score"), shown(explanation.score)]);
        table
    }
}

fn others(explanation: &Explanation, top: usize) -> f64 {
    let rest = explanation.contributions.iter().skip(top);
    rest.map(|part| part.contribution).sum()
}
