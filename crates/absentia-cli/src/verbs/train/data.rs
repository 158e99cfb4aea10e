//! What a run is made on: the matrix with its exceptions, and the rows held out of it.

use absentia::Interactions;
use absentia::data::{Confidence, Part, Pick, Split, Targets};
use absentia::evaluate::TestSet;
use absentia_io::model::Ids;
use absentia_io::time::TimeUnit;
use absentia_report::format::counted;
use anyhow::Result;

use super::ValidationArgs;
use crate::args::{DataArgs, HyperArgs, ReadArgs, WeightArgs, parse_split};
use crate::failure::Refusal;
use crate::loading::{Loaded, load, read_known, warn_of_unliked};
use crate::tables::Tables;
use crate::ui::Ui;
use crate::verbs::split::split_rows;

/// Data ready to be trained on.
pub(crate) struct Prepared {
    pub(crate) ids: Ids,
    pub(crate) data: Interactions<'static>,
    pub(crate) held_out: Option<TestSet>,
    /// Whether the data came with ratings, and with weights.
    has_ratings: bool,
    has_weights: bool,
}

impl Prepared {
    /// Files as seen from this data.
    pub(crate) fn tables(&self) -> Tables<'_> {
        Tables {
            users: &self.ids.users,
            items: &self.ids.items,
        }
    }

    /// Refuses or remarks on rules for targets and weights that this data gives nothing to.
    pub(crate) fn check_rules(&self, hyper: &HyperArgs, ui: &Ui) -> Result<(), Refusal> {
        if hyper.confidence == Confidence::Column && !self.has_weights {
            let refusal = Refusal::usage("--confidence column: the data has no column of weights");
            return Err(refusal.hint("name it with --weight-col COLUMN"));
        }
        if self.has_ratings {
            return Ok(());
        }
        let say = |rule: &str| {
            ui.warn(format!(
                "{rule} has nothing to go by: the data has no ratings, so all values are 1; name \
                 their column with --rating-col"
            ));
        };
        if matches!(hyper.targets, Some(Targets::Raw | Targets::Log)) {
            say("--targets raw or log");
        }
        if matches!(
            hyper.confidence,
            Confidence::Linear { .. } | Confidence::Log { .. }
        ) {
            say("--confidence linear or log");
        }
        Ok(())
    }

    /// A half-life in seconds put into the unit of the data's times.
    pub(crate) fn confidence(&self, confidence: Confidence) -> Confidence {
        match confidence {
            Confidence::Decay { half_life, now } => {
                let unit = TimeUnit::of_times(self.data.times());
                let half_life = half_life * unit.per_second();
                Confidence::Decay { half_life, now }
            }
            confidence => confidence,
        }
    }
}

