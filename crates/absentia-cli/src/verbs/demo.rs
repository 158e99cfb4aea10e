//! `demo`: what weights on missing entries gain, on data whose truth is known.

use absentia::memory::Stage;
use absentia_job::Listener as _;
use absentia_lab::demo::{Arrivals, Comparison, DemoSettings, Experiment};
use absentia_lab::generate::ExposureModel;
use absentia_report::format;
use absentia_report::terminal::{Cell, Column, Table};
use anyhow::Result;
use serde_json::json;

use crate::cli::Context;
use crate::failure::Outcome;
use crate::guard::Files;
use crate::verbs::evaluate::mean_cell;
use crate::verbs::train::Follow;

const EXAMPLES: &str = "\
Examples:
  $ absentia demo
  $ absentia demo --users 500 --items 300 --entries 8000";

/// Show on generated data what weights on missing entries gain.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Demo {
    /// Number of users.
    #[arg(long, value_name = "N", default_value_t = 3000)]
    users: usize,
    /// Number of items.
    #[arg(long, value_name = "N", default_value_t = 2000)]
    items: usize,
    /// Number of interactions.
    #[arg(long, value_name = "N", default_value_t = 90_000)]
    entries: u64,
    /// Number of factors K of every model.
    #[arg(long, short = 'k', value_name = "K", default_value_t = 16)]
    factors: usize,
    /// Sweeps of every model.
    #[arg(long, value_name = "N", default_value_t = 8)]
    iterations: usize,
    /// Seed of the data and of the initial factors.
    #[arg(long, value_name = "N", default_value_t = 0)]
    seed: u64,
}

impl Demo {
    /// Every file that the command reads or writes.
    #[allow(clippy::unused_self, reason = "other commands have some")]
    pub(crate) fn files(&self) -> Files {
        Files::default()
    }

    pub(crate) fn run(&self, context: &Context) -> Result<Outcome> {
        self.show_arrivals(context)?;
        let ui = &context.ui;
        ui.say(format!(
            "Now each of {} users was shown some of {} items and liked some of those. The data has the {} likes \
             only.\nA missing entry was either shown and refused, or never shown. The data does not say \
             which, but it was generated, so the truth is known.\n\n",
            format::count(self.users as u64),
            format::count(self.items as u64),
            format::count(self.entries)
        ))?;
        let segments = ExposureModel::Segmented { strength: 1.5 };
        let experiment =
            self.experiment("segments are shown different items", segments, context)?;
        show_reason(&experiment, context)?;
        ui.memory().keep(experiment.models.bytes());
        let name = "the control: everyone is shown anything alike";
        let control = self.experiment(name, ExposureModel::Uniform, context)?;
        ui.say(format!(
            "If all items are shown equally often, exposure-aware weights are uniform weights: their \
             advantage goes from {:+.4} to {:+.4}.\n\
             So the advantage came from knowing what was shown, not from the training.\n\n",
            experiment.models.advantage(),
            control.models.advantage()
        ))?;
        show_lists(&experiment, context)?;
        Ok(Outcome::Done)
    }

    fn settings(&self, context: &Context) -> DemoSettings {
        DemoSettings {
            users: self.users,
            items: self.items,
            entries: self.entries,
            factors: self.factors,
            iterations: self.iterations,
            seed: self.seed,
            threads: context.threads,
        }
    }

    /// Items that come and go, and weights that know it.
    fn show_arrivals(&self, context: &Context) -> Result<()> {
        context.ui.say(
            "Items appear one after the other, and users see what is there while they are active, the newest most.\n\
             The last item that each user liked is held out.\n\n",
        )?;
        context.ui.enter(self.generating())?;
        let mut arrivals = Arrivals::new(&self.settings(context))?;
        for (name, scheme) in arrivals.schemes() {
            context.ui.enter(arrivals.models.stage(&scheme))?;
            let mut follow = Follow::new(&context.ui, self.iterations).without_lines();
            arrivals.measure(name, &scheme, &mut follow)?;
            follow.finish();
        }
        for measured in &arrivals.models.measured {
            context.ui.json(&json!({
                "exposure": "items come and go",
                "weights": measured.name,
                "recall@20": measured.summary.mean,
                "interval": measured.summary.interval(),
                "p_against_first": measured.test.map(|test| test.p),
                "seconds": measured.seconds,
            }))?;
        }
        context.ui.say("Items come and go:")?;
        context
            .ui
            .table(&table("recall of the top 20", &arrivals.models))?;
        Ok(context.ui.say(
            "\nThe reason: most missing entries of a new item are from before it existed, and say nothing.\n\
             Uniform weights count them as refused. Weights by age count the time in which the item was there.\n\
             On real data with times, `absentia train` tries this by itself; docs/weights.md has what it gains there.\n\n",
        )?)
    }

