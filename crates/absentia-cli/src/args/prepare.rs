//! What to keep of the rows that were read.

use absentia::data::{Core, DataError, Duplicates, EventLog, Report, Sample};
use absentia_io::time::{Moment, TimeUnit};

use crate::ui::Ui;

/// Which rows count.
#[derive(Clone, Debug, clap::Args)]
#[command(next_help_heading = "Preparation")]
pub(crate) struct PrepareArgs {
    /// Keep rows rated at least this: those that count as positive.
    #[arg(long, value_name = "RATING")]
    pub(crate) min_rating: Option<f32>,
    /// Keep rows from this time on: unix time, or a date such as 2020-01-31.
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    pub(crate) since: Option<Moment>,
    /// Keep rows before this time.
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    pub(crate) until: Option<Moment>,
    /// Drop the pairs of user and item that these files hold.
    #[arg(long, value_name = "FILE", num_args = 1)]
    pub(crate) exclude: Vec<String>,
    /// What to do with pairs that occur more than once: sum, last, max or error [default: last].
    #[arg(long, value_name = "RULE", value_parser = parse_duplicates)]
    pub(crate) duplicates: Option<Duplicates>,
    /// Keep a random share: users:0.1 (with all their rows) or rows:0.1.
    #[arg(long, value_name = "WHAT:SHARE", value_parser = parse_sample)]
    pub(crate) sample: Option<Sample>,
    /// Seed of --sample.
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) sample_seed: u64,
    /// Drop users and items with fewer rows than K, again and again until none is left: K, or
    /// USERS,ITEMS.
    #[arg(long, value_name = "K", value_parser = parse_core)]
    pub(crate) k_core: Option<Core>,
}

impl PrepareArgs {
    /// What to do with repeated pairs.
    pub(crate) fn duplicates(&self) -> Duplicates {
        self.duplicates.unwrap_or_default()
    }

    /// Carries out the steps on a log and says what each left.
    pub(crate) fn apply(&self, log: &mut EventLog, ui: &Ui) -> Result<(), DataError> {
        if self.since.is_some() || self.until.is_some() {
            let unit = TimeUnit::of_times(log.time());
            let in_unit = |moment| unit.of_moment(moment);
            let (since, until) = (self.since.map(in_unit), self.until.map(in_unit));
            said(ui, "time window", log.keep_times(since, until)?);
        }
        if let Some(minimum) = self.min_rating {
            said(ui, "minimum rating", log.keep_values_from(minimum)?);
        }
        // Without a core to count, the matrix merges repeats when it is built, at no extra cost.
        if self.duplicates.is_some() || self.k_core.is_some() {
            said(ui, "duplicates", log.deduplicate(self.duplicates())?);
        }
        if let Some(sample) = self.sample {
            said(ui, "sample", log.sample(sample, self.sample_seed)?);
        }
        if let Some(core) = self.k_core {
            said(ui, "k-core", log.keep_core(core));
        }
        Ok(())
    }
}

fn said(ui: &Ui, step: &str, report: Report) {
    ui.note(format!(
        "{step}: kept {} of {} rows",
        report.after, report.before
    ));
}

fn parse_duplicates(text: &str) -> Result<Duplicates, String> {
    Ok(match text {
        "sum" => Duplicates::Sum,
        "last" => Duplicates::Last,
        "max" => Duplicates::Max,
        "error" => Duplicates::Error,
        _ => return Err("expected sum, last, max or error".to_owned()),
    })
}

fn parse_sample(text: &str) -> Result<Sample, String> {
    let wrong = || "expected users:SHARE or rows:SHARE, as in users:0.1".to_owned();
    let (what, share) = text.split_once(':').ok_or_else(wrong)?;
    let share: f64 = share.parse().map_err(|_| wrong())?;
    match what {
        "users" => Ok(Sample::Users(share)),
        "rows" => Ok(Sample::Rows(share)),
        _ => Err(wrong()),
    }
}

fn parse_core(text: &str) -> Result<Core, String> {
    let number = |text: &str| {
        let parsed = text.trim().parse();
        parsed.map_err(|_| "expected K or USERS,ITEMS, as in 10 or 5,10".to_owned())
    };
    Ok(match text.split_once(',') {
        Some((user, item)) => Core {
            user: number(user)?,
            item: number(item)?,
        },
        None => Core {
            user: number(text)?,
            item: number(text)?,
        },
    })
}
