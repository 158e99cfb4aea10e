//! What weight a missing entry has, and why.

use super::missing::MissingWeights;
use super::normaliser::Normaliser;
use crate::weights::approximation::dot;

/// The weight of a pair, term by term; displays as sentences.
#[derive(Clone, Debug, PartialEq)]
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
pub struct TermExplanation {
    /// Name of the scheme.
    pub scheme: &'static str,
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

impl Pair<'_> {
    /// The formula of the item's share of the weights.
    pub(in crate::weights) fn item_share(&self, items: &Normaliser) -> String {
        share("i", "j", items, items.count_of(1.0, self.b_i[0]))
    }

    /// The formula of the user's share of the weights, for weights `c0` times it.
    pub(in crate::weights) fn user_share(&self, c0: f64, users: &Normaliser) -> String {
        share("u", "v", users, users.count_of(c0, self.a_u[0]))
    }
}

fn share(own: &str, any: &str, rule: &Normaliser, count: Option<u32>) -> String {
    let alpha = rule.exponent;
    let formula = format!("f_{own}^{alpha} / Σ f_{any}^{alpha}");
    match count {
        Some(count) => format!("{formula} with n_{own} = {count} of {}", rule.total),
        None => formula,
    }
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
