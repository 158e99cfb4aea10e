//! Users and items that the model does not know, folded in before they are measured.

use std::borrow::Cow;

use absentia::evaluate::{Evaluation, TestSet};
use absentia::ranking::UserItems;
use absentia_io::{IdMap, Unknown, expand, read_with_ids};
use absentia_job::{Folded, FoldedScores, GivenRows, same_ids};
use anyhow::Result;

use super::{Evaluate, Setting, names};
use crate::failure::{Outcome, Refusal};
use crate::folding::given_rows;
use crate::measure;
use crate::store::Stored;
use crate::ui::Ui;

/// Users and items of a model with those that files add.
struct Described {
    given: GivenRows,
    /// Users that are measured, a row of scores each.
    users: IdMap,
    user_counts: Vec<u32>,
    /// The items of the model, then the new ones.
    items: IdMap,
    item_counts: Vec<u32>,
    scores: FoldedScores,
}

impl Described {
    /// Reads the files. With `--fold-in` the users are those who are folded in, without it all that are known.
    fn read(command: &Evaluate, stored: &Stored, ui: &Ui) -> Result<Self> {
        let files = (&command.fold_in[..], &command.relation[..]);
        let mut given = given_rows(files, &command.read, stored, ui)?;
        // An item that nothing describes is not in the lists that are measured.
        let left_out = given.keep_described_items();
        if left_out > 0 {
            ui.warn(format!(
                "{}: left out {left_out} rows whose item the model does not know",
                command.fold_in.join(", ")
            ));
        }
        let (known, model) = (stored.known(), &stored.model);
        let folded = Folded::new(&given, known, ui)?;
        let mut users = folded.users.ids.clone();
        let mut user_counts = folded.users.counts.clone();
        if command.fold_in.is_empty() {
            users = stored.users.clone();
            user_counts.clone_from(&model.parts().user_counts);
            for id in folded.users.ids.iter() {
                users.intern(&id)?;
            }
            user_counts.resize(users.len(), 0);
        } else if users.is_empty() {
            let files = command.fold_in.join(", ");
            let refusal = Refusal::data(format!("{files}: no item is known"));
            return Err(refusal
                .hint("check that the ids are those of the training data")
                .into());
        }
        let rows = users.iter();
        let rows = rows.map(|id| folded.user_factors(&id, known).unwrap_or_default());
        let rows: Vec<Cow<'_, [f32]>> = rows.collect();
        Ok(Self {
            scores: FoldedScores::new(&rows, &folded, model),
            items: folded.all_items(&stored.items)?,
            item_counts: folded.item_counts(model),
            given,
            users,
            user_counts,
        })
    }

    /// What users took in the rows they are folded in from.
    fn seen(&self) -> Result<UserItems> {
        let (mut rows, mut items) = (Vec::new(), Vec::new());
        for (at, id) in (0_u32..).zip(self.users.iter()) {
            let taken = self.given.taken(&id).iter();
            items.extend(taken.filter_map(|item| self.items.get(item)));
            rows.resize(items.len(), at);
        }
        Ok(UserItems::from_pairs(&rows, &items)?)
    }

    /// Rejects another model that has other rows.
    fn check_same(&self, other: &Self) -> Result<()> {
        if same_ids(&self.users, &other.users) && same_ids(&self.items, &other.items) {
            return Ok(());
        }
        let refusal = Refusal::data("the models do not have the same users and items");
        Err(refusal
            .hint("compare models that know the same attributes")
            .into())
    }
}

impl Evaluate {
    /// Measures users and items that are known by their attributes, beside those that the model knows.
    pub(super) fn run_described(&self, mut stored: Stored, ui: &Ui) -> Result<Outcome> {
        let described = Described::read(self, &stored, ui)?;
        let known = (stored.users, stored.items);
        (stored.users, stored.items) = (described.users.clone(), described.items.clone());
        let counts = described.item_counts.clone();
        let (setting, mut stored) = self.setting(stored, counts, ui)?;
        (stored.users, stored.items) = known;
        self.measure_described(&setting, &described, &stored, ui)
    }

    /// Strong generalisation: users are rows folded in from their history.
    pub(super) fn run_folded(&self, stored: &Stored, ui: &Ui) -> Result<Outcome> {
        let mut options = measure::options(&self.metrics, &self.at)?;
        options.exclude_seen = !self.rank_seen;
        let described = Described::read(self, stored, ui)?;
        let (test, unknown) = self.folded_test(&described, ui)?;
        let left_out = self.left_out(unknown, test.lists().len(), &test)?;
        let seen = described.seen()?;
        let setting = Setting {
            names: names(&test, &described.users),
            test,
            seen_bytes: seen.bytes(),
            seen: Box::new(seen),
            item_counts: described.item_counts.clone(),
            latest_counts: None,
            left_out,
            options,
        };
        self.measure_described(&setting, &described, stored, ui)
    }

    fn measure_described(
        &self,
        setting: &Setting,
        described: &Described,
        stored: &Stored,
        ui: &Ui,
    ) -> Result<Outcome> {
        let scorer = described.scores.scorer()?;
        let own = setting.measure(&scorer, ui)?;
        let measure = |other: &Stored| -> Result<Evaluation> {
            let other = Described::read(self, other, ui)?;
            described.check_same(&other)?;
            setting.measure(&other.scores.scorer()?, ui)
        };
        let other = self.other(setting, stored, described.users.len(), measure, ui)?;
        let counts = (&described.user_counts[..], &described.item_counts[..]);
        let cold = setting.measure_apart(&scorer, counts, ui)?;
        self.report(setting, (&own, &cold), other.as_ref(), ui)
    }

    /// The held-out items of folded-in users, and the number of rows that are not theirs.
    fn folded_test(&self, described: &Described, ui: &Ui) -> Result<(TestSet, u64)> {
        let ids = (described.users.clone(), described.items.clone());
        let (paths, options) = (expand(&self.test)?, self.read.options());
        let test = read_with_ids(&paths, &options, ids, Unknown::Skip, &())?;
        let files = self.test.join(", ");
        if test.is_empty() {
            let refusal = Refusal::data(format!("{files}: no item is known"));
            return Err(refusal
                .hint("check that the ids are those of the training data")
                .into());
        }
        if test.unknown_rows > 0 {
            ui.warn(format!(
                "{files}: left out {} rows whose user was not folded in or whose item is not known",
                test.unknown_rows
            ));
        }
        let pairs = TestSet::from_pairs(&test.user, &test.item)?;
        Ok((pairs, test.unknown_rows))
    }
}
