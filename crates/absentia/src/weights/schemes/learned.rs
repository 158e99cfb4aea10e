//! Weights estimated from the data: how likely it is that a missing entry was seen and not taken.
//!
//! The model behind them is in [`exposure`](super::exposure).

use super::exposure::ExposureRates;
use super::{ResolvedTerm, SchemeTerm, TermColumns, check_at_least_zero};
use crate::data::Interactions;
use crate::error::Axis;
use crate::weights::error::WeightsError;
use crate::weights::resolved::{NewRowValues, Pair, check_new_row};
use crate::weights::scheme::Term;
use crate::weights::sums::column_means;
use crate::weights::text::{Syntax, Vocabulary};

pub(super) const NAME: &str = "learned";

/// The parameters of learned weights.
///
/// | Name | Symbol | Default | Range |
/// | --- | --- | --- | --- |
/// | `mean` | – | – | ≥ 0, mean weight over missing entries |
/// | `rank` | Z | 4 | 1 ..= 64 |
/// | `alpha` | α | 0.25 | `[0, 4]` |
/// | `rounds` | – | 2 | 0 ..= 100; 0 uses observed entries only |
/// | `seed` | – | 0 | any |
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Learned {
    /// Mean weight over missing entries.
    pub mean: f32,
    /// Number of components Z.
    pub rank: usize,
    /// Exponent α of the exposure rates.
    pub alpha: f32,
    /// Number of estimates of the exposures that use P and Q.
    pub rounds: usize,
    /// Seed of the start and of the sample of missing entries.
    pub seed: u64,
}

impl Learned {
    /// The maximum number of components.
    pub const MAX_RANK: usize = 64;
    /// The maximum number of rounds.
    pub const MAX_ROUNDS: usize = 100;

    /// Yields the defaults for a mean weight.
    #[must_use]
    pub fn new(mean: f32) -> Self {
        Self {
            mean,
            rank: 4,
            alpha: 0.25,
            rounds: 2,
            seed: 0,
        }
    }

    /// # Errors
    /// Names the first parameter out of range.
    pub(crate) fn check(&self) -> Result<(), WeightsError> {
        let refused = |name, got: f64, range| WeightsError::Parameter {
            scheme: NAME.to_owned(),
            name,
            got,
            range,
        };
        check_at_least_zero(NAME, "mean", self.mean)?;
        if !(0.0..=4.0).contains(&self.alpha) {
            return Err(refused("alpha", f64::from(self.alpha), "from 0 to 4"));
        }
        if !(1..=Self::MAX_RANK).contains(&self.rank) {
            return Err(refused("rank", self.rank as f64, "from 1 to 64"));
        }
        if self.rounds > Self::MAX_ROUNDS {
            return Err(refused("rounds", self.rounds as f64, "from 0 to 100"));
        }
        Ok(())
    }
}

/// [`Learned`] in memory.
#[derive(Clone, Debug, PartialEq)]
pub struct LearnedWeights {
    /// The parameters.
    pub learned: Learned,
    /// The estimate, once there is one.
    pub exposure: Option<ExposureRates>,
}

/// [`Learned`] on data.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct ResolvedLearned {
    /// The parameters.
    pub learned: Learned,
    /// Mean row of A, which a new user gets.
    pub user_mean: Vec<f32>,
    /// Mean row of B, which a new item gets.
    pub item_mean: Vec<f32>,
}

pub(in crate::weights) const SYNTAX: Syntax = Syntax {
    words: Vocabulary {
        name: NAME,
        accepted: "mean=, and optionally rank=, alpha=, rounds= and seed=",
        options: &["mean", "rank", "alpha", "rounds", "seed"],
    },
    strength: Some("mean"),
    read: |options| {
        let mut learned = Learned::new(options.at_least_zero("mean")?);
        if let Some(text) = options.named("alpha") {
            learned.alpha = options.value_at_least_zero("alpha", text)?;
        }
        if let Some(text) = options.named("rank") {
            learned.rank = options.whole("rank", text)?;
        }
        if let Some(text) = options.named("rounds") {
            learned.rounds = options.whole("rounds", text)?;
        }
        if let Some(text) = options.named("seed") {
            learned.seed = options.whole("seed", text)?;
        }
        Ok(Term::Learned(learned))
    },
};

impl std::fmt::Display for Learned {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self {
            mean,
            rank,
            alpha,
            rounds,
            seed,
        } = self;
        write!(
            f,
            "{NAME}:mean={mean},rank={rank},alpha={alpha},rounds={rounds}"
        )?;
        if *seed == 0 {
            return Ok(());
        }
        write!(f, ",seed={seed}")
    }
}

impl SchemeTerm for LearnedWeights {
    fn resolve(&self, data: &Interactions<'_>) -> Result<TermColumns, WeightsError> {
        let learned = &self.learned;
        learned.check()?;
        let (a, b) = match &self.exposure {
            Some(exposure) => exposure.weights(learned, data)?,
            None => ExposureRates::of_observed(data, learned.rank, learned.seed, || true)
                .weights(learned, data)?,
        };
        let term = Term::Learned(ResolvedLearned {
            learned: *learned,
            user_mean: column_means(&a),
            item_mean: column_means(&b),
        });
        Ok(TermColumns { a, b, term })
    }
}

impl ResolvedTerm for ResolvedLearned {
    fn reason(&self, _: &Pair<'_>) -> String {
        let Learned {
            alpha, rank, mean, ..
        } = self.learned;
        format!(
            "estimated chance that the user saw the item, raised to the power {alpha} and multiplied so that the mean \
             weight is {mean}; learned with rank Z = {rank}"
        )
    }

    fn new_row(&self, axis: Axis, given: &mut NewRowValues<'_>) -> Result<Vec<f32>, WeightsError> {
        let mean = match axis {
            Axis::User => &self.user_mean,
            Axis::Item => &self.item_mean,
        };
        check_new_row(mean, given.rank, axis)
    }
}
