//! What weight a missing entry has, and why.

use super::frozen::{FrozenGroups, PartKind};
use super::measure::dot;
use super::missing::MissingWeights;
use super::normaliser::Normaliser;

/// The weight of a pair, part by part; displays as sentences.
#[derive(Clone, Debug, PartialEq)]
pub struct Explanation {
    /// The user.
    pub user: u32,
    /// The item.
    pub item: u32,
    /// `a_u · b_i`.
    pub total: f32,
    /// What it is the sum of.
    pub parts: Vec<PartExplanation>,
}

/// What one scheme adds to a weight.
#[derive(Clone, Debug, PartialEq)]
pub struct PartExplanation {
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
    pub fn explain(&self, user: u32, item: u32) -> Explanation {
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
            PartExplanation {
                scheme: part.kind.name(),
                value: dot(a_u, b_i),
                reason: pair.reason(&part.kind),
                relative_error: part.kind.approximation().map(|found| found.relative_error),
            }
        });
        Explanation {
            user,
            item,
            parts: parts.collect(),
            total: self.weight(user, item),
        }
    }
}

struct Pair<'w> {
    user: u32,
    item: u32,
    a_u: &'w [f32],
    b_i: &'w [f32],
}

impl Pair<'_> {
    fn reason(&self, kind: &PartKind) -> String {
        match kind {
            PartKind::Uniform { weight } => format!("{weight} for every missing entry"),
            PartKind::Popularity { c0, items } => {
                format!("c0 {} × {}", *c0 as f32, self.popular(items))
            }
            PartKind::Activity { c0, users } => {
                format!("c0 {} × {}", *c0 as f32, self.active(*c0, users))
            }
            PartKind::PopularityActivity { c0, items, users } => format!(
                "c0 {} × {} × {}",
                *c0 as f32,
                self.popular(items),
                self.active(*c0, users)
            ),
            PartKind::Groups(groups) => self.grouped(groups),
            PartKind::LowRank => format!("a_u · b_i of the given A and B, Z = {}", self.a_u.len()),
            PartKind::Dense(found) => format!("reconstruction of the given W: {found}"),
            PartKind::Learned { learned, .. } => format!(
                "estimated chance that the entry was seen, to the power {}, Z = {}, mean {}",
                learned.alpha, learned.rank, learned.mean
            ),
            PartKind::Function(found) => {
                format!("reconstruction of the weight function: {found}")
            }
        }
    }

    fn popular(&self, items: &Normaliser) -> String {
        share("i", "j", items, items.count_of(1.0, self.b_i[0]))
    }

    fn active(&self, c0: f64, users: &Normaliser) -> String {
        share("u", "v", users, users.count_of(c0, self.a_u[0]))
    }

    fn grouped(&self, groups: &FrozenGroups) -> String {
        let segment = groups.user_segment[self.user as usize];
        let category = groups.item_category[self.item as usize];
        format!(
            "{} in the table for user segment {segment} and item category {category}",
            groups.weight(segment, category)
        )
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

impl std::fmt::Display for Explanation {
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

impl std::fmt::Display for PartExplanation {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {}: {}", self.scheme, self.value, self.reason)
    }
}
