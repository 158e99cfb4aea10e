//! `recommend`: the best items for a user, for many, for all.

mod folded;
mod new_user;
mod sink;
mod users;

use std::path::PathBuf;

use absentia::memory::Stage;
use absentia::ranking::{RankRequest, Scored, UserItems, ranking_bytes};
use absentia_io::{Format, Id, IdMap, output_name};
use absentia_job::text::RelationSpec;
use absentia_job::{Listener as _, Reading};
use absentia_report::format::counted;
use absentia_report::terminal::{Cell, Column, Table};
use anyhow::Result;
use serde::Serialize;

use crate::args::parse_length;
use crate::cli::Context;
use crate::failure::{Outcome, Refusal};
use crate::guard::Files;
use crate::loading::{enter_gathering, id_list, read_known};
use crate::store::{self, Stored};
use folded::FoldedRows;
use sink::{IdTypes, Sink};

/// Users ranked at a time: enough to keep threads busy, few enough to hold.
const BATCH: usize = 4096;

const EXAMPLES: &str = "\
Examples:
  $ absentia recommend movies.absentia ann --train train.csv
  $ absentia recommend movies.absentia ann bob --train train.csv --top 3 --json
  $ absentia recommend movies.absentia --all --train train.csv --top 20 --out lists.csv
  $ absentia recommend movies.absentia --users-file users.txt --allow-seen --deny hidden.txt --out lists.jsonl
  $ absentia recommend movies.absentia --items heat,alien --top 3
  $ absentia recommend movies.absentia --fold-in test.csv --top 3
  $ absentia recommend tagged.absentia ann --train train.csv --relation items-tags:new.csv

A user gets the same list alone and among others. Users of --fold-in files are folded in from them,
whether the model knows them or not, and from their attributes in --relation files. Known users with
attributes alone, and known items, keep the factors they were trained with; new users and items are
folded in, and new items are ranked with the others, but not for who took them in --fold-in.";

/// List the best items for users.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Recommend {
    /// The model.
    #[arg(value_name = "MODEL")]
    model: PathBuf,
    /// Ids of users.
    #[arg(value_name = "USER")]
    user: Vec<String>,
    /// File of user ids, one a line; `-` is standard input.
    #[arg(long, value_name = "FILE", conflicts_with = "user")]
    users_file: Option<PathBuf>,
    /// Leave out users, or --items, that the model does not know, instead of stopping at the first.
    #[arg(long)]
    skip_unknown: bool,
    /// Ids of items, separated by commas, that someone new has taken: the best other items for them.
    #[arg(
        long,
        value_name = "ITEM",
        value_delimiter = ',',
        conflicts_with_all = ["user", "users_file", "all", "train", "fold_in", "relation"]
    )]
    items: Vec<String>,
    /// Every user of the model.
    #[arg(long, conflicts_with_all = ["user", "users_file"])]
    all: bool,
    /// Length of the lists.
    #[arg(long, short = 'n', value_name = "N", default_value_t = 10, value_parser = parse_length)]
    top: usize,
    /// Files of what users have seen, which is not recommended; those trained on, as a rule. Models of
    /// `train --keep-seen` have it.
    #[arg(long, value_name = "FILE", num_args = 1)]
    train: Vec<String>,
    /// Recommend what users have seen as well.
    #[arg(long, conflicts_with = "train")]
    allow_seen: bool,
    /// Files of rows that came after training, of new or known users, or of new items with users whom the model
    /// knows: their factors are computed from these rows (folded in), and the model stays as it is.
    #[arg(long, value_name = "FILE", num_args = 1)]
    fold_in: Vec<String>,
    /// Attributes of users or new items to fold in, TYPE-TYPE:FILE as in training; its options are those of the
    /// model.
    #[arg(long, value_name = "RELATION", num_args = 1)]
    relation: Vec<RelationSpec>,
    /// File of item ids, one a line: recommend only these.
    #[arg(long, value_name = "FILE")]
    allow: Option<PathBuf>,
    /// File of item ids, one a line: never recommend these.
    #[arg(long, value_name = "FILE")]
    deny: Option<PathBuf>,
    /// File to write, streaming: .csv, .tsv, .jsonl or .parquet; `-` writes to standard output, as CSV unless --to
    /// says otherwise.
    #[arg(long, short, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Format to write, instead of what the extension says: csv, tsv, jsonl or parquet.
    #[arg(long, value_name = "NAME", requires = "out")]
    to: Option<Format>,
    #[command(flatten)]
    pub(crate) read: Reading,
}

/// The list of one user.
#[derive(Serialize)]
pub(super) struct UserList {
    /// Nothing for someone new.
    pub(super) user: Option<Id>,
    pub(super) items: Vec<Recommended>,
}

/// An item in a list.
#[derive(Serialize)]
pub(super) struct Recommended {
    pub(super) item: Id,
    pub(super) score: f32,
}

impl Recommend {
    /// Every file that the command reads or writes.
    pub(crate) fn files(&self) -> Files {
        Files::default()
            .reads("MODEL", [&self.model])
            .reads("--users-file", &self.users_file)
            .reads("--train", &self.train)
            .reads("--allow", &self.allow)
            .reads("--deny", &self.deny)
            .reads("--fold-in", &self.fold_in)
            .reads_relations(&self.relation)
            .writes("--out", &self.out)
    }

