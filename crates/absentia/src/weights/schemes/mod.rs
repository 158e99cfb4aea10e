//! One file for each kind of scheme: its parameters, its text, its A and B, and its explanation.

mod dense;
mod exposure;
mod function;
mod groups;
mod learned;
mod low_rank;
mod presence;
mod product;
mod strength;
mod uniform;

pub use dense::Approximated;
pub use exposure::ExposureRates;
pub use function::ResolvedFunction;
pub use groups::{GroupPaths, Groups, ResolvedGroups};
pub use learned::{Learned, LearnedWeights, ResolvedLearned};
pub use low_rank::{GivenFactors, LowRank};
pub use presence::{ItemHistory, Period, Presence, ResolvedPresence, Slices, TimeFactor};
pub(super) use product::{FACTORS, read as read_product, usual_options};
pub use product::{Product, ResolvedProduct};
pub use strength::Strength;
pub use uniform::Uniform;

use super::approximation::Approximation;
use super::error::WeightsError;
use super::resolved::{Frozen, FrozenPart, MissingWeights, NewRowValues, Pair};
use super::scheme::{ByPath, InMemory, Resolved, Scheme, Term};
use super::text::Syntax;
use crate::data::Interactions;
use crate::error::Axis;
use crate::linalg::Dense;

/// All text forms but those of products.
pub(super) const SYNTAXES: [&Syntax; 5] = [
    &uniform::SYNTAX,
    &groups::SYNTAX,
    &low_rank::SYNTAX,
    &learned::SYNTAX,
    &dense::SYNTAX,
];

/// The columns of one term.
pub(super) struct TermColumns {
    pub(super) a: Dense,
    pub(super) b: Dense,
    pub(super) term: Term<Resolved>,
}

/// A term before it is resolved on data.
pub(super) trait SchemeTerm {
    /// Yields its columns of A and B.
    fn resolve(&self, data: &Interactions<'_>) -> Result<TermColumns, WeightsError>;
}

/// A term that is resolved on data.
pub(super) trait ResolvedTerm {
    /// Why a pair has its weight.
    fn reason(&self, pair: &Pair<'_>) -> String;

    /// Yields its part of the row of A or B of a new user or item.
    fn new_row(&self, axis: Axis, given: &mut NewRowValues<'_>) -> Result<Vec<f32>, WeightsError>;

    /// A scheme that yields the same weights on the same data, where A and B are not needed for it.
    fn scheme(&self) -> Option<Scheme> {
        None
    }

    /// How well it approximates the weights that were given.
    fn approximation(&self) -> Option<&Approximation> {
        None
    }

    /// Rejects what does not fit `rank` columns and the numbers of users and items.
    fn check(&self, rank: usize, n_users: usize, n_items: usize) -> Result<(), WeightsError> {
        let _ = (rank, n_users, n_items);
        Ok(())
    }
}

impl Term<Resolved> {
    /// Name of the scheme, as its text form has it.
    #[must_use]
    pub fn name(&self) -> String {
        let name = match self {
            Term::Uniform(_) => uniform::NAME,
            Term::Product(product) => return product.name(),
            Term::Groups(_) => groups::NAME,
            Term::LowRank(_) => low_rank::NAME,
            Term::Dense(_) => dense::NAME,
            Term::Function(_) => function::NAME,
            Term::Learned(_) => learned::NAME,
        };
        name.to_owned()
    }

    /// Whether it has something for each user or item of the training data, and fits no other number of rows.
    pub(crate) fn lists_rows(&self) -> bool {
        match self {
            Term::Groups(_) => true,
            Term::Product(product) => {
                let other = product.other.as_ref();
                product.presence.is_some() || other.is_some_and(|other| other.kind.lists_rows())
            }
            Term::Uniform(_)
            | Term::LowRank(_)
            | Term::Dense(_)
            | Term::Function(_)
            | Term::Learned(_) => false,
        }
    }
}

impl Term<InMemory> {
    fn behaviour(&self) -> &dyn SchemeTerm {
        match self {
            Term::Uniform(term) => term,
            Term::Product(term) => term,
            Term::Groups(term) => term,
            Term::LowRank(term) => term,
            Term::Dense(term) => term,
            Term::Function(term) => term,
            Term::Learned(term) => term,
        }
    }
}

impl Term<Resolved> {
    pub(super) fn behaviour(&self) -> &dyn ResolvedTerm {
        match self {
            Term::Uniform(term) => term,
            Term::Product(term) => term,
            Term::Groups(term) => term,
            Term::LowRank(term) => term,
            Term::Dense(approximation) => approximation,
            Term::Function(term) => term,
            Term::Learned(term) => term,
        }
    }
}

impl std::fmt::Display for Term<ByPath> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Term::Uniform(term) => term.fmt(f),
            Term::Product(term) => term.fmt(f),
            Term::Groups(term) => term.fmt(f),
            Term::LowRank(term) => term.fmt(f),
            Term::Dense(term) => term.fmt(f),
            Term::Function(function) => match *function {},
            Term::Learned(term) => term.fmt(f),
        }
    }
}

impl Scheme {
    /// Yields the weights this scheme gives to the missing entries of `data`.
    ///
    /// Costs `O(|R| + (M + N) Z)`, except for [`Term::Dense`] and [`Term::Function`], which factorise W.
    /// Frequencies count interactions, not exposed entries.
    ///
    /// # Errors
    /// Names what is at fault: a parameter out of range, an array of the wrong shape or with numbers that
    /// cannot be weights, a group outside the table, an approximation that cannot be reached.
    pub fn resolve(&self, data: &Interactions<'_>) -> Result<MissingWeights, WeightsError> {
        if self.terms().is_empty() {
            return Err(WeightsError::EmptySum);
        }
        let (mut a, mut b, mut frozen) = (Vec::new(), Vec::new(), Frozen::default());
        for term in self.terms() {
            let part = term.behaviour().resolve(data)?;
            frozen.parts.push(FrozenPart {
                rank: part.a.cols(),
                kind: part.term,
            });
            a.push(part.a);
            b.push(part.b);
        }
        MissingWeights::from_parts(join_columns(a), join_columns(b), frozen)
    }
}

fn join_columns(mut parts: Vec<Dense>) -> Dense {
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

fn check_finite(scheme: &str, name: &'static str, got: f32) -> Result<(), WeightsError> {
    if got.is_finite() {
        return Ok(());
    }
    Err(WeightsError::Parameter {
        scheme: scheme.to_owned(),
        name,
        got: f64::from(got),
        range: "finite",
    })
}

fn check_at_least_zero(scheme: &str, name: &'static str, got: f32) -> Result<(), WeightsError> {
    if got.is_finite() && got >= 0.0 {
        return Ok(());
    }
    Err(WeightsError::Parameter {
        scheme: scheme.to_owned(),
        name,
        got: f64::from(got),
        range: "finite and at least 0",
    })
}
