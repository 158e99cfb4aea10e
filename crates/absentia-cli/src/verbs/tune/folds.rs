//! The data of a search, and the rows held out of it.

use absentia::Interactions;
use absentia::data::{DataError, Duplicates};
use absentia::evaluate::TestSet;
use absentia::memory::Stage;
use absentia_io::model::Ids;
use absentia_io::time::TimeUnit;
use absentia_job::text::RelationSpec;
use absentia_job::{
    JobError, Listener as _, RelatedData, RelationRows, data_fingerprint, defaults, pairs_of,
    relation_fingerprint, report_held_out_less, unknown_text, without_held_out,
};
use absentia_report::format::counted;
use absentia_search::{Fold, HoldOut, SearchError, SearchedData};
use anyhow::Result;

use super::HeldOutArgs;
use super::apart::has_new;
use crate::args::DataArgs;
use crate::failure::Refusal;
use crate::loading::{Rows, load};
use crate::measure;
use crate::ui::Ui;

/// The data of a search.
pub(super) struct Folds {
    parts: Vec<Fold<'static>>,
    /// Every row, for the model that is trained in the end.
    pub(super) all: Interactions<'static>,
    /// The rows and their ids.
    pub(super) loaded: Rows,
    /// Unit of the data's times.
    pub(super) unit: TimeUnit,
    /// Number of rows that the first fold holds out.
    pub(super) held_out: usize,
    /// Number of users whose rows the first fold holds out.
    pub(super) held_out_users: usize,
    /// Number of folds: ways to hold rows out.
    pub(super) number: usize,
    /// How rows are held out, in words.
    pub(super) rule: String,
    /// The test rows of a study, none of which is in the data.
    pub(super) test: Option<TestSet>,
    /// Relations that are trained with the data.
    pub(super) related: Option<RelatedData>,
    /// The first fold, if it holds out rows of new users or items that relations may tell something of.
    pub(super) apart: Option<Fold<'static>>,
}

impl Folds {
    /// The ids of users and items, as a model keeps them.
    pub(super) fn ids(&self) -> Ids {
        Ids {
            related: self
                .related
                .iter()
                .flat_map(|one| one.ids.clone())
                .collect(),
            users: self.loaded.users.clone(),
            items: self.loaded.items.clone(),
        }
    }

    /// What the log says about the data.
    pub(super) fn described(&self, args: &HeldOutArgs) -> SearchedData {
        let held_out: Vec<&TestSet> = self.parts.iter().map(|fold| &fold.held_out).collect();
        SearchedData {
            fingerprint: self.fingerprint(&held_out),
            users: self.all.n_users(),
            items: self.all.n_items(),
            interactions: self.all.n_interactions(),
            held_out: self.held_out,
            folds: self.parts.len(),
            rule: args.split.to_string(),
            pick: args.pick,
            tilt: args.tilt,
        }
    }

    /// What the data is known again by: its entries, and those of relations with their strengths.
    fn fingerprint(&self, held_out: &[&TestSet]) -> String {
        let ids = self.ids();
        let mut parts = vec![data_fingerprint(&self.all, &ids, held_out)];
        let relations = self.related.iter().flat_map(|one| &one.relations.relations);
        parts.extend(relations.map(|relation| {
            let entries = relation_fingerprint(relation);
            format!("{entries:016x}*{}", relation.strength)
        }));
        parts.join("-")
    }

    /// Takes the folds out.
    pub(super) fn take(&mut self) -> Vec<Fold<'static>> {
        std::mem::take(&mut self.parts)
    }
}