    pub(crate) fn run(&self, context: &Context) -> Result<Outcome> {
        let mut stored = store::load(&self.model, &context.ui)?;
        let folds = !self.fold_in.is_empty() || !self.relation.is_empty();
        let is_listed = folds || !self.items.is_empty();
        let users = if is_listed {
            Vec::new()
        } else {
            self.users(&stored.users, &context.ui)?
        };
        let seen = self.seen(&mut stored, context)?;
        let added = folds.then(|| FoldedRows::read(self, &stored, &context.ui));
        let added = added.transpose()?;
        let items = added.as_ref().map_or(&stored.items, |added| &added.items);
        let rows = |path: &PathBuf| item_rows(path, items, context);
        let allow = self.allow.as_ref().map(rows).transpose()?;
        let deny = self.deny.as_ref().map(rows).transpose()?;
        let deny = deny.unwrap_or_default();
        let request = RankRequest {
            top: self.top,
            exclude: seen.as_ref().map(|seen| seen as _),
            allow: allow.as_deref(),
            deny: &deny,
            ..RankRequest::default()
        };
        let ranking = ranking_bytes(users.len(), items.len(), self.top);
        context.ui.enter(
            Stage::new("ranking")
                .with(
                    "what users have seen",
                    seen.as_ref().map_or(0, UserItems::bytes),
                )
                .with("users", 4 * users.len() as u64)
                .with("lists", ranking),
        )?;
        let bar = context
            .ui
            .progress()
            .count("ranking", users.len() as u64, "users");
        let lists = if let Some(added) = &added {
            added.lists(self, (&stored, seen.as_ref()), &request, &context.ui)?
        } else if is_listed {
            vec![new_user::list(self, &stored, &request, &context.ui)?]
        } else {
            Vec::new()
        };
        let types = IdTypes::of(&stored, &lists);
        let mut sink = self
            .out
            .as_ref()
            .map(|path| Sink::create(path, self.to, types))
            .transpose()?;
        let n_users = users.len() + lists.len();
        for list in &lists {
            match &mut sink {
                Some(sink) => sink.push(list)?,
                None => show(list, context)?,
            }
        }
        for batch in users.chunks(BATCH) {
            let lists = stored.model.recommend(&RankRequest {
                users: batch,
                ..request
            })?;
            for (&user, list) in batch.iter().zip(lists) {
                let list = named(&stored, user, &list);
                match &mut sink {
                    Some(sink) => sink.push(&list)?,
                    None => show(&list, context)?,
                }
            }
            bar.advance(batch.len() as u64);
        }
        bar.finish();
        if let (Some(sink), Some(path)) = (sink, &self.out) {
            let rows = sink.finish()?;
            context.ui.json(&serde_json::json!({
                "users": n_users, "rows": rows, "out": path,
            }))?;
            context.ui.note(format!(
                "wrote {} for {} to {}",
                counted(rows, "recommendation"),
                counted(n_users as u64, "user"),
                output_name(path)
            ));
        }
        Ok(Outcome::Done)
    }

    fn seen(&self, stored: &mut Stored, context: &Context) -> Result<Option<UserItems>> {
        if self.train.is_empty() {
            let kept = stored.seen.take().filter(|_| !self.allow_seen);
            if kept.is_some() {
                return Ok(kept);
            }
            // Users that are folded in have seen what they are folded in from.
            if self.allow_seen || !self.fold_in.is_empty() || !self.items.is_empty() {
                return Ok(None);
            }
            let refusal = Refusal::usage("without --train it is not known what users have seen");
            let hint = "pass --train FILE, or --allow-seen to recommend anything; models of `train \
                        --keep-seen` need neither";
            return Err(refusal.hint(hint).into());
        }
        let train = read_known(&self.train, &self.read, stored.take_ids(), &context.ui)?;
        enter_gathering(&train, &context.ui)?;
        let seen = UserItems::from_pairs(&train.user, &train.item)?;
        (stored.users, stored.items) = (train.users, train.items);
        Ok(Some(seen))
    }
}

fn item_rows(path: &std::path::Path, items: &IdMap, context: &Context) -> Result<Vec<u32>> {
    let ids = id_list(path)?;
    let mut rows: Vec<u32> = ids.iter().filter_map(|(_, id)| items.get(id)).collect();
    if rows.len() < ids.len() {
        context.ui.warn(format!(
            "{}: {} of {} items are not in the model",
            path.display(),
            ids.len() - rows.len(),
            ids.len()
        ));
    }
    rows.sort_unstable();
    rows.dedup();
    Ok(rows)
}

fn named(stored: &Stored, user: u32, list: &[Scored]) -> UserList {
    named_by(stored.users.id(user), list, &|item| stored.items.id(item))
}

/// A list with the names of its items.
fn named_by(user: Option<Id>, list: &[Scored], name: &dyn Fn(u32) -> Option<Id>) -> UserList {
    let item = |scored: &Scored| {
        Some(Recommended {
            item: name(scored.item)?,
            score: scored.score,
        })
    };
    UserList {
        user,
        items: list.iter().filter_map(item).collect(),
    }
}

fn show(list: &UserList, context: &Context) -> Result<()> {
    context.ui.json(list)?;
    if context.ui.is_json() {
        return Ok(());
    }
    let mut table = Table::new([
        Column::right("rank"),
        Column::left(match &list.user {
            Some(user) => format!("for {user}"),
            None => "for someone new".to_owned(),
        }),
        Column::right("score"),
    ]);
    for (at, recommended) in list.items.iter().enumerate() {
        table.row([
            Cell::count(at as u64 + 1),
            Cell::text(recommended.item.to_string()),
            Cell::metric(f64::from(recommended.score)),
        ]);
    }
    Ok(context.ui.table(&table)?)
}
