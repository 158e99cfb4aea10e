//! Targets `r_ui` and weights `c_ui` derived from the raw values.
//!
//! Both are computed from the *raw* value x of an entry, so their order does not matter.
//! Exposed entries keep their target 0 and their own weight.

use rayon::prelude::*;

use super::entries::Values;
use super::error::DataError;
use super::interactions::Interactions;

/// How the target `r_ui` of an interaction follows from its raw value x.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "kebab-case", tag = "kind"))]
pub enum Targets {
    /// `r = x`.
    Raw,
    /// `r = 1`.
    #[default]
    Binary,
    /// `r = ln(1 + x)`, for x > −1.
    Log,
    /// `r ∝ n_u^−ρ_u · n_i^−ρ_i`, scaled so that the mean over interactions is 1.
    Normalized {
        /// Exponent `ρ_u` of the user's number of interactions.
        user: f32,
        /// Exponent `ρ_i` of the item's number of interactions.
        item: f32,
    },
}

/// How the weight `c_ui` of an interaction follows from its raw value x, its time t or its column.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "kebab-case", tag = "kind"))]
pub enum Confidence {
    /// The same `c` for all.
    Constant {
        /// The weight.
        weight: f32,
    },
    /// `c = 1 + α x`.
    Linear {
        /// Slope α.
        alpha: f32,
    },
    /// `c = 1 + α ln(1 + x/ε)`.
    Log {
        /// Slope α.
        alpha: f32,
        /// Scale ε of the value.
        epsilon: f32,
    },
    /// `c = 2^(−(now − t)/half_life)`: an entry loses half its weight every half-life.
    Decay {
        /// Half-life, in the unit of the times.
        half_life: f64,
        /// The present; the latest time in the data when not given.
        now: Option<i64>,
    },
    /// The weight column that came with the data.
    Column,
}

impl Default for Confidence {
    fn default() -> Self {
        Confidence::Constant { weight: 1.0 }
    }
}

/// A choice of targets and weights with what it took from the training data, so that entries of a
/// new row get the same treatment.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct FrozenTransform {
    /// How targets follow from raw values.
    pub targets: Targets,
    /// How weights follow from raw values.
    pub confidence: Confidence,
    /// Factor that gives normalised targets a mean of 1.
    pub scale: f32,
    /// The present of decaying weights.
    pub now: i64,
}

impl Default for FrozenTransform {
    fn default() -> Self {
        Self {
            targets: Targets::default(),
            confidence: Confidence::default(),
            scale: 1.0,
            now: 0,
        }
    }
}

impl FrozenTransform {
    /// Target of an entry with raw value `x`, given how many interactions its user and item have.
    #[must_use]
    pub fn target(&self, x: f32, n_user: u32, n_item: u32) -> f32 {
        match self.targets {
            Targets::Raw => x,
            Targets::Binary => 1.0,
            Targets::Log => x.ln_1p(),
            Targets::Normalized { user, item } => {
                (degree(n_user, user) * degree(n_item, item)) as f32 * self.scale
            }
        }
    }

    /// Weight of an entry with raw value `x`, weight column `column` and time `time`.
    #[must_use]
    pub fn weight(&self, x: f32, column: f32, time: i64) -> f32 {
        match self.confidence {
            Confidence::Constant { weight } => weight,
            Confidence::Linear { alpha } => 1.0 + alpha * x,
            Confidence::Log { alpha, epsilon } => 1.0 + alpha * (x / epsilon).ln_1p(),
            Confidence::Decay { half_life, .. } => {
                let age = self.now.saturating_sub(time).max(0) as f64;
                (-age / half_life).exp2() as f32
            }
            Confidence::Column => column,
        }
    }

    /// Whether targets and weights follow from the pairs alone, without values, weights and times of their own.
    #[must_use]
    pub fn needs_pairs_only(&self) -> bool {
        let targets = matches!(self.targets, Targets::Binary | Targets::Normalized { .. });
        targets && matches!(self.confidence, Confidence::Constant { .. })
    }

    fn check(&self) -> Result<(), DataError> {
        let finite = |name, got: f32| in_range(name, got, got.is_finite(), "finite");
        let at_least_zero =
            |name, got: f32| in_range(name, got, got.is_finite() && got >= 0.0, "at least 0");
        let above_zero =
            |name, got: f64| in_range(name, got as f32, got.is_finite() && got > 0.0, "above 0");
        if let Targets::Normalized { user, item } = self.targets {
            finite("user exponent of normalized targets", user)?;
            finite("item exponent of normalized targets", item)?;
        }
        match self.confidence {
            Confidence::Constant { weight } => at_least_zero("confidence", weight),
            Confidence::Linear { alpha } => at_least_zero("confidence alpha", alpha),
            Confidence::Log { alpha, epsilon } => {
                at_least_zero("confidence alpha", alpha)?;
                above_zero("confidence epsilon", f64::from(epsilon))
            }
            Confidence::Decay { half_life, .. } => above_zero("half-life", half_life),
            Confidence::Column => Ok(()),
        }
    }
}

/// `n^−ρ`; a side without interactions counts as one, so that new rows have a target.
fn degree(n: u32, rho: f32) -> f64 {
    f64::from(n.max(1)).powf(-f64::from(rho))
}

