//! `similar`: items or users whose factors point the same way.

use std::path::PathBuf;

use absentia::error::Axis;
use absentia::memory::Stage;
use absentia::model::Similarity;
use absentia::ranking::ranking_bytes;
use absentia::relations::{ITEMS, USERS};
use absentia_io::Id;
use absentia_job::Listener as _;
use absentia_report::terminal::{Cell, Column, Table};
use anyhow::Result;
use serde::Serialize;

use crate::args::parse_length;
use crate::cli::Context;
use crate::failure::{Outcome, Refusal};
use crate::guard::Files;
use crate::loading::row_of;
use crate::store::{self, Stored};

const EXAMPLES: &str = "\
Examples:
  $ absentia similar movies.absentia heat
  $ absentia similar movies.absentia --of users ann bob --top 3 --by inner-product
  $ absentia similar tagged.absentia --of tags noir --to items";

/// List the items, or users, most like given ones.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Similar {
    /// The model.
    #[arg(value_name = "MODEL")]
    model: PathBuf,
    /// Ids of items, or of what --of names.
    #[arg(required = true, value_name = "ID")]
    id: Vec<String>,
    /// What the ids are: items, users, or a type of a relation of the model.
    #[arg(long, value_name = "TYPE", default_value = "items")]
    of: String,
    /// What is listed; the same as --of when not given.
    #[arg(long, value_name = "TYPE")]
    to: Option<String>,
    /// Length of the lists.
    #[arg(long, short = 'n', value_name = "N", default_value_t = 10, value_parser = parse_length)]
    top: usize,
    /// How likeness is measured: cosine, or inner-product.
    #[arg(long, value_name = "MEASURE", default_value = "cosine")]
    by: Similarity,
}

#[derive(Serialize)]
struct Line {
    id: Option<Id>,
    similar: Vec<Like>,
}

#[derive(Serialize)]
struct Like {
    id: Option<Id>,
    similarity: f32,
}

impl Similar {
    /// Every file that the command reads or writes.
    pub(crate) fn files(&self) -> Files {
        Files::default().reads("MODEL", [&self.model])
    }

    pub(crate) fn run(&self, context: &Context) -> Result<Outcome> {
        let stored = store::load(&self.model, &context.ui)?;
        let from = entity(&stored, &self.of)?;
        let to = match &self.to {
            Some(to) => entity(&stored, to)?,
            None => from,
        };
        let (own, ids) = (stored.ids_of(from), stored.ids_of(to));
        let rows = match self.by {
            // Rows of one type are normalised once.
            Similarity::Cosine if from == to && from < 2 => ids.len(),
            Similarity::Cosine => own.len() + ids.len(),
            Similarity::InnerProduct => 0,
        };
        let normalised = 4 * (rows * stored.model.n_factors().next_multiple_of(16)) as u64;
        context.ui.enter(
            Stage::new("comparing")
                .with("normalised factors", normalised)
                .with("ranking", ranking_bytes(self.id.len(), ids.len(), self.top)),
        )?;
        let row = |id: &String| match from {
            0 => row_of(own, Axis::User, id),
            1 => row_of(own, Axis::Item, id),
            _ => own.get(id).ok_or_else(|| {
                let message = format!("{id:?} is not among the {} of the model", self.of);
                Refusal::not_found(message).into()
            }),
        };
        let rows: Vec<u32> = self.id.iter().map(row).collect::<Result<_>>()?;
        let model = &stored.model;
        let lists = match (from, to) {
            (0, 0) => model.similar(Axis::User, &rows, self.top, self.by)?,
            (1, 1) => model.similar(Axis::Item, &rows, self.top, self.by)?,
            ends => model.similar_across(ends, &rows, self.top, self.by)?,
        };
        for (&row, list) in rows.iter().zip(lists) {
            let similar = list.iter().map(|scored| Like {
                id: ids.id(scored.item),
                similarity: scored.score,
            });
            let line = Line {
                id: own.id(row),
                similar: similar.collect(),
            };
            context.ui.json(&line)?;
            if !context.ui.is_json() {
                context.ui.table(&table(&line))?;
            }
        }
        Ok(Outcome::Done)
    }
}

/// The number of a type.
fn entity(stored: &Stored, name: &str) -> Result<usize> {
    let related = stored.model.related();
    let found = match name {
        USERS => Some(0),
        ITEMS => Some(1),
        name => related.and_then(|related| related.entity(name)),
    };
    let Some(entity) = found else {
        let names = match related {
            Some(related) => related.entities.iter().map(|e| e.name.clone()).collect(),
            None => vec![USERS.to_owned(), ITEMS.to_owned()],
        };
        let refusal = Refusal::usage(format!("the model has no {name}"));
        return Err(refusal.hint(format!("it has {}", names.join(", "))).into());
    };
    Ok(entity)
}

fn table(line: &Line) -> Table {
    let shown = |id: &Option<Id>| id.as_ref().map_or_else(String::new, Id::to_string);
    let mut table = Table::new([
        Column::right("rank"),
        Column::left(format!("similar to {}", shown(&line.id))),
        Column::right("similarity"),
    ]);
    for (at, like) in line.similar.iter().enumerate() {
        table.row([
            Cell::count(at as u64 + 1),
            Cell::text(shown(&like.id)),
            Cell::metric(f64::from(like.similarity)),
        ]);
    }
    table
}
