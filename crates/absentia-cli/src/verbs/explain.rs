//! `explain`: why an item has its score, and what weight its missing entry had.

mod observed;

use std::path::PathBuf;

use absentia::error::Axis;
use absentia::model::{Contribution, Explanation, RowWeights};
use absentia_io::time::TimeUnit;
use absentia_io::{Id, IdMap};
use absentia_job::text::RelationSpec;
use absentia_job::{
    Attributes, Preparation, Reading, known_entries, post_scaling_text, read_attributes,
};
use absentia_report::format;
use absentia_report::terminal::{Cell, Column, Table};
use anyhow::Result;
use serde_json::json;

use crate::args::parse_length;
use crate::cli::Context;
use crate::failure::{Outcome, Refusal};
use crate::guard::Files;
use crate::loading::row_of;
use crate::store::{self, Stored};

const EXAMPLES: &str = "\
Examples:
  $ absentia explain movies.absentia ann heat --train train.csv
  $ absentia explain tagged.absentia ann heat --train train.csv --by item --relation items-tags:tags.csv

The contributions of the user's own interactions, and what is left of the score, add up to it. Pass
the same --min-rating and other preparation as to train, so that it is the same interactions. With
--by item it is the users of the item and, by --relation, its attributes that add up to the score. The
one that explains the score may be new: then its attributes in --relation are all there is.";

/// Explain a score by the user's own interactions, or by the item's users and attributes.
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
    /// Files the model was trained on; models of `train --keep-seen` need none, unless their targets or confidence
    /// depend on ratings or times.
    #[arg(long, value_name = "FILE", num_args = 1)]
    train: Vec<String>,
    /// Whose interactions and attributes explain the score: those of the user, or of the item.
    #[arg(long, value_name = "SIDE", default_value = "user")]
    by: Axis,
    /// Attributes of users or items, TYPE-TYPE:FILE as in training; its options are those of the model.
    #[arg(long, value_name = "RELATION", num_args = 1)]
    relation: Vec<RelationSpec>,
    /// Number of interactions listed.
    #[arg(long, short = 'n', value_name = "N", default_value_t = 10, value_parser = parse_length)]
    top: usize,
    #[command(flatten)]
    pub(crate) read: Reading,
    #[command(flatten)]
    pub(crate) prepare: Preparation,
}

/// The rows of a user and an item; nothing for one that is new.
#[derive(Clone, Copy)]
struct Pair {
    user: Option<u32>,
    item: Option<u32>,
    /// The row of the one that does not explain the score.
    other: u32,
}

impl Pair {
    /// The row of the one that explains the score.
    fn own(&self, by: Axis) -> Option<u32> {
        match by {
            Axis::User => self.user,
            Axis::Item => self.item,
        }
    }

    /// Both rows, if neither is new.
    fn known(&self) -> Option<(u32, u32)> {
        self.user.zip(self.item)
    }
}

impl Explain {
    /// Every file that the command reads or writes.
    pub(crate) fn files(&self) -> Files {
        Files::default()
            .reads("MODEL", [&self.model])
            .reads("--train", &self.train)
            .reads("--exclude", &self.prepare.exclude)
            .reads_relations(&self.relation)
    }

    pub(crate) fn run(&self, context: &Context) -> Result<Outcome> {
        let mut stored = store::load(&self.model, &context.ui)?;
        let ui = &context.ui;
        let attributes = read_attributes(&self.relation, stored.known(), ui)?;
        let attributes = Attributes::all(attributes, stored.known(), ui)?;
        let pair = self.pair(&stored, &attributes)?;
        let observed = self.observed(&mut stored, &pair, ui)?;
        let axis = self.by;
        let (entity, id) = match axis {
            Axis::User => (0, &self.user),
            Axis::Item => (1, &self.item),
        };
        let own = pair.own(self.by);
        let like = own.map_or(RowWeights::Frozen, RowWeights::Like);
        let known = known_entries((entity, id), &observed.entries, &attributes, &like);
        if known.iter().all(|part| part.entries.is_empty()) {
            let refusal = Refusal::not_found(format!(
                "{axis} {id:?} has no interaction in the training data"
            ));
            return Err(refusal
                .hint("pass the files the model was trained on, and its attributes with --relation")
                .into());
        }
        let fold_in = stored.model.fold_in(axis);
        let explanation = fold_in.explain_related(own, &known, pair.other)?;
        self.show(&stored, &explanation, pair, observed.is_pair, context)?;
        Ok(Outcome::Done)
    }