    /// The rows, and both orders of the matrix while it is built.
    fn generating(&self) -> Stage {
        Stage::new("generating").with("matrix", 16 * self.entries)
    }

    fn experiment(
        &self,
        name: &str,
        exposure: ExposureModel,
        context: &Context,
    ) -> Result<Experiment> {
        context.ui.enter(self.generating())?;
        let mut experiment = Experiment::new(&self.settings(context), exposure)?;
        for (name, scheme) in experiment.schemes() {
            context.ui.enter(experiment.models.stage(&scheme))?;
            let mut follow = Follow::new(&context.ui, self.iterations).without_lines();
            experiment.measure(name, &scheme, &mut follow)?;
            follow.finish();
        }
        for (at, measured) in experiment.models.measured.iter().enumerate() {
            context.ui.json(&json!({
                "exposure": name,
                "weights": measured.name,
                "liked@20": measured.summary.mean,
                "interval": measured.summary.interval(),
                "p_against_first": measured.test.map(|test| test.p),
                "seconds": measured.seconds,
                "weight_ratio": experiment.weight_ratio(at),
            }))?;
        }
        context.ui.say(format!("{}:", capital(name)))?;
        context
            .ui
            .table(&table("liked of the top 20", &experiment.models))?;
        context.ui.say("")?;
        Ok(experiment)
    }
}

fn show_reason(experiment: &Experiment, context: &Context) -> Result<()> {
    let ratio = |at: usize| format::significant(experiment.weight_ratio(at), 2);
    Ok(context.ui.say(format!(
        "The reason: only {} of the missing entries were shown and refused, and only those say \
         something about taste.\nThe weight of a refused entry is {} times that of an entry never shown \
         with uniform weights, {} times with popularity weights, and {} times with exposure-aware \
         weights.\nExposure-aware weights make the model score refused items low, and leave it free where \
         nothing is known.\n\n",
        format::percent(experiment.refused_share),
        ratio(0),
        ratio(1),
        ratio(2)
    ))?)
}

fn show_lists(experiment: &Experiment, context: &Context) -> Result<()> {
    let mut table = Table::new([
        Column::right("rank"),
        Column::left("uniform weights"),
        Column::right("is liked"),
        Column::left("exposure-aware weights"),
        Column::right("is liked"),
    ]);
    let (user, lists) = experiment.lists_of_a_user(5);
    for at in 0..5 {
        let cells = |list: &[(u32, f64)]| match list.get(at) {
            Some((item, like)) => [
                Cell::text(format!("item {item}")),
                Cell::number(*like, format::percent(*like)),
            ],
            None => [Cell::text(""), Cell::text("")],
        };
        let (left, right) = (cells(&lists[0]), cells(&lists[1]));
        let row = [Cell::count(at as u64 + 1)]
            .into_iter()
            .chain(left)
            .chain(right);
        table.row(row);
    }
    let name = |list: &[(u32, f64)]| -> Vec<_> {
        list.iter()
            .map(|(item, like)| json!({"item": item, "is_liked": like}))
            .collect()
    };
    context.ui.json(&json!({
        "user": user, "uniform": name(&lists[0]), "exposure": name(&lists[1]),
    }))?;
    context.ui.say(format!(
        "Recommendations for user {user}, with the true chance that they are liked:"
    ))?;
    Ok(context.ui.table(&table)?)
}

fn table(what: &'static str, models: &Comparison) -> Table {
    let mut table = Table::new([
        Column::left("weights on missing entries"),
        Column::right(what).highest_is_best(),
        Column::right("against the first"),
        Column::right("seconds"),
    ]);
    for measured in &models.measured {
        table.row([
            Cell::text(measured.name),
            mean_cell(&measured.summary),
            Cell::text(measured.test.map_or_else(String::new, |test| {
                format!("{:+.4}, {}", test.difference, format::p_value(test.p))
            })),
            Cell::number(measured.seconds, format!("{:.2}", measured.seconds)),
        ]);
    }
    table
}

fn capital(text: &str) -> String {
    let mut chars = text.chars();
    let first = chars.next().map(|first| first.to_uppercase().to_string());
    first.unwrap_or_default() + chars.as_str()
}
