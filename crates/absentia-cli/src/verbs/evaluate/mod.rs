//! `evaluate`: how good the rankings of a model are.

mod folded;
mod per_user;
mod show;

use std::path::PathBuf;

use absentia::data::latest_item_counts;
use absentia::evaluate::{
    Bootstrap, Candidates, EvaluateOptions, Evaluation, History, TestSet, bootstrap_difference,
    evaluate, paired_t_test,
};
use absentia::memory::Stage;
use absentia::ranking::{ItemLists, PopularityScorer, Scorer, UserItems, ranking_bytes};
use absentia_io::{Dataset, IdMap};
use absentia_job::text::RelationSpec;
use absentia_job::{Listener as _, Reading, same_ids};
use absentia_report::format::counted;
use anyhow::Result;

use crate::args::parse_length;
use crate::cli::Context;
use crate::cold::{self, Cold, Counts};
use crate::failure::{Outcome, Refusal};
use crate::guard::Files;
use crate::loading::{enter_gathering, read_known, rows_and_users_in};
use crate::measure;
use crate::store::{self, Stored};
use crate::ui::Ui;
pub(crate) use show::{Difference, difference_json, mean_cell, metrics_json};
use show::{evaluation_json, evaluation_tables};

/// Name of the baseline that ranks items by their recent popularity.
const RECENT: &str = "recent-popularity";

const EXAMPLES: &str = "\
Examples:
  $ absentia evaluate movies.absentia --train train.csv --test test.csv
  $ absentia evaluate movies.absentia --train train.csv --test test.csv --at 5,10 --metrics recall,ndcg,auc --per-user users.csv
  $ absentia evaluate movies.absentia --train train.csv --test test.csv --against other.absentia
  $ absentia evaluate movies.absentia --train train.csv --test test.csv --baseline popularity --json

All items that a user has not in --train are ranked; a user's mean counts once. Figures over sampled
negatives (--negatives) are larger and can order models differently: they are labelled as such.
docs/metrics.md defines every metric. Of a model with relations, items and users without a row in
training are measured apart as well: items among themselves and among all. Those that the model does
not know at all are folded in from their attributes with --relation.";

/// Measure a model on held-out interactions.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Evaluate {
    /// The model.
    #[arg(value_name = "MODEL")]
    model: PathBuf,
    /// Files of held-out interactions.
    #[arg(long, value_name = "FILE", num_args = 1, required = true)]
    test: Vec<String>,
    /// Files the model was trained on: what users have seen is not ranked. Models of `train --keep-seen` have it.
    #[arg(long, value_name = "FILE", num_args = 1)]
    train: Vec<String>,
    /// Count only test rows rated at least this as liked; the rest are left out.
    #[arg(long, value_name = "RATING", conflicts_with = "fold_in")]
    min_rating: Option<f32>,
    /// Rank what users have seen as well, as the code released with the eALS paper does.
    #[arg(long)]
    rank_seen: bool,
    /// Cut-offs, separated by commas [default: 10,20, or those that --metrics name].
    #[arg(long, value_name = "K", value_delimiter = ',', value_parser = parse_length)]
    at: Vec<usize>,
    /// hr, ndcg, recall, precision, map, mrr, mrr-all, auc, or any with a cut-off as in ndcg@100;
    /// all those with a cut-off when not given.
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    metrics: Vec<String>,
    /// Write the value of every user to a CSV file.
    #[arg(long, value_name = "FILE.csv")]
    per_user: Option<PathBuf>,
    /// Another model to compare with, user by user: paired t-test and bootstrap interval.
    #[arg(long, value_name = "MODEL")]
    against: Option<PathBuf>,
    /// Compare with a baseline: popularity ranks items by their number of interactions; recent-popularity by
    /// those of the latest twentieth of --train, which needs times.
    #[arg(long, value_name = "NAME", value_parser = ["popularity", RECENT], conflicts_with = "against")]
    baseline: Option<String>,
    /// Rank only the test items and these sampled negatives: NCF's `.negative` files, or pairs.
    #[arg(long, value_name = "FILE")]
    negatives: Option<PathBuf>,
    /// Earlier rows of test users whom the model does not know: their factors are computed from these (folded in),
    /// and measured on --test.
    #[arg(long, value_name = "FILE", num_args = 1, conflicts_with_all = ["train", "negatives"])]
    fold_in: Vec<String>,
    /// Attributes of users and items that the model does not know, TYPE-TYPE:FILE as in training: they are folded in
    /// from these, users with their rows of --fold-in, and measured on --test; its options are those of the model.
    #[arg(long, value_name = "RELATION", num_args = 1)]
    relation: Vec<RelationSpec>,
    #[command(flatten)]
    pub(crate) read: Reading,
}