    /// The rows of user and item. The one that explains the score may be new, if its attributes are given.
    fn pair(&self, stored: &Stored, attributes: &[Attributes]) -> Result<Pair> {
        let row = |axis: Axis, entity: usize, id: &str| -> Result<Option<u32>> {
            let ids = stored.ids_of(entity);
            let mut described = attributes.iter().filter(|one| one.entity == entity);
            let is_described = described.any(|one| !one.get(id).is_empty());
            if ids.get(id).is_some() || !is_described {
                return row_of(ids, axis, id).map(Some);
            }
            if axis == self.by {
                return Ok(None);
            }
            let refusal = Refusal::usage(format!("{axis} {id:?} is new, and known by attributes"));
            let hint = format!("explain the score by the {axis}: --by {axis}");
            Err(refusal.hint(hint).into())
        };
        let user = row(Axis::User, 0, &self.user)?;
        let item = row(Axis::Item, 1, &self.item)?;
        let other = match self.by {
            Axis::User => item,
            Axis::Item => user,
        };
        Ok(Pair {
            user,
            item,
            other: other.unwrap_or_default(),
        })
    }

    fn show(
        &self,
        stored: &Stored,
        explanation: &Explanation,
        pair: Pair,
        seen: bool,
        context: &Context,
    ) -> Result<()> {
        let name = |part: &Contribution| self.name(stored, part);
        let weight = pair
            .known()
            .map(|(user, item)| stored.model.weights().explain(user, item));
        // Without a half-life, the post-scaling is that of the whole data, as `inspect` shows it.
        let scale = stored.model.item_scale();
        let scale = scale.filter(|_| stored.model.params().post_scale_half_life.is_some());
        let scale = scale
            .zip(pair.item)
            .map(|(scale, item)| scale[item as usize]);
        let contributions: Vec<_> = explanation
            .contributions
            .iter()
            .take(self.top)
            .map(|part| {
                let (kind, name) = name(part);
                json!({(kind): name, "contribution": part.contribution})
            })
            .collect();
        let parts = weight.iter().flat_map(|weight| &weight.parts);
        let reasons: Vec<_> = parts
            .map(|part| json!({"scheme": part.scheme, "weight": part.value, "reason": part.reason}))
            .collect();
        let id = |ids: &IdMap, row: Option<u32>, given: &str| match row {
            Some(row) => json!(ids.id(row)),
            None => json!(given),
        };
        context.ui.json(&json!({
            "user": id(&stored.users, pair.user, &self.user),
            "item": id(&stored.items, pair.item, &self.item),
            "score": explanation.score,
            "contributions": contributions,
            "others": explanation.others(self.top),
            "remainder": explanation.remainder,
            "observed": seen,
            "missing_weight": weight.as_ref().map_or(0.0, |weight| weight.total),
            "missing_weight_parts": reasons,
        }))?;
        if context.ui.is_json() {
            return Ok(());
        }
        context.ui.table(&self.table(explanation, &name))?;
        if let Some(scale) = scale {
            let unit = TimeUnit::of_latest(stored.model.parts().transform.now);
            context.ui.say(format!(
                "post-scaling multiplied the score by {}: exponent {}",
                format::significant(f64::from(scale), 4),
                post_scaling_text(stored.model.params(), unit)
            ))?;
        }
        context.ui.say(match weight {
            _ if seen => "the pair is observed, so it has no weight as a missing entry".to_owned(),
            None => {
                let new = if pair.user.is_none() { "user" } else { "item" };
                format!(
                    "the {new} is new: without interactions it has no weight as a missing entry"
                )
            }
            Some(weight) => {
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
            }
        })?;
        Ok(())
    }

    /// What a contribution comes from: its kind, and its id.
    fn name(&self, stored: &Stored, part: &Contribution) -> (String, Option<Id>) {
        let (own, other) = match self.by {
            Axis::User => (0, (1, "item")),
            Axis::Item => (1, (0, "user")),
        };
        let related = stored.model.related().zip(part.relation);
        let (entity, kind) = match related {
            Some((related, at)) => {
                let entity = related.relations[at].other(own);
                (entity, &related.entities[entity].name[..])
            }
            None => other,
        };
        (kind.to_owned(), stored.ids_of(entity).id(part.item))
    }

    fn table(
        &self,
        explanation: &Explanation,
        name: &dyn Fn(&Contribution) -> (String, Option<Id>),
    ) -> Table {
        let mut table = Table::new([
            Column::left(format!("{} for {}, because of", self.item, self.user)),
            Column::right("adds"),
        ]);
        let shown = |value: f64| Cell::text(format::signed(value));
        for part in explanation.contributions.iter().take(self.top) {
            let (kind, id) = name(part);
            let id = id.map_or_else(String::new, |id| id.to_string());
            let label = match part.relation {
                None => id,
                Some(_) => format!("{kind}: {id}"),
            };
            table.row([Cell::text(label), shown(part.contribution)]);
        }
        if explanation.contributions.len() > self.top {
            let rest = explanation.contributions.len() - self.top;
            let label = format!("{rest} others");
            table.row([Cell::text(label), shown(explanation.others(self.top))]);
        }
        table.row([
            Cell::text("remainder of the sweeps"),
            shown(explanation.remainder),
        ]);
        table.row([Cell::text("score"), shown(explanation.score)]);
        table
    }
}
