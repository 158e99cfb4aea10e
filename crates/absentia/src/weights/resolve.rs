//! From a scheme and data to A and B.

use super::approximate::{Approximated, approximate_dense, approximate_rule, check_weights};
use super::error::WeightsError;
use super::frozen::{Frozen, FrozenGroups, FrozenPart, PartKind};
use super::learned::{Exposure, Learned};
use super::missing::{MissingWeights, column_sums};
use super::normaliser::Normaliser;
use super::scheme::{Groups, Scheme, Strength};
use crate::data::Interactions;
use crate::error::Axis;
use crate::linalg::Dense;

/// The columns of one scheme.
struct Part {
    a: Dense,
    b: Dense,
    kind: PartKind,
}

impl Scheme {
    /// Yields the weights this scheme gives to the missing entries of `data`.
    ///
    /// Costs `O(|R| + (M + N) Z)`, except for [`Scheme::Dense`] and [`Scheme::Function`], which
    /// factorise W. Frequencies count interactions, not exceptions.
    ///
    /// # Errors
    /// Parameters out of range, arrays of the wrong shape or with numbers that cannot be weights,
    /// groups outside the table, and approximations that cannot be had, each named.
    pub fn resolve(&self, data: &Interactions<'_>) -> Result<MissingWeights, WeightsError> {
        let mut parts = Vec::new();
        self.collect(data, &mut parts)?;
        let frozen = Frozen {
            parts: parts.iter().map(Part::frozen).collect(),
        };
        let (a, b): (Vec<Dense>, Vec<Dense>) =
            parts.into_iter().map(|part| (part.a, part.b)).unzip();
        MissingWeights::from_parts(side_by_side(a), side_by_side(b), frozen)
    }

    fn collect(&self, data: &Interactions<'_>, parts: &mut Vec<Part>) -> Result<(), WeightsError> {
        let (m, n) = (data.n_users(), data.n_items());
        let part = match self {
            Scheme::Uniform { weight } => {
                check_at_least_zero("uniform", "weight", *weight)?;
                let kind = PartKind::Uniform { weight: *weight };
                Part::columns(vec![*weight; m], vec![1.0; n], kind)
            }
            Scheme::Popularity { strength, alpha } => popularity(data, *strength, *alpha)?,
            Scheme::Activity { strength, alpha } => activity(data, *strength, *alpha)?,
            Scheme::PopularityActivity {
                strength,
                alpha,
                beta,
            } => popularity_activity(data, *strength, *alpha, *beta)?,
            Scheme::Groups(groups) => grouped(data, groups)?,
            Scheme::LowRank { a, b } => low_rank(data, a, b)?,
            Scheme::Dense { w, rank, method } => {
                Part::approximated(approximate_dense(w, data, *rank, *method)?, PartKind::Dense)
            }
            Scheme::Function {
                function,
                rank,
                method,
            } => {
                let found = approximate_rule(function.rule(), data, *rank, *method)?;
                Part::approximated(found, PartKind::Function)
            }
            Scheme::Learned { learned, exposure } => {
                learned_part(data, learned, exposure.as_ref())?
            }
            Scheme::Sum(terms) => {
                if terms.is_empty() {
                    return Err(WeightsError::EmptySum);
                }
                return terms.iter().try_for_each(|term| term.collect(data, parts));
            }
        };
        parts.push(part);
        Ok(())
    }
}

impl Part {
    fn columns(a: Vec<f32>, b: Vec<f32>, kind: PartKind) -> Self {
        let column = |values: Vec<f32>| Dense::from_fn(values.len(), 1, |row, _| values[row]);
        Self {
            a: column(a),
            b: column(b),
            kind,
        }
    }

    fn approximated(
        (a, b, found): Approximated,
        kind: fn(super::Approximation) -> PartKind,
    ) -> Self {
        Self {
            a,
            b,
            kind: kind(found),
        }
    }

    fn frozen(&self) -> FrozenPart {
        FrozenPart {
            rank: self.a.cols(),
            kind: self.kind.clone(),
        }
    }
}