/// Test rows that cannot be measured, because their user or item is not in the model.
#[derive(Clone, Copy, Default)]
pub(crate) struct LeftOut {
    rows: u64,
    of: u64,
    users: usize,
}

/// What a model is measured on: held-out items, and what was seen before.
struct Setting {
    test: TestSet,
    seen: Box<dyn absentia::ranking::SeenItems>,
    /// Bytes of `seen`.
    seen_bytes: u64,
    item_counts: Vec<u32>,
    /// Rows of items among the latest of `--train`, if it has times.
    latest_counts: Option<Vec<u32>>,
    left_out: LeftOut,
    names: Vec<String>,
    options: EvaluateOptions,
}

impl Evaluate {
    /// Every file that the command reads or writes.
    pub(crate) fn files(&self) -> Files {
        Files::default()
            .reads("MODEL", [&self.model])
            .reads("--test", &self.test)
            .reads("--train", &self.train)
            .reads("--against", &self.against)
            .reads("--negatives", &self.negatives)
            .reads("--fold-in", &self.fold_in)
            .reads_relations(&self.relation)
            .writes("--per-user", &self.per_user)
    }

    pub(crate) fn run(&self, context: &Context) -> Result<Outcome> {
        let ui = &context.ui;
        let stored = store::load(&self.model, ui)?;
        if !self.fold_in.is_empty() {
            return self.run_folded(&stored, ui);
        }
        if !self.relation.is_empty() {
            return self.run_described(stored, ui);
        }
        let counts = stored.model.parts().item_counts.clone();
        let (setting, stored) = self.setting(stored, counts, ui)?;
        let measure = |stored: &Stored| setting.measure(&stored.model.scorer(), ui);
        let own = measure(&stored)?;
        let other = self.other(&setting, &stored, stored.users.len(), measure, ui)?;
        let (scorer, parts) = (stored.model.scorer(), stored.model.parts());
        let counts = (&parts.user_counts[..], &parts.item_counts[..]);
        // A model without relations knows nothing of new ones.
        let cold = match stored.model.related() {
            Some(_) => setting.measure_apart(&scorer, counts, ui)?,
            None => Vec::new(),
        };
        self.report(&setting, (&own, &cold), other.as_ref(), ui)
    }

    /// What the model is compared with: another model, which is measured by `measure`, or a baseline.
    fn other(
        &self,
        setting: &Setting,
        stored: &Stored,
        n_users: usize,
        measure: impl Fn(&Stored) -> Result<Evaluation>,
        ui: &Ui,
    ) -> Result<Option<(String, Evaluation)>> {
        if let Some(path) = &self.against {
            let other = store::load(path, ui)?;
            check_same_ids(stored, &other, path)?;
            return Ok(Some((path.display().to_string(), measure(&other)?)));
        }
        let Some(name) = &self.baseline else {
            return Ok(None);
        };
        let scorer = match (&setting.latest_counts, name.as_str()) {
            (Some(latest), RECENT) => {
                PopularityScorer::lately(n_users, latest, &setting.item_counts)
            }
            (None, RECENT) => {
                let refusal =
                    Refusal::data("--baseline recent-popularity needs --train with times");
                let hint = "name the column with --time-col, or pass --baseline popularity";
                return Err(refusal.hint(hint).into());
            }
            _ => PopularityScorer::new(n_users, &setting.item_counts),
        };
        Ok(Some((name.clone(), setting.measure(&scorer, ui)?)))
    }

