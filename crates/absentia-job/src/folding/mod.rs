//! Rows that a model does not know, folded in from interactions, attributes, or both.

mod attributes;
mod given;

use std::borrow::Cow;

use absentia::data::EventLog;
use absentia::error::Axis;
use absentia::model::{NewEntry, RowWeights};
use absentia::ranking::{FactorScorer, RankError};
use absentia::{Dense, Model};
use absentia_io::IdMap;
use rayon::prelude::*;

pub use attributes::{Attributes, known_entries, read_attributes};
pub use given::GivenRows;

use crate::error::JobError;
use crate::listener::{Event, Listener};

/// A model with the ids of its rows.
#[derive(Clone, Copy)]
pub struct KnownRows<'m> {
    /// The model.
    pub model: &'m Model,
    /// Ids of its users.
    pub users: &'m IdMap,
    /// Ids of its items.
    pub items: &'m IdMap,
    /// Ids of the types that relations add.
    pub related: &'m [IdMap],
}

impl<'m> KnownRows<'m> {
    /// The ids of a type.
    #[must_use]
    pub fn ids(&self, entity: usize) -> &'m IdMap {
        match entity {
            0 => self.users,
            1 => self.items,
            _ => &self.related[entity - 2],
        }
    }
}

/// A row of a log as an entry of its user or item.
#[must_use]
pub fn entry_of(log: &EventLog, row: usize, index: u32) -> NewEntry {
    let mut entry = NewEntry::new(index);
    if let Some(value) = log.value() {
        entry.value = value[row];
    }
    if let Some(weight) = log.weight() {
        entry.weight = weight[row];
    }
    if let Some(time) = log.time() {
        entry.time = Some(time[row]);
    }
    entry
}

/// Rows of one side that were folded in.
#[derive(Clone, Debug)]
pub struct FoldedSide {
    /// Their ids, in order.
    pub ids: IdMap,
    /// Their factors.
    pub factors: Vec<Vec<f32>>,
    /// Number of their interactions.
    pub counts: Vec<u32>,
}

/// Users and items that were folded in.
///
/// Users are new, or have rows among those given; new items are those that the model does not know. All others keep the
/// factors they were trained with: attributes alone would drop what their interactions say.
#[derive(Clone, Debug)]
pub struct Folded {
    /// Users.
    pub users: FoldedSide,
    /// New items.
    pub items: FoldedSide,
}

impl Folded {
    /// Folds in what is given, and says what was and what was not.
    ///
    /// # Errors
    /// Rows that have no minimum.
    pub fn new(
        given: &GivenRows,
        known: KnownRows<'_>,
        listener: &dyn Listener,
    ) -> Result<Self, JobError> {
        let is_user = |id: &str| given.has_rows(Axis::User, id) || known.users.get(id).is_none();
        let is_item = |id: &str| known.items.get(id).is_none();
        let (users, items) = (
            given.ids(Axis::User, is_user),
            given.ids(Axis::Item, is_item),
        );
        let all = |axis| given.ids(axis, |_| true).len();
        listener.event(&Event::FoldedIn {
            users: users.len(),
            items: items.len(),
            kept_items: all(Axis::Item) - items.len(),
        });
        let kept = all(Axis::User) - users.len();
        if kept > 0 {
            listener.event(&Event::KeptUsers { users: kept });
        }
        given.report_dropped(known, listener);
        Ok(Self {
            users: folded(given, Axis::User, users, known.model)?,
            items: folded(given, Axis::Item, items, known.model)?,
        })
    }

    /// The factors of all items: those of the model, then the new ones.
    #[must_use]
    pub fn item_factors(&self, model: &Model) -> Dense {
        let n = model.n_items();
        let rows = n + self.items.factors.len();
        Dense::from_fn(rows, model.n_factors(), |row, f| match row.checked_sub(n) {
            Some(new) => self.items.factors[new][f],
            None => model.item_factors().row(row)[f],
        })
    }

    /// The post-scaling of all items, if the model has one: new ones count their own interactions, and at least one.
    #[must_use]
    pub fn item_scale(&self, model: &Model) -> Option<Vec<f32>> {
        let rho = f64::from(model.params().post_scale);
        let mut scale = model.item_scale()?.to_vec();
        let of = |&count: &u32| f64::from(count.max(1)).powf(rho) as f32;
        scale.extend(self.items.counts.iter().map(of));
        Some(scale)
    }

    /// The number of interactions of all items.
    #[must_use]
    pub fn item_counts(&self, model: &Model) -> Vec<u32> {
        [&model.parts().item_counts[..], &self.items.counts].concat()
    }

    /// The ids of all items.
    ///
    /// # Errors
    /// More ids than can be numbered.
    pub fn all_items(&self, items: &IdMap) -> Result<IdMap, JobError> {
        let mut all = items.clone();
        for id in self.items.ids.iter() {
            all.intern(&id)?;
        }
        Ok(all)
    }

    /// The factors of a user: folded in, or those of the model.
    #[must_use]
    pub fn user_factors<'f>(&'f self, id: &str, known: KnownRows<'f>) -> Option<Cow<'f, [f32]>> {
        if let Some(row) = self.users.ids.get(id) {
            return Some(Cow::Borrowed(&self.users.factors[row as usize]));
        }
        let row = known.users.get(id)? as usize;
        Some(Cow::Owned(known.model.user_factors().row(row).to_vec()))
    }
}

/// Scores of rows of users for all items, new ones included.
pub struct FoldedScores {
    users: Dense,
    items: Dense,
    scale: Option<Vec<f32>>,
}

impl FoldedScores {
    /// Prepares the scores of users, one row of factors each.
    #[must_use]
    pub fn new(users: &[Cow<'_, [f32]>], folded: &Folded, model: &Model) -> Self {
        let k = model.n_factors();
        Self {
            users: Dense::from_fn(users.len(), k, |row, f| users[row][f]),
            items: folded.item_factors(model),
            scale: folded.item_scale(model),
        }
    }

    /// Computes them.
    ///
    /// # Errors
    /// None: the rows fit each other.
    pub fn scorer(&self) -> Result<FactorScorer<'_>, RankError> {
        let scorer = FactorScorer::new(&self.users, &self.items)?;
        match &self.scale {
            Some(scale) => scorer.scaled(scale),
            None => Ok(scorer),
        }
    }
}

/// The factors of ids of one side, in order.
fn folded(
    given: &GivenRows,
    axis: Axis,
    ids: IdMap,
    model: &Model,
) -> Result<FoldedSide, JobError> {
    let names: Vec<String> = ids.iter().map(Cow::into_owned).collect();
    let fold_in = (!names.is_empty()).then(|| model.fold_in(axis));
    let entity = usize::from(axis == Axis::Item);
    let solve = |id: &String| {
        let weights = RowWeights::Frozen;
        let known = known_entries(
            (entity, id),
            given.rows(axis, id),
            &given.attributes,
            &weights,
        );
        fold_in
            .as_ref()
            .map_or_else(|| Ok(Vec::new()), |fold_in| fold_in.solve_related(&known))
    };
    let factors: Result<Vec<Vec<f32>>, _> = names.par_iter().map(solve).collect();
    let counts = names.iter().map(|id| given.rows(axis, id).len() as u32);
    Ok(FoldedSide {
        counts: counts.collect(),
        factors: factors?,
        ids,
    })
}
