//! The events of a running job, for front ends to display.

use absentia::data::{Merging, Pick, Report, Targets, Unknown};
use absentia::fit::FitError;
use absentia::memory::Stage;
use absentia_io::time::{Moment, TimeSpan, TimeUnit};
use absentia_io::{BadRows, NoProgress, Progress};
use absentia_search::{Automatic, ChosenSettings};

use crate::memory::Ledger;
use crate::text::ConfidenceRule;

/// Is notified of the progress and the events of a job, and has its memory; every method has a default
/// that does nothing.
pub trait Listener {
    /// The memory of the command, where it is limited.
    fn memory(&self) -> Option<&Ledger> {
        None
    }

    /// Enters a stage of the command and reports it if it is large.
    ///
    /// # Errors
    /// The stage does not fit into memory.
    fn enter(&self, stage: Stage) -> Result<(), FitError> {
        let Some(memory) = self.memory() else {
            return Ok(());
        };
        if let Some(stage) = memory.enter(stage)? {
            self.event(&Event::Memory(&stage));
        }
        Ok(())
    }

    /// Follows the bytes and rows of files that are read from now on.
    fn reading(&self) -> Box<dyn Progress + '_> {
        Box::new(NoProgress)
    }

    /// Something happened.
    fn event(&self, event: &Event<'_>) {
        let _ = event;
    }
}

/// Ignores everything.
impl Listener for () {}

/// A step of the preparation of rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Rows outside a window of time are dropped.
    TimeWindow,
    /// Rows rated too low are dropped.
    MinimumRating,
    /// A random share is kept.
    Sample,
    /// Users and items with too few rows are dropped.
    Core,
    /// Pairs that other files hold are dropped.
    Excluded,
    /// Held-out rows of files that are rated too low are dropped.
    HeldOutRating,
}

impl Step {
    /// Its name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::TimeWindow => "time window",
            Self::MinimumRating => "minimum rating",
            Self::Sample => "sample",
            Self::Core => "k-core",
            Self::Excluded => "excluded",
            Self::HeldOutRating => "minimum rating of held-out rows",
        }
    }
}

/// Something that happened, as values.
#[derive(Debug)]
#[non_exhaustive]
pub enum Event<'e> {
    /// The command enters a stage that takes much memory.
    Memory(&'e Stage),
    /// Rows that could not be understood were left out.
    BadRows(&'e BadRows),
    /// Times are in another unit than seconds.
    Times {
        /// The unit, found from how large they are.
        unit: TimeUnit,
        /// The latest of them.
        latest: Moment,
    },
    /// Rows of users or items that are not known were left out.
    UnknownRows {
        /// The files they were in.
        files: &'e [String],
        /// Number of rows left out.
        left_out: u64,
        /// Number of rows in all.
        rows: u64,
    },
    /// A step of the preparation is done.
    Prepared {
        /// The step.
        step: Step,
        /// What it left.
        report: Report,
    },
    /// Rows of the same user and item were merged.
    Merged {
        /// Number of rows that repeat the pair of another one.
        rows: usize,
        /// Number of rows in all.
        of: usize,
        /// How they were merged.
        merging: Merging,
        /// Whether an option that was not given chooses another rule.
        can_choose: bool,
    },
    /// Rows rated 0 or less count like the others.
    RatedZeroOrLess {
        /// Number of those rows.
        rows: usize,
        /// Number of rows in all.
        of: usize,
        /// Whether the caller can choose targets that follow ratings.
        can_choose: bool,
    },
    /// Which rows are held out was not given, and the data has no times.
    HeldOutWithoutTimes(Pick),
    /// Held-out rows of users or items without a row to be trained on are left out.
    Unknown(Unknown),
    /// Fewer rows of some users are held out than the share, because one is kept to be trained on.
    HeldOutLess {
        /// Number of those users.
        users: usize,
    },
    /// Rows were held out.
    HeldOut {
        /// Number of rows.
        rows: usize,
    },
    /// Pairs that were shown and not taken were added.
    Exposed {
        /// Number of pairs.
        pairs: usize,
        /// Number of pairs that were not added, because they are held out or excluded.
        dropped: usize,
    },
    /// Rows of the data are held out as well, and are not trained on.
    Overlap {
        /// Number of those rows.
        rows: usize,
        /// Number of rows in all.
        of: usize,
    },
    /// Most ids that a relation has of a type are nowhere else.
    FewSharedIds {
        /// The relation.
        relation: &'e str,
        /// The type.
        entity: &'e str,
        /// Where they could be.
        place: &'static str,
        /// Number of those that are.
        shared: usize,
        /// Number of those in the relation.
        of: usize,
    },
    /// A relation is ready.
    Related {
        /// Its name.
        relation: &'e str,
        /// Number of its entries.
        entries: usize,
        /// Number of its rows and columns that have any.
        shape: (usize, usize),
        /// The first names of its columns, if they are features.
        columns: Option<String>,
    },
    /// Attributes that the model does not know were left out.
    UnknownAttributes {
        /// The file they were in.
        file: &'e str,
        /// Number of rows left out.
        left_out: usize,
        /// Number of rows in all.
        rows: usize,
    },
    /// Rows of which neither user nor item is known were left out.
    BothUnknown {
        /// Number of rows left out.
        left_out: usize,
        /// Number of rows in all.
        rows: usize,
    },
    /// Users and items were folded in.
    FoldedIn {
        /// Number of users.
        users: usize,
        /// Number of new items.
        items: usize,
        /// Number of items with attributes that kept the factors they were trained with.
        kept_items: usize,
    },
    /// Users with attributes and without interactions kept the factors they were trained with.
    KeptUsers {
        /// Number of users.
        users: usize,
    },
    /// Known users were folded in without attributes that they were trained with.
    WithoutAttributes {
        /// The relation.
        relation: &'e str,
        /// Number of users.
        users: usize,
    },
    /// The data is ready.
    Ready {
        /// Number of interactions.
        interactions: usize,
        /// Number of users.
        users: usize,
        /// Number of items.
        items: usize,
    },
    /// Targets depend on ratings, and the data has none.
    TargetsWithoutRatings(Targets),
    /// Weights of entries depend on ratings, and the data has none.
    ConfidenceWithoutRatings(ConfidenceRule),
    /// Settings are to be chosen automatically.
    Choosing {
        /// Most models that will be trained for it.
        most_models: usize,
    },
    /// A model was trained to choose settings.
    ModelTried,
    /// Settings were chosen, or choosing them failed.
    Chosen(Option<Choice<'e>>),
}

/// Settings that were chosen automatically.
#[derive(Clone, Copy, Debug)]
pub struct Choice<'e> {
    /// What there was to choose.
    pub automatic: Automatic,
    /// The result.
    pub chosen: &'e ChosenSettings,
    /// Whether anything changed.
    pub changed: bool,
    /// The half-life of the counts of post-scaling, if they have one.
    pub half_life: Option<TimeSpan>,
}
