//! `import`: factors that were trained elsewhere.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use absentia::Model;
use absentia::memory::Stage;
use absentia_io::model::{Ids, ImportOptions, import_implicit, import_npy};
use absentia_job::{Listener as _, Reading};
use absentia_report::format;
use anyhow::Result;
use serde_json::json;

use crate::cli::Context;
use crate::failure::{Outcome, Refusal};
use crate::guard::Files;
use crate::loading::read_files;
use crate::store;

const EXAMPLES: &str = "\
Examples:
  $ absentia export movies.absentia --out factors
  $ absentia import factors/P.npy factors/Q.npy --users factors/users.txt --items factors/items.txt --model again.absentia

One file is an `.npz` saved by the Python package `implicit`, two are arrays of user and of item
factors. Without lists of ids, ids are row numbers. An item_scale.npy beside Q.npy, which an export
writes where a post-scaling is part of the ranking, is multiplied into the item factors.";

/// Make a model of factors trained elsewhere.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Import {
    /// An `.npz` of implicit, or P.npy and Q.npy.
    #[arg(required = true, value_name = "FILE", num_args = 1..=2)]
    factors: Vec<PathBuf>,
    /// File to save the model in.
    #[arg(long, short, value_name = "FILE")]
    model: PathBuf,
    /// User ids, one a line, in the order of the rows.
    #[arg(long, value_name = "FILE")]
    users: Option<PathBuf>,
    /// Item ids, one a line, in the order of the rows.
    #[arg(long, value_name = "FILE")]
    items: Option<PathBuf>,
    /// A number for each item that its factors are multiplied by; item_scale.npy beside Q.npy
    /// when not given, if it is there.
    #[arg(long, value_name = "FILE")]
    item_scale: Option<PathBuf>,
    /// Files the factors were trained on, to count interactions of users and items.
    #[arg(long, value_name = "FILE", num_args = 1)]
    train: Vec<String>,
    /// Weight of missing entries that the factors were trained with, for folding in.
    #[arg(long, value_name = "W", default_value_t = 1.0)]
    weight: f32,
    /// Regularization that the factors were trained with, for folding in; the file's when not given.
    #[arg(long, value_name = "LAMBDA")]
    regularization: Option<f32>,
    #[command(flatten)]
    pub(crate) read: Reading,
}

impl Import {
    /// Every file that the command reads or writes.
    pub(crate) fn files(&self) -> Files {
        let scale = self.scale().unwrap_or_else(|_| self.item_scale.clone());
        Files::default()
            .reads("FILE", &self.factors)
            .reads("--users", &self.users)
            .reads("--items", &self.items)
            .reads("--item-scale", scale)
            .reads("--train", &self.train)
            .writes("--model", [&self.model])
    }

    pub(crate) fn run(&self, context: &Context) -> Result<Outcome> {
        let item_scale = self.scale()?;
        self.enter_reading(item_scale.is_some(), context)?;
        let mut options = ImportOptions {
            item_scale: item_scale.clone(),
            users: self.users.clone(),
            items: self.items.clone(),
            weight: self.weight,
            regularization: self.regularization,
            ..ImportOptions::default()
        };
        if !self.train.is_empty() {
            let (_, ids) = self.read_factors(options.clone())?;
            let counts = self.counts(&ids, context)?;
            (options.user_counts, options.item_counts) = (Some(counts.0), Some(counts.1));
        }
        let (model, ids) = self.read_factors(options)?;
        store::save_imported(&self.model, &model, &ids)?;
        context.ui.json(&json!({
            "model": self.model, "users": model.n_users(), "items": model.n_items(),
            "factors": model.n_factors(), "item_scale": item_scale,
        }))?;
        if let Some(scale) = item_scale {
            context.ui.note(format!(
                "multiplied the item factors by {}: they rank as the exported model did",
                scale.display()
            ));
        }
        context.ui.note(format!(
            "saved {}, {} and {} to {}",
            format::counted(model.n_users() as u64, "user"),
            format::counted(model.n_items() as u64, "item"),
            format::counted(model.n_factors() as u64, "factor"),
            self.model.display()
        ));
        Ok(Outcome::Done)
    }

    /// Counts the memory of the factors, which are read whole.
    fn enter_reading(&self, is_scaled: bool, context: &Context) -> Result<()> {
        let length = |path: &PathBuf| path.metadata().map_or(0, |found| found.len());
        let scaled = match &self.factors[..] {
            [_, items] if is_scaled => length(items),
            _ => 0,
        };
        let factors: u64 = self.factors.iter().map(length).sum();
        let ids = self.users.iter().chain(&self.items).map(length);
        let stage = Stage::new("reading factors")
            .with("factors", factors)
            .with("scaled factors", scaled)
            .with("ids", 4 * ids.sum::<u64>());
        Ok(context.ui.enter(stage)?)
    }

    /// The scale that was named, or the one an export left beside the item factors.
    fn scale(&self) -> Result<Option<PathBuf>, Refusal> {
        match (&self.factors[..], &self.item_scale) {
            ([_, items], None) => {
                let beside = items.with_file_name("item_scale.npy");
                Ok(beside.is_file().then_some(beside))
            }
            ([_, _], given) => Ok(given.clone()),
            (_, None) => Ok(None),
            (_, Some(_)) => {
                let refusal = Refusal::flag("item-scale", "goes with P.npy and Q.npy");
                Err(refusal.hint("an .npz of implicit holds no scale: leave it out"))
            }
        }
    }

    /// Interactions of each user and item of the model.
    fn counts(&self, ids: &Ids, context: &Context) -> Result<(Vec<u32>, Vec<u32>)> {
        let train = read_files(&self.train, &self.read, &context.ui)?;
        let mut counts = (vec![0; ids.users.len()], vec![0; ids.items.len()]);
        // A pair is one interaction, however many rows it has.
        let pairs: BTreeSet<(u32, u32)> = train.user.into_iter().zip(train.item).collect();
        for (user, item) in pairs {
            let user = train.users.name(user).and_then(|id| ids.users.get(&id));
            let item = train.items.name(item).and_then(|id| ids.items.get(&id));
            if let (Some(user), Some(item)) = (user, item) {
                counts.0[user as usize] += 1;
                counts.1[item as usize] += 1;
            }
        }
        Ok(counts)
    }

    fn read_factors(&self, options: ImportOptions) -> Result<(Model, Ids)> {
        match &self.factors[..] {
            [file] if is_npy(file) => {
                let refusal = Refusal::usage(format!(
                    "{}: one array is not enough, both user and item factors are needed",
                    file.display()
                ));
                Err(refusal.hint("name two: P.npy Q.npy").into())
            }
            [file] => Ok(import_implicit(file, options)?),
            [users, items] => Ok(import_npy(users, items, options)?),
            _ => Err(Refusal::usage("expected one .npz or two .npy files").into()),
        }
    }
}

fn is_npy(path: &Path) -> bool {
    path.extension()
        .is_some_and(|e| e.eq_ignore_ascii_case("npy"))
}
