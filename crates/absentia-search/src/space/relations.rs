//! Settings of relations: what a search may change of them, and what a point says of each.

use absentia::data::Targets;
use absentia::relations::{Content, Relation};
use absentia::weights::{Scheme, SchemeSpec};

use super::dimension::{Dimension, Range};

/// Which settings of a relation are searched.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SearchedRelation {
    /// Its name, as reports show it.
    pub name: String,
    /// Whether its strength is.
    pub strength: bool,
    /// Whether the weight on its missing entries is.
    pub weights: bool,
    /// Whether its targets are.
    pub targets: bool,
}

/// Settings of a relation, as far as they are searched.
#[derive(Clone, Copy, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct RelationSettings {
    /// What all its weights are multiplied by.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub strength: Option<f32>,
    /// The weight on its missing entries.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub weight: Option<f32>,
    /// Its targets.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub targets: Option<Targets>,
}

impl RelationSettings {
    /// The weights on missing entries as they are written, if they are searched.
    #[must_use]
    pub fn weights(&self) -> Option<SchemeSpec> {
        self.weight.map(SchemeSpec::uniform)
    }

    /// Gives a relation these settings.
    pub fn apply(&self, relation: &mut Relation<'_>) {
        if let Some(strength) = self.strength {
            relation.strength = strength;
        }
        let Content::Entries(entries) = &mut relation.content else {
            return;
        };
        if let Some(weight) = self.weight {
            entries.scheme = Scheme::uniform(weight);
        }
        if let Some(targets) = self.targets {
            entries.targets = targets;
        }
    }
}

impl SearchedRelation {
    /// The axes of its settings.
    pub(super) fn dimensions(&self) -> Vec<Dimension> {
        let log = |low, high| Range::Log { low, high };
        let exponent = Range::Switch {
            off: 0.0,
            share: 0.4,
            low: 0.0,
            high: 0.4,
        };
        let all = [
            (self.strength, self.strength_axis(), log(0.05, 5.0)),
            (self.weights, self.weight_axis(), log(1e-3, 0.3)),
            (self.targets, self.exponent_axis(), exponent),
        ];
        let searched = all.into_iter().filter(|(is_searched, ..)| *is_searched);
        let dimension = |(_, name, range)| Dimension::new(name, range);
        searched.map(dimension).collect()
    }

    /// What values say of the settings; `value` yields that of an axis.
    pub(super) fn settings(&self, value: impl Fn(&str) -> Option<f64>) -> RelationSettings {
        let number = |name: String| value(&name).map(|value| value as f32);
        let targets = |exponent: f32| match exponent {
            0.0 => Targets::Binary,
            exponent => Targets::Normalized {
                user: exponent,
                item: exponent,
            },
        };
        RelationSettings {
            strength: number(self.strength_axis()),
            weight: number(self.weight_axis()),
            targets: number(self.exponent_axis()).map(targets),
        }
    }

    fn strength_axis(&self) -> String {
        format!("strength of {}", self.name)
    }

    fn weight_axis(&self) -> String {
        format!("weight on missing {}", self.name)
    }

    fn exponent_axis(&self) -> String {
        format!("target exponent of {}", self.name)
    }
}