/// Reads the data without the test rows of a study, and holds rows out of it.
pub(super) fn fold(
    (data, relations): (&DataArgs, &[RelationSpec]),
    args: &HeldOutArgs,
    study: &[String],
    ui: &Ui,
) -> Result<Folds> {
    let mut loaded = load(data, ui)?;
    let read = |spec| RelationRows::read(spec, data.read.skip_bad, ui);
    let given: Vec<RelationRows> = relations
        .iter()
        .map(read)
        .collect::<Result<_, JobError>>()?;
    let related = loaded.relate(given, ui)?;
    loaded.report_ratings(&data.prepare, false, ui);
    loaded.merge_repeats(&data.prepare, ui)?;
    let mut test = None;
    if !study.is_empty() {
        let rows = pairs_of(&mut loaded, study, &data.read, &data.prepare, ui)?;
        if let Some(log) = without_held_out(&loaded.log, &rows, ui)? {
            loaded.log = log;
        }
        test = Some(rows);
    }
    let all = loaded.interactions(&data.prepare, ui)?;
    ui.memory().keep(all.bytes() + loaded.bytes());
    let mut folds = if args.valid.is_empty() {
        split(&loaded, args, ui)?
    } else {
        let held_out = pairs_of(&mut loaded, &args.valid, &data.read, &data.prepare, ui)?;
        let (users, items) = (loaded.users.len(), loaded.items.len());
        let train = match without_held_out(&loaded.log, &held_out, ui)? {
            Some(log) => log.interactions(users, items, Duplicates::Error)?,
            None => loaded.interactions(&data.prepare, ui)?,
        };
        vec![Fold { train, held_out }]
    };
    for fold in &mut folds {
        fold.tilt(args.tilt)?;
    }
    let of_fold = |fold: &Fold<'_>| fold.train.bytes() + fold.held_out.bytes();
    ui.memory().keep(folds.iter().map(of_fold).sum());
    let held_out = folds.first().map_or(0, |fold| fold.held_out.lists().len());
    let held_out_users = folds.first().map_or(0, |fold| fold.held_out.users().len());
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
    let apart = folds
        .first()
        .filter(|fold| related.is_some() && has_new(fold));
    Ok(Folds {
        apart: apart.cloned(),
        number: folds.len(),
        rule: rule(&loaded, args),
        parts: folds,
        all,
        unit: TimeUnit::of_times(loaded.log.time()),
        loaded,
        held_out,
        held_out_users,
        test,
        related,
    })
}

/// How rows are held out, in words.
fn rule(loaded: &Rows, args: &HeldOutArgs) -> String {
    if !args.valid.is_empty() {
        return format!("chosen on {}", args.valid.join(", "));
    }
    let usual = || HoldOut::default_pick(&loaded.log);
    let mut text = measure::held_out_by(args.split, args.pick.unwrap_or_else(usual));
    if args.tilt != 0.0 {
        text += ", thinned by popularity to the power ";
        text += &args.tilt.to_string();
    }
    text
}

fn split(loaded: &Rows, args: &HeldOutArgs, ui: &Ui) -> Result<Vec<Fold<'static>>> {
    let log = &loaded.log;
    let pick = args.pick.unwrap_or_else(|| HoldOut::default_pick(log));
    let unit = TimeUnit::of_times(log.time());
    let hold_out = HoldOut {
        rule: args.split.split(pick, defaults::FOLD_IN, unit),
        folds: args.splits,
    };
    let shape = (loaded.users.len(), loaded.items.len());
    // All folds before the last, while it is made of a copy of the rows.
    let before = hold_out.number_of_folds(shape.0) as u64 - 1;
    let matrix = log.bytes_to_build(shape.0, shape.1);
    ui.enter(
        Stage::new("holding rows out")
            .with("folds", before * matrix)
            .with("copy of the rows", log.bytes() + log.len() as u64)
            .with("matrix", matrix),
    )?;
    let folds = hold_out.folds(log, shape).map_err(refused)?;
    report_held_out_less(log, &hold_out.rule, ui);
    if hold_out.rule.is_by_time() {
        let parts = log.split(&hold_out.rule, 0)?;
        let unknown = log.known(&parts).1;
        if unknown.rows > 0 {
            ui.note(unknown_text(unknown));
        }
    }
    Ok(folds)
}

/// Says which flag to change.
fn refused(error: SearchError) -> anyhow::Error {
    let message = error.to_string();
    match error {
        SearchError::WholeUsers => {
            Refusal::usage(message).hint("hold rows out, as in --split share:0.2")
        }
        SearchError::TooManyFolds { most: 1 } => Refusal::flag("splits", format!(": {message}"))
            .hint("pass --pick random or --pick drift as well"),
        SearchError::TooManyFolds { .. } => Refusal::flag("splits", format!(": {message}"))
            .hint("pass fewer, or hold out a smaller share, as in --split time:0.05"),
        SearchError::NothingHeldOut => {
            Refusal::data("no row is held out: users have too few").hint("try --split share:0.2")
        }
        SearchError::EverythingHeldOut => {
            Refusal::data(message).hint("hold out less with --split share:0.1")
        }
        SearchError::Data(error @ DataError::Lacks { .. }) => {
            return JobError::SplitLacks(error).into();
        }
        error => return error.into(),
    }
    .into()
}
