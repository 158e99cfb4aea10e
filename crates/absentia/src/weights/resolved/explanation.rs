//! What weight a missing entry has, and why.

use super::missing::MissingWeights;
use crate::weights::approximation::dot;

/// The weight of a pair, term by term; displays as sentences.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct WeightExplanation {
    /// The user.
    pub user: u32,
    /// The item.
    pub item: u32,
    /// `a_u · b_i`.
    pub total: f32,
    /// The terms it is the sum of.
    pub parts: Vec<TermExplanation>,
}

/// What one term adds to a weight.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct TermExplanation {
    /// Name of the scheme.
    pub scheme: String,
    /// What it adds.
    pub value: f32,
    /// Why, in words.
    pub reason: String,
    /// Relative error over missing entries, where the value is a reconstruction.
    pub relative_error: Option<f64>,
}

impl MissingWeights {
    /// Yields the weight the pair has if its entry is missing, and why.
    ///
    /// # Panics
    /// If the user or item is out of range.
    #[must_use]
    pub fn explain(&self, user: u32, item: u32) -> WeightExplanation {
        let (a_u, b_i) = (self.a().row(user as usize), self.b().row(item as usize));
        let mut start = 0;
        let parts = self.frozen().parts.iter().map(|part| {
            let columns = start..start + part.rank;
            start = columns.end;
            let (a_u, b_i) = (&a_u[columns.clone()], &b_i[columns]);
            let pair = Pair {
                user,
                item,
                a_u,
                b_i,
            };
            let behaviour = part.kind.behaviour();
            TermExplanation {
                scheme: part.kind.name(),
                value: dot(a_u, b_i),
                reason: behaviour.reason(&pair),
                relative_error: behaviour.approximation().map(|found| found.relative_error),
            }
        });
        WeightExplanation {
            user,
            item,
            parts: parts.collect(),
            total: self.weight(user, item),
        }
    }
}

/// A user and an item, with the columns of one term.
pub(in crate::weights) struct Pair<'w> {
    pub(in crate::weights) user: u32,
    pub(in crate::weights) item: u32,
    pub(in crate::weights) a_u: &'w [f32],
    pub(in crate::weights) b_i: &'w [f32],
}

impl std::fmt::Display for WeightExplanation {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self {
            user, item, total, ..
        } = self;
        write!(f, "user {user}, item {item}: weight {total}")?;
        for part in &self.parts {
            write!(f, "\n  {part}")?;
        }
        Ok(())
    }
}

impl std::fmt::Display for TermExplanation {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {}: {}", self.scheme, self.value, self.reason)
    }
}
