//! What chooses the best model of a run, and may end the run.

// Comments on fields are help texts as well, in which brackets hold the default.
#![allow(rustdoc::broken_intra_doc_links)]

use absentia::data::Pick;

use crate::defaults;
use crate::keys::keys;
use crate::text::{Count, SplitRule};

/// Rows held out, and how models are measured on them.
#[derive(Clone, Debug, Default, PartialEq)]
#[cfg_attr(feature = "clap", derive(clap::Args))]
#[cfg_attr(feature = "clap", command(next_help_heading = "Validation"))]
pub struct ValidationSettings {
    /// Files of held-out rows to validate on.
    #[cfg_attr(
        feature = "clap",
        arg(
            long,
            value_name = "FILE",
            num_args = 1,
            conflicts_with_all = ["valid_split", "valid_pick"]
        )
    )]
    pub valid: Vec<String>,
    /// Hold rows out of the data to validate on: leave-one-out (one row of every user), last:N (N of them),
    /// ratio:SHARE (a share of them, rounded), share:SHARE (a share, but at least one), time:FROM (all rows from a time
    /// on), or time:SHARE, the latest of all rows.
    #[cfg_attr(feature = "clap", arg(long, value_name = "RULE"))]
    pub valid_split: Option<SplitRule>,
    /// Which rows --valid-split holds out: latest, random, or drift, random rows that favour some kinds of items, as if
    /// demand had moved there [default: latest where there are times, or random].
    #[cfg_attr(feature = "clap", arg(long, value_name = "RULE"))]
    pub valid_pick: Option<Pick>,
    /// Metric that chooses the best model [default: ndcg@20].
    #[cfg_attr(feature = "clap", arg(long, value_name = "METRIC"))]
    pub valid_metric: Option<String>,
    /// Sweeps between measurements [default: 1].
    #[cfg_attr(feature = "clap", arg(long, value_name = "N"))]
    pub valid_every: Option<Count>,
    /// Stop after this many measurements without improvement [default: never].
    #[cfg_attr(feature = "clap", arg(long, value_name = "N"))]
    pub patience: Option<Count>,
}

keys!(ValidationSettings {
    valid,
    valid_split,
    valid_pick,
    valid_metric,
    valid_every,
    patience,
});

impl ValidationSettings {
    /// Writes out the defaults, so that they hold whatever the defaults of a later version are.
    pub(crate) fn spell_out(&mut self) {
        self.valid_metric = Some(self.metric().to_owned());
        self.valid_every = Count::new(self.every());
    }

    /// Where the rows to validate on come from; nowhere if nothing was given.
    pub(crate) fn held_out(&self) -> HeldOutRows {
        match self.valid_split {
            _ if !self.valid.is_empty() => HeldOutRows::Files(self.valid.clone()),
            Some(rule) => HeldOutRows::Split {
                rule,
                pick: self.valid_pick,
            },
            None => HeldOutRows::None,
        }
    }

    /// The metric that chooses the best model.
    #[must_use]
    pub fn metric(&self) -> &str {
        self.valid_metric
            .as_deref()
            .unwrap_or(defaults::VALID_METRIC)
    }

    /// Sweeps between measurements.
    #[must_use]
    pub fn every(&self) -> usize {
        self.valid_every.map_or(defaults::VALID_EVERY, Count::get)
    }

    /// Keys that were given and have no effect because no rows are held out.
    pub(crate) fn unused(&self) -> Vec<&'static str> {
        if self.held_out() != HeldOutRows::None {
            return Vec::new();
        }
        // No warning for a default that is written out, as in the configuration of a model.
        let other_every = self.every() != defaults::VALID_EVERY;
        let other_metric = self.metric() != defaults::VALID_METRIC;
        let given = [
            ("patience", self.patience.is_some()),
            ("valid-every", other_every),
            ("valid-metric", other_metric),
            ("valid-pick", self.valid_pick.is_some()),
        ];
        let unused = given.into_iter().filter(|(_, given)| *given);
        unused.map(|(key, _)| key).collect()
    }
}

/// Where held-out rows come from.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) enum HeldOutRows {
    /// No rows are held out.
    #[default]
    None,
    /// From these files.
    Files(Vec<String>),
    /// From the data.
    Split {
        /// How many rows.
        rule: SplitRule,
        /// Which rows; the latest where there are times, or random ones, when not given.
        pick: Option<Pick>,
    },
}