    /// Reads what the model is measured on, its ids lent to the readers and given back.
    fn setting(
        &self,
        stored: Stored,
        mut item_counts: Vec<u32>,
        ui: &Ui,
    ) -> Result<(Setting, Stored)> {
        let mut options = measure::options(&self.metrics, &self.at)?;
        options.exclude_seen = !self.rank_seen;
        let Stored {
            model,
            users,
            items,
            related,
            seen: mut kept,
        } = stored;
        let mut test = read_known(&self.test, &self.read, (users, items), ui)?;
        if let Some(least) = self.min_rating {
            keep_rated(&mut test, least, ui)?;
        }
        let held = TestSet::from_pairs(&test.user, &test.item)?;
        let left_out = self.left_out(test.unknown_rows, test.user.len(), &held)?;
        let mut ids = (test.users, test.items);
        if let Some(path) = &self.negatives {
            if self.rank_seen {
                ui.warn("--rank-seen has no effect with --negatives, whose lists are ranked as they are");
            }
            let negatives = per_user::negatives(path, &ids, &held, &self.read)?;
            options.candidates = Candidates::Sampled(negatives);
        }
        let mut seen: Box<dyn absentia::ranking::SeenItems> = Box::new(ItemLists::new());
        let mut seen_bytes = 0;
        ui.memory().keep(held.bytes());
        let mut latest_counts = None;
        if !self.train.is_empty() {
            let train = read_known(&self.train, &self.read, ids, ui)?;
            if item_counts.iter().all(|&count| count == 0) {
                // A model from elsewhere does not know what is popular.
                (train.item.iter()).for_each(|&item| item_counts[item as usize] += 1);
            }
            let times = train.time.as_ref();
            latest_counts =
                times.map(|times| latest_item_counts(&train.item, times, item_counts.len()));
            enter_gathering(&train, ui)?;
            kept = Some(UserItems::from_pairs(&train.user, &train.item)?);
            ids = (train.users, train.items);
        }
        if let Some(lists) = kept {
            if !self.rank_seen {
                let place = if self.train.is_empty() {
                    "what the model keeps"
                } else {
                    "--train"
                };
                warn_of_overlap(&lists, place, &held, ui);
            }
            seen_bytes = lists.bytes();
            seen = Box::new(lists);
        } else if !self.rank_seen && self.negatives.is_none() {
            let refusal = Refusal::usage("without --train it is not known what users have seen");
            let hint = "pass --train FILE, or --rank-seen to rank everything; models of `train --keep-seen` need \
                        neither";
            return Err(refusal.hint(hint).into());
        }
        let setting = Setting {
            names: names(&held, &ids.0),
            test: held,
            seen,
            seen_bytes,
            item_counts,
            latest_counts,
            left_out,
            options,
        };
        let stored = Stored {
            model,
            users: ids.0,
            items: ids.1,
            related,
            seen: None,
        };
        Ok((setting, stored))
    }

    /// What of the test files is not measured, where some of their rows are unknown; of rows that
    /// `--min-rating` leaves out anyway nothing is said.
    fn left_out(&self, unknown: u64, kept: usize, held: &TestSet) -> Result<LeftOut> {
        if unknown == 0 {
            return Ok(LeftOut::default());
        }
        let (of, users) = rows_and_users_in(&self.test, &self.read, self.min_rating)?;
        Ok(LeftOut {
            rows: of.saturating_sub(kept as u64),
            of,
            users: users.saturating_sub(held.users().len()),
        })
    }

    fn report(
        &self,
        setting: &Setting,
        (own, cold): (&Evaluation, &[Cold]),
        other: Option<&(String, Evaluation)>,
        ui: &Ui,
    ) -> Result<Outcome> {
        if let Some(path) = &self.per_user {
            per_user::write(path, &setting.names, own)?;
        }
        let differences = match other {
            Some((_, other)) => differences(own, other)?,
            None => Vec::new(),
        };
        if let Some((name, other)) = other.filter(|_| self.baseline.is_some()) {
            let pairs = own.metrics.iter().zip(&other.metrics);
            let lost = pairs.filter(|(own, other)| own.summary.mean < other.summary.mean);
            let lost: Vec<String> = lost.map(|(own, _)| own.name.to_string()).collect();
            if !lost.is_empty() {
                let lost = lost.join(", ");
                ui.warn(format!("the model does worse than {name} in {lost}"));
            }
        }
        let mut object = evaluation_json(own, other, &differences, setting.left_out);
        if !cold.is_empty() {
            object["cold"] = cold::json(cold);
        }
        ui.json(&object)?;
        if !ui.is_json() {
            let name = self.model.display().to_string();
            for table in evaluation_tables(&name, own, other, &differences) {
                ui.table(&table)?;
            }
            let users = counted(own.users.len() as u64, "user");
            ui.say(format!("{users}, {}", own.candidates))?;
            if !cold.is_empty() {
                ui.table(&cold::table(&[("", cold)]))?;
            }
            if let Some(text) = setting.left_out.text() {
                ui.say(text)?;
            }
        }
        setting.left_out.warn(ui);
        if !matches!(setting.options.candidates, Candidates::Sampled(_)) {
            measure::warn_of_full_lists(&setting.options, setting.item_counts.len(), ui);
        }
        Ok(Outcome::Done)
    }
}

impl LeftOut {
    fn text(&self) -> Option<String> {
        let text = format!(
            "NOT measured: {} of {}, and {} with no row that could be: the model does not know them",
            self.rows,
            counted(self.of, "test row"),
            counted(self.users as u64, "user")
        );
        (self.rows > 0).then_some(text)
    }

    fn warn(&self, ui: &Ui) {
        if self.rows * 2 > self.of {
            ui.warn(
                "more than half of the test rows are unknown to the model: the figures are of the \
                 rest alone; check that it was trained on the matching file",
            );
        }
    }
}