impl<'a> Interactions<'a> {
    /// Yields the same pattern with targets and weights derived from the raw values.
    ///
    /// # Errors
    /// As [`freeze`](Self::freeze) and [`apply`](Self::apply).
    pub fn transform(
        &self,
        targets: Targets,
        confidence: Confidence,
    ) -> Result<Interactions<'a>, DataError> {
        self.apply(&self.freeze(targets, confidence)?)
    }

    /// Takes from the data what the transforms need to know of it: the mean of normalised targets,
    /// and the present of decaying weights.
    ///
    /// # Errors
    /// A parameter out of range, or a column the data lacks.
    pub fn freeze(
        &self,
        targets: Targets,
        confidence: Confidence,
    ) -> Result<FrozenTransform, DataError> {
        let mut frozen = FrozenTransform {
            targets,
            confidence,
            scale: 1.0,
            now: 0,
        };
        frozen.check()?;
        if let Targets::Normalized { user, item } = targets {
            frozen.scale = self.mean_one_scale(user, item);
        }
        if let Confidence::Decay { now, .. } = confidence {
            let Some(times) = self.times() else {
                return Err(DataError::Lacks {
                    transform: "decay confidence",
                    needs: "a time for every entry",
                });
            };
            frozen.now = now
                .or_else(|| times.iter().copied().max())
                .unwrap_or_default();
        }
        Ok(frozen)
    }

    /// Yields the same pattern with targets and weights by a frozen transform.
    ///
    /// # Errors
    /// Names an entry whose target or weight would not be finite, or whose weight would be negative.
    pub fn apply(&self, frozen: &FrozenTransform) -> Result<Interactions<'a>, DataError> {
        let r = self.keep_exposed(self.targets(frozen), &self.by_user.r);
        let c = self.keep_exposed(self.weights(frozen), &self.by_user.c);
        match &r {
            Values::Each(r) => super::interactions::check_values(r)?,
            Values::Constant(r) => super::interactions::check_values(&[*r])?,
        }
        match &c {
            Values::Each(c) => super::interactions::check_weights(c)?,
            Values::Constant(c) => super::interactions::check_weights(&[*c])?,
        }
        let mut transformed = self.clone();
        transformed.by_item.r = self.by_user.moved_to_transpose(&r, self.by_item.offsets());
        transformed.by_item.c = self.by_user.moved_to_transpose(&c, self.by_item.offsets());
        transformed.by_user.r = r;
        transformed.by_user.c = c;
        Ok(transformed)
    }

    fn targets(&self, frozen: &FrozenTransform) -> Values<'a> {
        match frozen.targets {
            Targets::Raw => self.by_user.r.clone(),
            Targets::Binary | Targets::Log => self.map_values(|x| frozen.target(x, 0, 0)),
            Targets::Normalized { user, item } => {
                let (users, items) = self.degrees(user, item);
                let mut r = Vec::with_capacity(self.len());
                for (user, factor) in users.iter().enumerate() {
                    let row = self.by_user.row(user).indices;
                    r.extend(
                        row.iter()
                            .map(|&item| (factor * items[item as usize]) as f32 * frozen.scale),
                    );
                }
                Values::from_vec(r)
            }
        }
    }

    fn weights(&self, frozen: &FrozenTransform) -> Values<'a> {
        match (frozen.confidence, self.times()) {
            (Confidence::Column, _) => self.by_user.c.clone(),
            (Confidence::Decay { .. }, Some(times)) => Values::from_vec(
                times
                    .par_iter()
                    .map(|&time| frozen.weight(0.0, 1.0, time))
                    .collect(),
            ),
            _ => self.map_values(|x| frozen.weight(x, 1.0, 0)),
        }
    }

    fn map_values(&self, f: impl Fn(f32) -> f32 + Sync) -> Values<'a> {
        match &self.by_user.r {
            Values::Constant(value) => Values::Constant(f(*value)),
            Values::Each(values) => Values::from_vec(values.par_iter().map(|&x| f(x)).collect()),
        }
    }

    fn degrees(&self, rho_user: f32, rho_item: f32) -> (Vec<f64>, Vec<f64>) {
        let power =
            |counts: Vec<u32>, rho: f32| counts.into_iter().map(|n| degree(n, rho)).collect();
        (
            power(self.user_counts(), rho_user),
            power(self.item_counts(), rho_item),
        )
    }

    /// What `n_u^−ρ_u n_i^−ρ_i` must be multiplied by to have a mean of 1 over interactions.
    fn mean_one_scale(&self, rho_user: f32, rho_item: f32) -> f32 {
        let (users, items) = self.degrees(rho_user, rho_item);
        let of_user = |user: usize| {
            let seen = self.seen(user as u32).map(|item| items[item as usize]);
            users[user] * seen.sum::<f64>()
        };
        let total = self.sum_over_users(of_user);
        if total > 0.0 {
            let exposed = self.len() - self.n_interactions();
            ((self.whole_len() - exposed) as f64 / total) as f32
        } else {
            1.0
        }
    }

    /// Restores what exposed entries had before a transform.
    fn keep_exposed(&self, changed: Values<'a>, before: &Values<'a>) -> Values<'a> {
        if self.n_interactions() == self.len() {
            return changed;
        }
        let kept = |at| {
            if self.is_exposed(at) {
                before.get(at)
            } else {
                changed.get(at)
            }
        };
        Values::from_vec((0..self.len()).map(kept).collect())
    }
}

fn in_range(name: &'static str, got: f32, ok: bool, range: &'static str) -> Result<(), DataError> {
    if ok {
        Ok(())
    } else {
        Err(DataError::Parameter { name, got, range })
    }
}
