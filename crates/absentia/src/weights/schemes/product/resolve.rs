//! A and B of a product.

use super::{Product, ResolvedProduct};
use crate::data::Interactions;
use crate::error::Axis;
use crate::linalg::Dense;
use crate::weights::error::WeightsError;
use crate::weights::resolved::{FrozenPart, Normaliser};
use crate::weights::scheme::{InMemory, Term};
use crate::weights::schemes::presence::ResolvedPresence;
use crate::weights::schemes::{SchemeTerm, TermColumns, check_finite};
use crate::weights::sums::{sum, total_over_missing, total_product_over_missing};

impl SchemeTerm for Product<InMemory> {
    fn resolve(&self, data: &Interactions<'_>) -> Result<TermColumns, WeightsError> {
        let (items, mut y) = shares(Axis::Item, self.popularity, &data.item_counts())?;
        let (users, x) = shares(Axis::User, self.activity, &data.user_counts())?;
        let name = self.factors().to_string();
        let presence = self.presence.as_ref();
        let presence = presence.map(|presence| presence.resolve(&name, data));
        let presence = presence.transpose()?;
        if let Some(presence) = presence.as_ref().filter(|found| found.factor.is_age()) {
            for (item, y) in y.iter_mut().enumerate() {
                *y *= presence.age(item);
            }
        }
        let (matrices, other) = self.matrices(&name, data, presence.as_ref())?;
        let (a, b, c0) = match matrices {
            None => {
                let c0 = self.strength.c0(&name, data, || {
                    let total = total_product_over_missing(data, &x, &y);
                    (total, sum(&x) * sum(&y))
                })?;
                let a = Dense::from_fn(x.len(), 1, |user, _| (c0 * x[user]) as f32);
                (a, Dense::from_fn(y.len(), 1, |item, _| y[item] as f32), c0)
            }
            Some((own_a, own_b)) => {
                let (a, b) = (times_rows(&own_a, &x, 1.0), times_rows(&own_b, &y, 1.0));
                let c0 = self.strength.c0(&name, data, || {
                    let sums = a.column_sums().into_iter().zip(b.column_sums());
                    let all = sums.map(|(a, b)| (a * b).abs()).sum();
                    (total_over_missing(data, &a, &b), all)
                })?;
                (times_rows(&own_a, &x, c0), b, c0)
            }
        };
        let resolved = ResolvedProduct {
            c0,
            items,
            users,
            presence,
            other: other.map(Box::new),
        };
        Ok(TermColumns {
            a,
            b,
            term: Term::Product(resolved),
        })
    }
}

/// A and B.
type Matrices = (Dense, Dense);

impl Product<InMemory> {
    /// A and B of `v_ui`, if it is not 1 everywhere, and what the other scheme is.
    fn matrices(
        &self,
        name: &str,
        data: &Interactions<'_>,
        presence: Option<&ResolvedPresence>,
    ) -> Result<(Option<Matrices>, Option<FrozenPart>), WeightsError> {
        let available = presence.filter(|found| found.factor.is_available());
        match (available, &self.other) {
            (None, None) => Ok((None, None)),
            (Some(presence), None) => Ok((Some(presence.columns(data)), None)),
            (None, Some(other)) => {
                let TermColumns { a, b, term } = other.behaviour().resolve(data)?;
                let rank = a.cols();
                Ok((Some((a, b)), Some(FrozenPart { rank, kind: term })))
            }
            (Some(_), Some(_)) => Err(WeightsError::TwoRanks {
                scheme: name.to_owned(),
            }),
        }
    }
}

/// The normalised powers of one side's frequencies, 1 without an exponent.
fn shares(
    axis: Axis,
    exponent: Option<f32>,
    counts: &[u32],
) -> Result<(Option<Normaliser>, Vec<f64>), WeightsError> {
    let Some(exponent) = exponent else {
        return Ok((None, vec![1.0; counts.len()]));
    };
    let (scheme, name) = match axis {
        Axis::Item => ("popularity", "alpha"),
        Axis::User => ("activity", "beta"),
    };
    check_finite(scheme, name, exponent)?;
    let (normaliser, shares) = Normaliser::of_counts(scheme, axis, exponent, counts)?;
    Ok((Some(normaliser), shares))
}

/// Yields the matrix with every row times `scale` and its own factor.
fn times_rows(matrix: &Dense, factors: &[f64], scale: f64) -> Dense {
    Dense::from_fn(matrix.rows(), matrix.cols(), |row, t| {
        (scale * factors[row] * f64::from(matrix.row(row)[t])) as f32
    })
}