/// Where held-out rows come from.
pub(crate) enum Held<'a> {
    /// As the validation arguments say; nowhere if they say nothing.
    Validation(&'a ValidationArgs),
    /// From these files.
    Files(&'a [String]),
    /// From the data, by a rule.
    Split(&'a str, Option<Pick>),
}

/// Reads the data of a run, holds rows out, and adds what was shown and not taken.
pub(crate) fn prepare(
    args: &DataArgs,
    missing: &WeightArgs,
    held: &Held<'_>,
    ui: &Ui,
) -> Result<Prepared> {
    if missing.exposed_weight.is_some() && missing.exposed.is_empty() {
        let refusal =
            Refusal::usage("--exposed-weight is the weight of pairs that --exposed names");
        return Err(refusal.hint("pass --exposed FILE as well").into());
    }
    let mut loaded = load(args, ui)?;
    warn_of_unliked(&loaded, args, ui);
    let has_ratings = loaded.log.value().is_some();
    let has_weights = loaded.log.weight().is_some();
    let held_out = match held {
        Held::Validation(valid) if !valid.valid.is_empty() => {
            Some(from_files(&mut loaded, &valid.valid, &args.read, ui)?)
        }
        Held::Validation(valid) => match &valid.valid_split {
            Some(rule) => Some(from_split(&mut loaded, args, rule, valid.valid_pick, ui)?),
            None => None,
        },
        Held::Files(patterns) => Some(from_files(&mut loaded, patterns, &args.read, ui)?),
        Held::Split(rule, pick) => Some(from_split(&mut loaded, args, rule, *pick, ui)?),
    };
    let mut data = loaded.interactions(args.prepare.duplicates())?;
    if !missing.exposed.is_empty() {
        data = exposed(&mut loaded, &data, missing, &args.read, ui)?;
    }
    if let Some(test) = &held_out {
        warn_of_overlap(&data, test, ui);
    }
    ui.note(format!(
        "{} of {} with {}",
        counted(data.n_interactions() as u64, "interaction"),
        counted(data.n_users() as u64, "user"),
        counted(data.n_items() as u64, "item")
    ));
    Ok(Prepared {
        ids: Ids {
            users: loaded.users,
            items: loaded.items,
        },
        data,
        held_out,
        has_ratings,
        has_weights,
    })
}

/// Held-out pairs that are trained on as well are never ranked, so figures would be too low.
fn warn_of_overlap(data: &Interactions<'_>, test: &TestSet, ui: &Ui) {
    let mut both = 0;
    for (row, &user) in test.users().iter().enumerate() {
        let trained = data.by_user().row(user as usize).indices;
        let held = test.lists().row(row).iter();
        both += held
            .filter(|item| trained.binary_search(item).is_ok())
            .count();
    }
    if both > 0 {
        ui.warn(format!(
            "{both} of {} held-out pairs are trained on as well and count as missed; leave them out \
             of the training data with --exclude FILE",
            test.lists().len()
        ));
    }
}

/// The held-out rows of files, of users and items that the data knows.
pub(crate) fn from_files(
    loaded: &mut Loaded,
    patterns: &[String],
    read: &ReadArgs,
    ui: &Ui,
) -> Result<TestSet> {
    let dataset = read_known(patterns, read, loaded.take_ids(), ui)?;
    let test = TestSet::from_pairs(&dataset.user, &dataset.item)?;
    (loaded.users, loaded.items) = (dataset.users, dataset.items);
    Ok(test)
}

fn from_split(
    loaded: &mut Loaded,
    args: &DataArgs,
    rule: &str,
    pick: Option<Pick>,
    ui: &Ui,
) -> Result<TestSet> {
    let pick = pick.unwrap_or_else(|| {
        if loaded.log.time().is_some() {
            return Pick::Latest;
        }
        ui.note("the data has no times: rows are held out at random");
        Pick::Random
    });
    let wrong = |expected: String| Refusal::usage(format!("cannot split by {rule:?}: {expected}"));
    let split = parse_split(rule, pick, 0.8).map_err(wrong)?;
    if matches!(split, Split::HeldOutUsers { .. }) {
        let refusal =
            Refusal::usage("users held out whole cannot be ranked without folding them in");
        return Err(refusal
            .hint("use `absentia split --by users:N` and `evaluate --fold-in`")
            .into());
    }
    // A pair must not be in training and held out at once.
    loaded.log.deduplicate(args.prepare.duplicates())?;
    let parts = split_rows(&loaded.log, &split, 0)?;
    let held = loaded.log.select(|row| parts[row] != Part::Train);
    loaded.log.retain(|row| parts[row] == Part::Train);
    ui.note(format!("held out {}", counted(held.len() as u64, "row")));
    Ok(TestSet::from_pairs(held.user(), held.item())?)
}

fn exposed(
    loaded: &mut Loaded,
    data: &Interactions<'_>,
    args: &WeightArgs,
    read: &ReadArgs,
    ui: &Ui,
) -> Result<Interactions<'static>> {
    let shown = read_known(&args.exposed, read, loaded.take_ids(), ui)?;
    let weights = match (args.exposed_weight, shown.weight) {
        (Some(weight), _) => vec![weight; shown.user.len()],
        (None, Some(weights)) => weights,
        (None, None) => vec![1.0; shown.user.len()],
    };
    let merged = data.with_exposed(&shown.user, &shown.item, &weights)?;
    ui.note(format!(
        "{} pairs were shown and not taken",
        merged.len() - merged.n_interactions()
    ));
    (loaded.users, loaded.items) = (shown.users, shown.items);
    Ok(merged)
}