impl Setting {
    fn measure(&self, scorer: &dyn Scorer, ui: &Ui) -> Result<Evaluation> {
        self.measure_on(scorer, &self.test, &self.options, ui)
    }

    /// Measures users and items without interactions apart; sampled negatives leave nothing to choose.
    fn measure_apart(&self, scorer: &dyn Scorer, counts: Counts<'_>, ui: &Ui) -> Result<Vec<Cold>> {
        if matches!(self.options.candidates, Candidates::Sampled(_)) {
            return Ok(Vec::new());
        }
        cold::measure(&self.test, counts, &|test, candidates| {
            let options = EvaluateOptions {
                candidates,
                ..self.options.clone()
            };
            self.measure_on(scorer, test, &options, ui)
        })
    }

    /// Measures on other held-out rows, or among other items.
    fn measure_on(
        &self,
        scorer: &dyn Scorer,
        test: &TestSet,
        options: &EvaluateOptions,
        ui: &Ui,
    ) -> Result<Evaluation> {
        let history = History::new(&*self.seen, &self.item_counts[..]);
        let (users, items) = (test.users().len(), self.item_counts.len());
        let total = users as u64;
        let top = options.cutoffs.iter().copied().max().unwrap_or(0);
        let names = options.metrics.len() * (options.cutoffs.len() + 1);
        ui.enter(
            Stage::new("measuring")
                .with("what users have seen", self.seen_bytes)
                .with("names of users", 48 * total)
                .with("metrics of users", 12 * total * names as u64)
                .with("ranking", ranking_bytes(users, items, top)),
        )?;
        let bar = ui.progress().count("ranking", total, "users");
        let evaluation = evaluate(scorer, &history, test, options, &|done, _| {
            bar.set(done as u64);
        });
        bar.finish();
        Ok(evaluation?)
    }
}

/// The ids of the users that are measured.
fn names(test: &TestSet, ids: &IdMap) -> Vec<String> {
    let name = |&user: &u32| ids.name(user).unwrap_or_default().into_owned();
    test.users().iter().map(name).collect()
}

/// Leaves out the rows rated below `least`.
fn keep_rated(test: &mut Dataset, least: f32, ui: &Ui) -> Result<()> {
    let Some(ratings) = test.value.take() else {
        let refusal = Refusal::data("the test files have no ratings for --min-rating to look at");
        return Err(refusal.hint("name their column with --rating-col").into());
    };
    let before = test.user.len();
    let liked = |at: &usize| ratings[*at] >= least;
    let rated: Vec<usize> = (0..before).filter(liked).collect();
    test.user = rated.iter().map(|&at| test.user[at]).collect();
    test.item = rated.iter().map(|&at| test.item[at]).collect();
    if rated.is_empty() {
        let refusal = Refusal::data(format!("no test row is rated {least} or more"));
        return Err(refusal.hint("lower --min-rating").into());
    }
    ui.note(format!(
        "{} of {} rated {least} or more",
        rated.len(),
        counted(before as u64, "test row")
    ));
    Ok(())
}

fn warn_of_overlap(seen: &UserItems, place: &str, test: &TestSet, ui: &Ui) {
    let mut both = 0;
    for (row, &user) in test.users().iter().enumerate() {
        let seen = seen.get(user).unwrap_or_default();
        let held = test.lists().row(row).iter();
        both += held.filter(|item| seen.binary_search(item).is_ok()).count();
    }
    if both > 0 {
        ui.warn(format!(
            "{both} of {} test pairs are in {place} as well and count as missed",
            test.lists().len()
        ));
    }
}

fn check_same_ids(own: &Stored, other: &Stored, path: &std::path::Path) -> Result<()> {
    if same_ids(&own.users, &other.users) && same_ids(&own.items, &other.items) {
        return Ok(());
    }
    let refusal = Refusal::data(format!(
        "{}: its users and items are not those of the other model",
        path.display()
    ));
    Err(refusal
        .hint("compare models trained on the same data")
        .into())
}

/// Tests every metric that two evaluations share.
pub(crate) fn differences(own: &Evaluation, other: &Evaluation) -> Result<Vec<Difference>> {
    let mut differences = Vec::new();
    for metric in &own.metrics {
        let name = metric.name.to_string();
        let (a, b) = own.paired(other, &name)?;
        if a.len() < 2 {
            continue;
        }
        differences.push(Difference {
            test: paired_t_test(a, b)?,
            interval: bootstrap_difference(a, b, Bootstrap::default())?,
            name,
        });
    }
    Ok(differences)
}
