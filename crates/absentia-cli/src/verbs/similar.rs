//! `similar`: items or users whose factors point the same way.

use std::path::PathBuf;

use absentia::error::Axis;
use absentia::memory::Stage;
use absentia::model::Similarity;
use absentia::ranking::ranking_bytes;
use absentia_job::Listener as _;
use absentia_report::terminal::{Cell, Column, Table};
use anyhow::Result;
use serde::Serialize;

use crate::args::parse_length;
use crate::cli::Context;
use crate::failure::Outcome;
use crate::guard::Files;
use crate::loading::row_of;
use crate::store;

const EXAMPLES: &str = "\
Examples:
  $ absentia similar movies.absentia heat
  $ absentia similar movies.absentia --of users ann bob --top 3 --by inner-product";

/// List the items, or users, most like given ones.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Similar {
    /// The model.
    #[arg(value_name = "MODEL")]
    model: PathBuf,
    /// Ids of items, or of users with --of users.
    #[arg(required = true, value_name = "ID")]
    id: Vec<String>,
    /// What the ids are, and what is listed.
    #[arg(long, value_name = "SIDE", default_value = "items")]
    of: Side,
    /// Length of the lists.
    #[arg(long, short = 'n', value_name = "N", default_value_t = 10, value_parser = parse_length)]
    top: usize,
    /// How likeness is measured.
    #[arg(long, value_name = "MEASURE", default_value = "cosine")]
    by: Measure,
}

#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum Side {
    Items,
    Users,
}

#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum Measure {
    Cosine,
    InnerProduct,
}

#[derive(Serialize)]
struct Line<'a> {
    id: &'a str,
    similar: Vec<Like>,
}

#[derive(Serialize)]
struct Like {
    id: String,
    similarity: f32,
}

impl Similar {
    /// Every file that the command reads or writes.
    pub(crate) fn files(&self) -> Files {
        Files::default().reads("MODEL", [&self.model])
    }

    pub(crate) fn run(&self, context: &Context) -> Result<Outcome> {
        let stored = store::load(&self.model, &context.ui)?;
        let (axis, ids) = match self.of {
            Side::Items => (Axis::Item, &stored.items),
            Side::Users => (Axis::User, &stored.users),
        };
        let by = match self.by {
            Measure::Cosine => Similarity::Cosine,
            Measure::InnerProduct => Similarity::InnerProduct,
        };
        let normalised = match self.by {
            Measure::Cosine => 4 * (ids.len() * stored.model.n_factors()) as u64,
            Measure::InnerProduct => 0,
        };
        context.ui.enter(
            Stage::new("comparing")
                .with("normalised factors", normalised)
                .with("ranking", ranking_bytes(self.id.len(), ids.len(), self.top)),
        )?;
        let rows: Result<Vec<u32>> = self.id.iter().map(|id| row_of(ids, axis, id)).collect();
        let lists = stored.model.similar(axis, &rows?, self.top, by)?;
        for (id, list) in self.id.iter().zip(lists) {
            let similar = list.iter().map(|scored| Like {
                id: ids.name(scored.item).unwrap_or_default().into_owned(),
                similarity: scored.score,
            });
            let line = Line {
                id,
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

fn table(line: &Line<'_>) -> Table {
    let mut table = Table::new([
        Column::right("rank"),
        Column::left(format!("similar to {}", line.id)),
        Column::right("similarity"),
    ]);
    for (at, like) in line.similar.iter().enumerate() {
        table.row([
            Cell::count(at as u64 + 1),
            Cell::text(like.id.as_str()),
            Cell::metric(f64::from(like.similarity)),
        ]);
    }
    table
}
