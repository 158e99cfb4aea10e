//! Targets `r_ui` and weights `c_ui` derived from the values as they came.
//!
//! Both are computed from the *raw* value x of an entry, so their order does not matter.
//! Exceptions keep their target 0 and their own weight.

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
        /// Exponent ρ_u of the user's number of interactions.
        user: f32,
        /// Exponent ρ_i of the item's number of interactions.
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

impl<'a> Interactions<'a> {
    /// Yields the same pattern with targets and weights derived from the raw values.
    ///
    /// # Errors
    /// A parameter out of range, a column the data lacks, or an entry whose target or weight would
    /// not be finite (or, for weights, at least 0).
    pub fn transform(
        &self,
        targets: Targets,
        confidence: Confidence,
    ) -> Result<Interactions<'a>, DataError> {
        let r = self.keep_exceptions(self.targets(targets)?, &self.by_user.r);
        let c = self.keep_exceptions(self.weights(confidence)?, &self.by_user.c);
        if let Values::Each(r) = &r {
            super::interactions::check_values(r)?;
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

    fn targets(&self, targets: Targets) -> Result<Values<'a>, DataError> {
        match targets {
            Targets::Raw => Ok(self.by_user.r.clone()),
            Targets::Binary => Ok(Values::Constant(1.0)),
            Targets::Log => {
                let lowest = self.lowest_value();
                in_range("value under log targets", lowest, lowest > -1.0, "above -1")?;
                Ok(self.map_values(f32::ln_1p))
            }
            Targets::Normalized { user, item } => {
                in_range(
                    "user exponent of normalized targets",
                    user,
                    user.is_finite(),
                    "finite",
                )?;
                in_range(
                    "item exponent of normalized targets",
                    item,
                    item.is_finite(),
                    "finite",
                )?;
                Ok(self.normalized(user, item))
            }
        }
    }

    fn weights(&self, confidence: Confidence) -> Result<Values<'a>, DataError> {
        match confidence {
            Confidence::Constant { weight } => Ok(Values::Constant(weight)),
            Confidence::Column => Ok(self.by_user.c.clone()),
            Confidence::Linear { alpha } => {
                in_range(
                    "confidence alpha",
                    alpha,
                    alpha.is_finite() && alpha >= 0.0,
                    "at least 0",
                )?;
                Ok(self.map_values(|x| 1.0 + alpha * x))
            }
            Confidence::Log { alpha, epsilon } => {
                in_range(
                    "confidence alpha",
                    alpha,
                    alpha.is_finite() && alpha >= 0.0,
                    "at least 0",
                )?;
                in_range(
                    "confidence epsilon",
                    epsilon,
                    epsilon.is_finite() && epsilon > 0.0,
                    "above 0",
                )?;
                Ok(self.map_values(|x| 1.0 + alpha * (x / epsilon).ln_1p()))
            }
            Confidence::Decay { half_life, now } => self.decayed(half_life, now),
        }
    }

    fn decayed(&self, half_life: f64, now: Option<i64>) -> Result<Values<'a>, DataError> {
        in_range(
            "half-life",
            half_life as f32,
            half_life.is_finite() && half_life > 0.0,
            "above 0",
        )?;
        let Some(times) = self.times() else {
            return Err(DataError::Lacks {
                transform: "decay confidence",
                needs: "a time for every entry",
            });
        };
        let now = now
            .or_else(|| times.iter().copied().max())
            .unwrap_or_default();
        let weight = |&t: &i64| (-(now.saturating_sub(t).max(0) as f64) / half_life).exp2() as f32;
        Ok(Values::from_vec(times.par_iter().map(weight).collect()))
    }

    fn lowest_value(&self) -> f32 {
        match &self.by_user.r {
            Values::Constant(value) => *value,
            Values::Each(values) => values.iter().copied().fold(f32::INFINITY, f32::min),
        }
    }

    fn map_values(&self, f: impl Fn(f32) -> f32 + Sync) -> Values<'a> {
        match &self.by_user.r {
            Values::Constant(value) => Values::Constant(f(*value)),
            Values::Each(values) => Values::from_vec(values.par_iter().map(|&x| f(x)).collect()),
        }
    }

    /// `n_u^−ρ_u n_i^−ρ_i` at every entry, divided by its mean over interactions.
    fn normalized(&self, rho_user: f32, rho_item: f32) -> Values<'a> {
        let power = |counts: Vec<u32>, rho: f32| -> Vec<f64> {
            counts
                .into_iter()
                .map(|n| f64::from(n.max(1)).powf(-f64::from(rho)))
                .collect()
        };
        let users = power(self.user_counts(), rho_user);
        let items = power(self.item_counts(), rho_item);
        let (mut total, mut raw) = (0.0, Vec::with_capacity(self.len()));
        for (user, factor) in users.iter().enumerate() {
            for at in self.by_user.range(user) {
                let value = factor * items[self.by_user.indices()[at] as usize];
                total += if self.is_exposed(at) { 0.0 } else { value };
                raw.push(value as f32);
            }
        }
        let scale = (self.n_interactions() as f64 / total.max(f64::MIN_POSITIVE)) as f32;
        raw.par_iter_mut().for_each(|value| *value *= scale);
        Values::from_vec(raw)
    }

    /// Puts back what exceptions had before a transform.
    fn keep_exceptions(&self, changed: Values<'a>, before: &Values<'a>) -> Values<'a> {
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
