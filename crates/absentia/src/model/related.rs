//! What a model of several relations has beside its users and items.

use super::{Factors, Model, ModelError};
use crate::error::Axis;
use crate::linalg::Dense;
use crate::relations::{ComposedParts, Entity, FrozenRelation, Layout};
use crate::sides::Sides;

/// The types and relations beside users, items and the main relation.
#[derive(Clone, Debug, PartialEq)]
pub struct RelatedParts {
    /// All types: users and items first.
    pub entities: Vec<Entity>,
    /// Factors of the types from the third on, as trained.
    pub factors: Vec<Factors>,
    /// The relations beside the main one.
    pub relations: Vec<FrozenRelation>,
}

impl RelatedParts {
    /// Divides stacked factors into those of users and items, and the rest.
    pub(crate) fn split(
        composed: &ComposedParts,
        factors: &Sides<Factors>,
    ) -> (Sides<Factors>, Self) {
        let part = |entity: usize| {
            let axis = composed.entities[entity].axis;
            factors[axis].part(composed.layout.rows(entity))
        };
        let related = Self {
            entities: composed.entities.clone(),
            factors: (2..composed.entities.len()).map(part).collect(),
            relations: composed.relations.clone(),
        };
        let main = Sides {
            users: part(0),
            items: part(1),
        };
        (main, related)
    }

    /// The number of a type.
    #[must_use]
    pub fn entity(&self, name: &str) -> Option<usize> {
        self.entities.iter().position(|entity| entity.name == name)
    }

    /// The name of a relation: its two types.
    #[must_use]
    pub fn name(&self, relation: &FrozenRelation) -> String {
        let name = |entity: usize| &self.entities[entity].name;
        format!("{}-{}", name(relation.first), name(relation.second))
    }

    /// Rejects parts that do not fit each other, or the users and items.
    pub(super) fn check(&self, users: usize, items: usize, k: usize) -> Result<(), ModelError> {
        let shape = |what, expected, got| {
            if expected == got {
                Ok(())
            } else {
                Err(ModelError::Shape {
                    what,
                    expected,
                    got,
                })
            }
        };
        shape(
            "types of relations",
            self.entities.len(),
            self.factors.len() + 2,
        )?;
        let sides = [(0, users, Axis::User), (1, items, Axis::Item)];
        for (at, count, axis) in sides {
            shape(
                "users or items of relations",
                count,
                self.entities[at].count,
            )?;
            let is_there = usize::from(self.entities[at].axis == axis);
            shape("sides of users and items", 1, is_there)?;
        }
        for (entity, factors) in self.entities[2..].iter().zip(&self.factors) {
            shape("rows of a type", entity.count, factors.rows())?;
            shape("columns of the factors of a type", k, factors.cols())?;
            let is_finite = |row: usize| factors.row(row).iter().all(|x| x.is_finite());
            if let Some(row) = (0..factors.rows()).find(|&row| !is_finite(row)) {
                let axis = entity.axis;
                return Err(ModelError::NotFinite { axis, row });
            }
        }
        for relation in &self.relations {
            let known = |at: usize| self.entities.get(at);
            let (Some(first), Some(second)) = (known(relation.first), known(relation.second))
            else {
                let got = relation.first.max(relation.second);
                return shape("number of a type", self.entities.len(), got);
            };
            shape(
                "sides of a relation",
                1,
                usize::from(first.axis != second.axis),
            )?;
            shape("first weights", first.count, relation.weights.n_users())?;
            shape("second weights", second.count, relation.weights.n_items())?;
            shape("first counts", first.count, relation.counts.users.len())?;
            shape("second counts", second.count, relation.counts.items.len())?;
            let is_rule = match &relation.features {
                Some(rule) => rule.is_for(second.count) && relation.weights.rank() == 1,
                None => true,
            };
            shape("rules of features", 1, usize::from(is_rule))?;
            let is_strength = relation.strength.is_finite() && relation.strength >= 0.0;
            shape("strengths", 1, usize::from(is_strength))?;
        }
        Ok(())
    }
}

impl Model {
    /// The types and relations beside users, items and the main relation, if it was trained with any.
    #[must_use]
    pub fn related(&self) -> Option<&RelatedParts> {
        self.parts().related.as_deref()
    }

    /// The factors of a type: 0 is the users, 1 the items.
    #[must_use]
    pub fn entity_factors(&self, entity: usize) -> Option<&Factors> {
        match entity {
            0 => Some(self.user_factors()),
            1 => Some(self.item_factors()),
            _ => self.related()?.factors.get(entity - 2),
        }
    }

    /// The factors of all types of a side, in the order of the matrix they were trained on.
    #[must_use]
    pub fn stacked_factors(&self, axis: Axis) -> Factors {
        let main = match axis {
            Axis::User => self.user_factors(),
            Axis::Item => self.item_factors(),
        };
        let Some(related) = self.related() else {
            return main.clone();
        };
        let layout = Layout::of(&related.entities);
        let mut all = Dense::padded(layout.total(axis), main.cols());
        for (at, entity) in related.entities.iter().enumerate() {
            let Some(factors) = self.entity_factors(at).filter(|_| entity.axis == axis) else {
                continue;
            };
            for (row, to) in layout.rows(at).enumerate() {
                all.row_mut(to).copy_from_slice(factors.row(row));
            }
        }
        all.into()
    }

    /// Yields the model with other factors for all types, in the order of
    /// [`stacked_factors`](Self::stacked_factors).
    ///
    /// # Errors
    /// Factors of another shape, or that are not finite.
    pub fn with_stacked_factors(&self, factors: &Sides<Factors>) -> Result<Self, ModelError> {
        let mut parts = self.parts().clone();
        let Some(related) = self.related() else {
            parts.user_factors = factors.users.clone();
            parts.item_factors = factors.items.clone();
            return Self::from_parts(parts);
        };
        let layout = Layout::of(&related.entities);
        for axis in [Axis::User, Axis::Item] {
            let (expected, got) = (layout.total(axis), factors[axis].rows());
            if expected != got {
                return Err(ModelError::Shape {
                    what: "rows of the factors",
                    expected,
                    got,
                });
            }
        }
        let part = |at: usize| factors[related.entities[at].axis].part(layout.rows(at));
        parts.user_factors = part(0);
        parts.item_factors = part(1);
        let mut related = related.clone();
        related.factors = (2..related.entities.len()).map(part).collect();
        parts.related = Some(related.into());
        Self::from_parts(parts)
    }
}