fn side_by_side(mut parts: Vec<Dense>) -> Dense {
    if parts.len() == 1 {
        return parts.remove(0).into_compact();
    }
    let rows = parts.first().map_or(0, Dense::rows);
    let mut joined = Dense::zeros(rows, parts.iter().map(Dense::cols).sum());
    for row in 0..rows {
        let mut start = 0;
        for part in &parts {
            let end = start + part.cols();
            joined.row_mut(row)[start..end].copy_from_slice(part.row(row));
            start = end;
        }
    }
    joined
}

fn popularity(
    data: &Interactions<'_>,
    strength: Strength,
    alpha: f32,
) -> Result<Part, WeightsError> {
    let scheme = "popularity";
    check_finite(scheme, "alpha", alpha)?;
    let (items, shares) = Normaliser::of_counts(scheme, Axis::Item, alpha, &data.item_counts())?;
    let c0 = strength.c0(scheme, data, &vec![1.0; data.n_users()], &shares)?;
    let a = vec![c0 as f32; data.n_users()];
    Ok(Part::columns(
        a,
        scaled(&shares, 1.0),
        PartKind::Popularity { c0, items },
    ))
}

fn activity(data: &Interactions<'_>, strength: Strength, alpha: f32) -> Result<Part, WeightsError> {
    let scheme = "activity";
    check_finite(scheme, "alpha", alpha)?;
    let (users, shares) = Normaliser::of_counts(scheme, Axis::User, alpha, &data.user_counts())?;
    let c0 = strength.c0(scheme, data, &shares, &vec![1.0; data.n_items()])?;
    let b = vec![1.0; data.n_items()];
    Ok(Part::columns(
        scaled(&shares, c0),
        b,
        PartKind::Activity { c0, users },
    ))
}

fn popularity_activity(
    data: &Interactions<'_>,
    strength: Strength,
    alpha: f32,
    beta: f32,
) -> Result<Part, WeightsError> {
    let scheme = "popularity*activity";
    check_finite(scheme, "alpha", alpha)?;
    check_finite(scheme, "beta", beta)?;
    let (items, popular) = Normaliser::of_counts(scheme, Axis::Item, alpha, &data.item_counts())?;
    let (users, active) = Normaliser::of_counts(scheme, Axis::User, beta, &data.user_counts())?;
    let c0 = strength.c0(scheme, data, &active, &popular)?;
    let kind = PartKind::PopularityActivity { c0, items, users };
    Ok(Part::columns(
        scaled(&active, c0),
        scaled(&popular, 1.0),
        kind,
    ))
}

fn scaled(shares: &[f64], by: f64) -> Vec<f32> {
    shares.iter().map(|share| (by * share) as f32).collect()
}

impl Strength {
    /// Yields c0 of weights `c0 x_u y_i`.
    fn c0(
        self,
        scheme: &'static str,
        data: &Interactions<'_>,
        x: &[f64],
        y: &[f64],
    ) -> Result<f64, WeightsError> {
        let mean = match self {
            Strength::C0(c0) => {
                check_at_least_zero(scheme, "c0", c0)?;
                return Ok(f64::from(c0));
            }
            Strength::Mean(mean) => mean,
        };
        check_at_least_zero(scheme, "mean", mean)?;
        if mean == 0.0 {
            return Ok(0.0);
        }
        let missing = data.n_users() as u64 * data.n_items() as u64 - data.len() as u64;
        let total = total_missing(data, x, y);
        let c0 = f64::from(mean) * missing as f64 / total;
        // What is left of a total that should be 0 is rounding of the two sums it is made of.
        let all: f64 = x.iter().sum::<f64>() * y.iter().sum::<f64>();
        if missing == 0 || total <= 1e-12 * all {
            return Err(WeightsError::NoMean {
                scheme,
                missing,
                mean,
            });
        }
        Ok(c0)
    }
}

/// Yields `Σ x_u y_i` over missing entries, as that over all less that over observed ones.
fn total_missing(data: &Interactions<'_>, x: &[f64], y: &[f64]) -> f64 {
    let all: f64 = y.iter().sum();
    let rows = x.iter().enumerate().map(|(user, x_u)| {
        let items = data.by_user().row(user).indices.iter();
        x_u * (all - items.map(|&item| y[item as usize]).sum::<f64>())
    });
    rows.sum()
}

