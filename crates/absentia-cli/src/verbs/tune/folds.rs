//! What settings are chosen by: rows held out of the data, in one or several ways.

use absentia::Interactions;
use absentia::data::{Duplicates, Part, Pick, Split};
use absentia::evaluate::TestSet;
use absentia_io::model::Ids;
use absentia_io::time::TimeUnit;
use absentia_job::{Reading, defaults, pairs_of, split_rows};
use absentia_report::format::counted;
use absentia_search::Fold;
use anyhow::Result;

use super::HeldOutArgs;
use super::tilt::tilted;
use crate::args::DataArgs;
use crate::failure::Refusal;
use crate::loading::{Rows, load};
use crate::ui::Ui;

/// Users with a held-out row below which the data is split in so many ways.
const FEW_USERS: [(usize, usize); 3] = [(2000, 5), (5000, 3), (10_000, 2)];

/// The data of a search.
pub(super) struct Folds {
    ways: Vec<Fold<'static>>,
    /// Every row, for the model that is trained in the end.
    pub(super) all: Interactions<'static>,
    /// Its rows and their ids.
    pub(super) loaded: Rows,
    /// Latest time of the data.
    pub(super) now: i64,
    /// How many rows each fold holds out.
    pub(super) held_out: usize,
    pub(super) splits: usize,
}

impl Folds {
    /// The ids of users and items, as a model keeps them.
    pub(super) fn ids(&self) -> Ids {
        Ids {
            users: self.loaded.users.clone(),
            items: self.loaded.items.clone(),
        }
    }

    /// The rows of files whose users and items the data knows.
    pub(super) fn rows_of(
        &mut self,
        patterns: &[String],
        read: &Reading,
        ui: &Ui,
    ) -> Result<TestSet> {
        Ok(pairs_of(&mut self.loaded, patterns, read, ui)?)
    }

    /// Hands the folds over.
    pub(super) fn take(&mut self) -> Vec<Fold<'static>> {
        std::mem::take(&mut self.ways)
    }
}

/// Reads the data and holds rows out of it.
pub(super) fn fold(data: &DataArgs, args: &HeldOutArgs, ui: &Ui) -> Result<Folds> {
    let mut loaded = load(data, ui)?;
    loaded.report_ratings(&data.prepare, ui);
    // A pair must not be in training and held out at once.
    let merged = loaded.log.deduplicate(data.prepare.duplicates());
    merged.map_err(|error| loaded.named(error))?;
    let all = loaded.interactions(data.prepare.duplicates())?;
    let mut folds = if args.valid.is_empty() {
        split(&loaded, args)?
    } else {
        vec![given(&mut loaded, data, args, ui)?]
    };
    if args.tilt != 0.0 {
        for fold in &mut folds {
            fold.held_out = tilted(&fold.held_out, &fold.train.item_counts(), args.tilt)?;
        }
    }
    let held_out = folds.first().map_or(0, |fold| fold.held_out.lists().len());
    ui.note(format!(
        "{} of {} with {}; {} held out{}",
        counted(all.n_interactions() as u64, "interaction"),
        counted(all.n_users() as u64, "user"),
        counted(all.n_items() as u64, "item"),
        counted(held_out as u64, "row"),
        match folds.len() {
            1 => String::new(),
            n => format!(", in {n} ways"),
        }
    ));
    let now = loaded
        .log
        .time()
        .and_then(|times| times.iter().max().copied());
    Ok(Folds {
        splits: folds.len(),
        ways: folds,
        all,
        loaded,
        now: now.unwrap_or_default(),
        held_out,
    })
}

fn given(loaded: &mut Rows, data: &DataArgs, args: &HeldOutArgs, ui: &Ui) -> Result<Fold<'static>> {
    let held_out = pairs_of(loaded, &args.valid, &data.read, ui)?;
    let train = loaded.interactions(data.prepare.duplicates())?;
    Ok(Fold { train, held_out })
}

fn split(loaded: &Rows, args: &HeldOutArgs) -> Result<Vec<Fold<'static>>> {
    let timed = loaded.log.time().is_some();
    let pick = args
        .pick
        .unwrap_or(if timed { Pick::Latest } else { Pick::Drift });
    let unit = TimeUnit::of_times(loaded.log.time());
    let rule = args.split.split(pick, defaults::FOLD_IN, unit);
    if matches!(rule, Split::HeldOutUsers { .. }) {
        let refusal =
            Refusal::usage("users held out whole cannot be ranked without folding them in");
        return Err(refusal
            .hint("hold rows out, as in --split share:0.2")
            .into());
    }
    let random = pick != Pick::Latest && !matches!(rule, Split::TimeCut { .. });
    if args.splits.is_some_and(|splits| splits > 1) && !random {
        let refusal = Refusal::usage("--splits: there is one way only to hold out the latest rows");
        return Err(refusal
            .hint("pass --pick random or --pick drift as well")
            .into());
    }
    let mut folds = vec![part(loaded, &rule, 0)?];
    let users = folds[0].held_out.users().len();
    let splits = args.splits.unwrap_or_else(|| how_many(users, random));
    for seed in 1..splits as u64 {
        folds.push(part(loaded, &rule, seed)?);
    }
    if users == 0 {
        let refusal = Refusal::data("no row is held out: users have too few");
        return Err(refusal.hint("try --split share:0.2").into());
    }
    if folds[0].train.n_interactions() == 0 {
        let refusal = Refusal::data("every row is held out, and none is left to train on");
        return Err(refusal.hint("hold out less with --split share:0.1").into());
    }
    Ok(folds)
}

fn how_many(users: usize, random: bool) -> usize {
    let few = FEW_USERS.iter().find(|(below, _)| users < *below);
    few.filter(|_| random).map_or(1, |(_, splits)| *splits)
}

/// Holds rows out of prepared data by a rule; pairs occur once, so that there is nothing to merge.
pub(super) fn part(loaded: &Rows, rule: &Split, seed: u64) -> Result<Fold<'static>> {
    let parts = split_rows(&loaded.log, rule, seed)?;
    let held = loaded.log.select(|row| parts[row] != Part::Train);
    let mut train = loaded.log.clone();
    train.retain(|row| parts[row] == Part::Train);
    let (users, items) = (loaded.users.len(), loaded.items.len());
    Ok(Fold {
        train: train.interactions(users, items, Duplicates::Last)?,
        held_out: TestSet::from_pairs(held.user(), held.item())?,
    })
}

/// Every so many-th user, so that at most `size` are left.
pub(super) fn sampled(test: &TestSet, size: usize) -> TestSet {
    let step = test.users().len().div_ceil(size.max(1)).max(1);
    let (mut users, mut items) = (Vec::new(), Vec::new());
    for row in (0..test.users().len()).step_by(step) {
        for &item in test.lists().row(row) {
            users.push(test.users()[row]);
            items.push(item);
        }
    }
    // The columns have one length, which is all that could be wrong with them.
    TestSet::from_pairs(&users, &items).unwrap_or_default()
}
