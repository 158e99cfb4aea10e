//! Relations beside the main one: types and rules as text, factors, weights, counts and ids as tensors.

use std::path::Path;
use std::sync::Arc;

use absentia::data::FrozenTransform;
use absentia::model::RelatedParts;
use absentia::relations::{Entity, FeatureRule, FrozenRelation};
use absentia::weights::{Frozen, MissingWeights};
use absentia::{Model, Sides};
use serde::{Deserialize, Serialize};

use super::error::ModelFileError;
use super::ids;
use super::opened::Opened;
use super::save::text_of;
use super::tensor::Tensor;
use crate::error::Error;
use crate::ids::IdMap;

/// Name of the tensor that holds the text.
pub(super) const RELATIONS: &str = "relations";

/// Types and relations as text.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Description {
    entities: Vec<Entity>,
    relations: Vec<Rule>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Rule {
    first: usize,
    second: usize,
    strength: f32,
    transform: FrozenTransform,
    weights: Frozen,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    features: Option<FeatureRule>,
}

impl Description {
    fn of(related: &RelatedParts) -> Self {
        let rule = |relation: &FrozenRelation| Rule {
            first: relation.first,
            second: relation.second,
            strength: relation.strength,
            transform: relation.transform,
            weights: relation.weights.frozen().clone(),
            features: relation.features.clone(),
        };
        Self {
            entities: related.entities.clone(),
            relations: related.relations.iter().map(rule).collect(),
        }
    }

    /// What a file says of its relations: names and sizes of the types, and of each relation its name, strength,
    /// weights.
    pub(super) fn info(self) -> RelationsInfo {
        let name = |at: usize| self.entities.get(at).map_or("?", |e| &e.name[..]);
        let relation = |rule: &Rule| RelationInfo {
            name: format!("{}-{}", name(rule.first), name(rule.second)),
            strength: rule.strength,
            weights: rule.weights.to_string(),
            features: rule.features.as_ref().map(|rule| rule.means.len()),
        };
        RelationsInfo {
            relations: self.relations.iter().map(relation).collect(),
            entities: self.entities,
        }
    }
}

/// What a model file says of its relations.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RelationsInfo {
    /// All types: users and items first.
    pub entities: Vec<Entity>,
    /// The relations beside the main one.
    pub relations: Vec<RelationInfo>,
}

/// One relation.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RelationInfo {
    /// Its two types.
    pub name: String,
    /// What its weights are multiplied by.
    pub strength: f32,
    /// Weights on its missing entries.
    pub weights: String,
    /// Number of columns, if it has features.
    pub features: Option<usize>,
}

/// The text of the relations of a model, if it has any.
pub(super) fn text(model: &Model, path: &Path) -> Result<Option<String>, Error> {
    let text = |related| text_of(&Description::of(related), "relations", path);
    model.related().map(text).transpose()
}

pub(super) fn tensors<'a>(
    related: &'a RelatedParts,
    text: &'a str,
    maps: &'a [IdMap],
) -> Vec<Tensor<'a>> {
    let mut tensors = vec![Tensor::list(RELATIONS, text.as_bytes())];
    for (at, (factors, ids)) in related.factors.iter().zip(maps).enumerate() {
        tensors.push(Tensor::rows(factor_name(at), factors));
        tensors.extend(ids::tensors_named(id_names(at), ids));
    }
    for (at, relation) in related.relations.iter().enumerate() {
        let [a, b, users, items] = relation_names(at);
        tensors.push(Tensor::rows(a, relation.weights.a()));
        tensors.push(Tensor::rows(b, relation.weights.b()));
        tensors.push(Tensor::list(users, &relation.counts.users[..]));
        tensors.push(Tensor::list(items, &relation.counts.items[..]));
    }
    tensors
}

/// Relations with the ids of their types.
type LoadedRelations = (Arc<RelatedParts>, Vec<IdMap>);

/// The relations of a file that has some.
pub(super) fn load(opened: &Opened) -> Result<Option<LoadedRelations>, Error> {
    if opened.header.tensor(RELATIONS).is_none() {
        return Ok(None);
    }
    let bytes = opened.list::<u8>(RELATIONS)?;
    let text = std::str::from_utf8(&bytes).map_err(|e| opened.corrupt(e))?;
    let Description {
        entities,
        relations,
    } = opened.parsed(RELATIONS, text)?;
    let added = entities.len().saturating_sub(2);
    let (mut factors, mut maps) = (Vec::new(), Vec::new());
    for at in 0..added {
        let rows = opened.factors(&factor_name(at))?;
        maps.push(ids::load_named(opened, &id_names(at), rows.rows())?);
        factors.push(rows);
    }
    let mut frozen = Vec::new();
    for (at, rule) in relations.into_iter().enumerate() {
        let [a, b, users, items] = relation_names(at);
        let weights =
            MissingWeights::from_parts(opened.dense(&a)?, opened.dense(&b)?, rule.weights);
        frozen.push(FrozenRelation {
            first: rule.first,
            second: rule.second,
            strength: rule.strength,
            transform: rule.transform,
            weights: weights.map_err(|source| ModelFileError::Weights {
                path: opened.path.clone(),
                source,
            })?,
            counts: Sides {
                users: opened.list(&users)?.to_vec(),
                items: opened.list(&items)?.to_vec(),
            },
            features: rule.features,
        });
    }
    let related = RelatedParts {
        entities,
        factors,
        relations: frozen,
    };
    Ok(Some((Arc::new(related), maps)))
}

/// Types are numbered from the third on, as they are in the text.
fn factor_name(at: usize) -> String {
    format!("entity_{}_factors", at + 2)
}

fn id_names(at: usize) -> [String; 3] {
    ["ids", "id_offsets", "id_bytes"].map(|name| format!("entity_{}_{name}", at + 2))
}

fn relation_names(at: usize) -> [String; 4] {
    [
        "first_weights",
        "second_weights",
        "first_counts",
        "second_counts",
    ]
    .map(|name| format!("relation_{at}_{name}"))
}