fn grouped(data: &Interactions<'_>, groups: &Groups) -> Result<Part, WeightsError> {
    let Groups {
        table,
        user_segment,
        item_category,
    } = groups;
    check_weights("the table of groups", table)?;
    check_groups(Axis::User, user_segment, data.n_users(), table.rows())?;
    check_groups(Axis::Item, item_category, data.n_items(), table.cols())?;
    let table_rows = (0..table.rows()).flat_map(|segment| table.row(segment));
    let frozen = FrozenGroups {
        segments: table.rows(),
        categories: table.cols(),
        table: table_rows.copied().collect(),
        user_segment: user_segment.clone(),
        item_category: item_category.clone(),
    };
    let user_rows: Vec<_> = (0..table.rows() as u32)
        .map(|s| frozen.user_row(s))
        .collect();
    let item_rows: Vec<_> = (0..table.cols() as u32)
        .map(|c| frozen.item_row(c))
        .collect();
    let spread = |groups: &[u32], rows: &[Vec<f32>]| {
        Dense::from_fn(groups.len(), frozen.rank(), |row, t| {
            rows[groups[row] as usize][t]
        })
    };
    Ok(Part {
        a: spread(user_segment, &user_rows),
        b: spread(item_category, &item_rows),
        kind: PartKind::Groups(frozen),
    })
}

pub(super) fn check_groups(
    axis: Axis,
    groups: &[u32],
    expected: usize,
    count: usize,
) -> Result<(), WeightsError> {
    if groups.len() != expected {
        let what = match axis {
            Axis::User => "user_segment",
            Axis::Item => "item_category",
        };
        return Err(WeightsError::Rows {
            what,
            axis,
            expected,
            got: groups.len(),
        });
    }
    match groups.iter().position(|&group| group as usize >= count) {
        Some(index) => Err(WeightsError::Group {
            axis,
            index,
            group: groups[index],
            count,
        }),
        None => Ok(()),
    }
}

fn low_rank(data: &Interactions<'_>, a: &Dense, b: &Dense) -> Result<Part, WeightsError> {
    let sides = [
        ("A", Axis::User, a, data.n_users()),
        ("B", Axis::Item, b, data.n_items()),
    ];
    for (what, axis, given, expected) in sides {
        if given.rows() != expected {
            return Err(WeightsError::Rows {
                what,
                axis,
                expected,
                got: given.rows(),
            });
        }
    }
    Ok(Part {
        a: a.clone(),
        b: b.clone(),
        kind: PartKind::LowRank,
    })
}

fn learned_part(
    data: &Interactions<'_>,
    learned: &Learned,
    exposure: Option<&Exposure>,
) -> Result<Part, WeightsError> {
    learned.check()?;
    let (a, b) = match exposure {
        Some(exposure) => exposure.weights(learned, data)?,
        None => Exposure::of_observed(data, learned.rank, learned.seed).weights(learned, data)?,
    };
    let kind = PartKind::Learned {
        learned: *learned,
        user_mean: mean_row(&a),
        item_mean: mean_row(&b),
    };
    Ok(Part { a, b, kind })
}

fn mean_row(side: &Dense) -> Vec<f32> {
    let rows = side.rows().max(1) as f64;
    let sums = column_sums(side).into_iter();
    sums.map(|sum| (sum / rows) as f32).collect()
}

fn check_finite(scheme: &'static str, name: &'static str, got: f32) -> Result<(), WeightsError> {
    if got.is_finite() {
        return Ok(());
    }
    Err(WeightsError::Parameter {
        scheme,
        name,
        got: f64::from(got),
        range: "finite",
    })
}

fn check_at_least_zero(
    scheme: &'static str,
    name: &'static str,
    got: f32,
) -> Result<(), WeightsError> {
    if got.is_finite() && got >= 0.0 {
        return Ok(());
    }
    Err(WeightsError::Parameter {
        scheme,
        name,
        got: f64::from(got),
        range: "finite and at least 0",
    })
}
