//! Which of the rows that were read are used.

use absentia::data::{Core, DataError, Duplicates, EventLog, Sample};
use absentia_io::time::{Moment, TimeUnit};

use crate::keys::keys;
use crate::listener::{Event, Listener, Step};

/// Which rows are used.
#[derive(Clone, Debug, Default, PartialEq)]
#[cfg_attr(feature = "clap", derive(clap::Args))]
#[cfg_attr(feature = "clap", command(next_help_heading = "Preparation"))]
pub struct Preparation {
    /// Keep rows rated at least this: those that count as positive, of held-out files as well.
    #[cfg_attr(feature = "clap", arg(long, value_name = "RATING"))]
    pub min_rating: Option<f32>,
    /// Keep rows from this time on: unix time, or a date such as 2020-01-31.
    #[cfg_attr(
        feature = "clap",
        arg(long, value_name = "TIME", allow_hyphen_values = true)
    )]
    pub since: Option<Moment>,
    /// Keep rows before this time.
    #[cfg_attr(
        feature = "clap",
        arg(long, value_name = "TIME", allow_hyphen_values = true)
    )]
    pub until: Option<Moment>,
    /// Drop the pairs of user and item that these files hold.
    #[cfg_attr(feature = "clap", arg(long, value_name = "FILE", num_args = 1))]
    pub exclude: Vec<String>,
    /// What to do with pairs that occur more than once: sum (of ratings; without ratings, the number of
    /// rows), last (the latest row, where there are times: among rows of one time that with the highest
    /// rating, then weight; without times, the last row of the files), max (the row with the highest
    /// rating, then time, then weight) or error [default: auto, last with ratings and sum without].
    #[cfg_attr(feature = "clap", arg(long, value_name = "RULE"))]
    pub duplicates: Option<Duplicates>,
    /// Keep a random share: users:0.1 (with all their rows) or rows:0.1.
    #[cfg_attr(feature = "clap", arg(long, value_name = "WHAT:SHARE"))]
    pub sample: Option<Sample>,
    /// Seed of --sample [default: 0].
    #[cfg_attr(feature = "clap", arg(long, value_name = "N"))]
    pub sample_seed: Option<u64>,
    /// Drop users and items with fewer than K rows, repeatedly, until every user and item has at
    /// least K: K, or USERS,ITEMS.
    #[cfg_attr(feature = "clap", arg(long, value_name = "K"))]
    pub k_core: Option<Core>,
}

keys!(Preparation {
    min_rating,
    since,
    until,
    exclude,
    duplicates,
    sample,
    sample_seed,
    k_core,
});

impl Preparation {
    /// Writes out the defaults, so that they hold whatever the defaults of a later version are.
    pub(crate) fn spell_out(&mut self) {
        self.sample_seed.get_or_insert_default();
    }

    /// Bytes that the steps take beside the log.
    pub(crate) fn bytes(&self, log: &EventLog, n_users: usize) -> u64 {
        let groups = log.bytes_to_group(n_users);
        let is_filtered = self.since.is_some()
            || self.until.is_some()
            || self.min_rating.is_some()
            || self.sample.is_some();
        match (&self.k_core, &self.duplicates) {
            // Rows by user and by item, and one mark of each.
            (Some(_), _) => 2 * groups - log.len() as u64,
            (None, Some(_)) => groups,
            (None, None) if is_filtered => log.len() as u64,
            (None, None) => 0,
        }
    }

    /// Carries out the steps on a log and reports what each left; `duplicates` says what becomes of
    /// repeated pairs.
    ///
    /// # Errors
    /// A column that a step needs is not there, a share out of range, pairs that occur twice.
    pub(crate) fn apply(
        &self,
        log: &mut EventLog,
        duplicates: Duplicates,
        listener: &dyn Listener,
    ) -> Result<(), DataError> {
        let done = |step, report| listener.event(&Event::Prepared { step, report });
        if self.since.is_some() || self.until.is_some() {
            let unit = TimeUnit::of_times(log.time());
            let [since, until] =
                [self.since, self.until].map(|given| given.map(|moment| unit.of_moment(moment)));
            done(Step::TimeWindow, log.keep_times(since, until)?);
        }
        if let Some(minimum) = self.min_rating {
            done(Step::MinimumRating, log.keep_values_from(minimum)?);
        }
        // Other steps treat rows of a pair alike, so that the matrix can merge them when it is built,
        // at no extra cost.
        let counts_rows = self.k_core.is_some() || matches!(self.sample, Some(Sample::Rows(_)));
        if self.duplicates.is_some() || counts_rows {
            merge_repeats(log, duplicates, self.duplicates.is_none(), listener)?;
        }
        if let Some(sample) = self.sample {
            let seed = self.sample_seed.unwrap_or_default();
            done(Step::Sample, log.sample(sample, seed)?);
        }
        if let Some(core) = self.k_core {
            done(Step::Core, log.keep_core(core));
        }
        Ok(())
    }
}

/// Leaves one row of every pair of user and item, and reports how many were merged. `can_choose` says that an option which
/// was not given chooses another rule.
///
/// # Errors
/// Pairs that occur twice, where those are rejected.
pub fn merge_repeats(
    log: &mut EventLog,
    duplicates: Duplicates,
    can_choose: bool,
    listener: &dyn Listener,
) -> Result<(), DataError> {
    let merging = log.merging(duplicates);
    let report = log.deduplicate(duplicates)?;
    if report.after < report.before {
        listener.event(&Event::Merged {
            rows: report.before - report.after,
            of: report.before,
            merging,
            can_choose,
        });
    }
    Ok(())
}
