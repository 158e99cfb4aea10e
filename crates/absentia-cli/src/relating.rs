//! Attributes of users and items from files, as entries of the relations that a model has.

use std::collections::HashMap;

use absentia::model::{NewEntry, RelatedParts, RowEntries, RowWeights};
use absentia::relations::{FrozenRelation, context_name};
use absentia_io::IdMap;
use absentia_io::arrays::FeatureTable;
use absentia_job::text::RelationSpec;
use absentia_job::{read_relation, read_relation_features};
use anyhow::Result;

use crate::failure::Refusal;
use crate::store::Stored;
use crate::ui::Ui;

/// What some things have in one relation, by their ids.
pub(crate) struct Attributes {
    /// Number of the relation.
    pub(crate) relation: usize,
    /// Number of the type that the ids are of: 0 for users, 1 for items.
    pub(crate) entity: usize,
    of: HashMap<String, Vec<NewEntry>>,
}

impl Attributes {
    /// The entries of an id; none if it is not in the file.
    pub(crate) fn get(&self, id: &str) -> &[NewEntry] {
        self.of.get(id).map_or(&[], Vec::as_slice)
    }

    /// Every id of the file that has a known attribute.
    pub(crate) fn ids(&self) -> impl Iterator<Item = &str> {
        self.of.keys().map(String::as_str)
    }

    /// Reads files of users and items; attributes that the model does not know are left out.
    pub(crate) fn read_all(specs: &[RelationSpec], stored: &Stored, ui: &Ui) -> Result<Vec<Self>> {
        let read = |spec| Self::read(spec, stored, ui);
        specs.iter().map(read).collect()
    }

    fn read(spec: &RelationSpec, stored: &Stored, ui: &Ui) -> Result<Self> {
        let (related, at) = relation_of(spec, stored)?;
        let relation = &related.relations[at];
        if relation.features.is_some() {
            return Self::features(spec, at, stored);
        }
        let dataset = read_relation(spec, None, ui)?;
        let is_first = relation.first < 2;
        let entity = if is_first {
            relation.first
        } else {
            relation.second
        };
        if entity > 1 {
            let message = format!("{} says nothing about users or items", spec.name());
            return Err(Refusal::usage(message).into());
        }
        let other = ids_of(stored, relation.other(entity));
        let (own_ids, other_ids) = if is_first {
            (&dataset.users, &dataset.items)
        } else {
            (&dataset.items, &dataset.users)
        };
        let (mut of, mut unknown) = (HashMap::<String, Vec<NewEntry>>::new(), 0);
        for (row, (&first, &second)) in dataset.user.iter().zip(&dataset.item).enumerate() {
            let (own, known) = if is_first {
                (first, second)
            } else {
                (second, first)
            };
            let attribute = other_ids.name(known).and_then(|name| other.get(&name));
            let (Some(own), Some(index)) = (own_ids.name(own), attribute) else {
                unknown += 1;
                continue;
            };
            let entries = of.entry(own.into_owned()).or_default();
            if entries.iter().any(|entry| entry.index == index) {
                continue;
            }
            let mut entry = NewEntry::new(index);
            if let Some(values) = &dataset.value {
                entry.value = values[row];
            }
            if let Some(weights) = &dataset.weight {
                entry.weight = weights[row];
            }
            entries.push(entry);
        }
        if unknown > 0 {
            let (name, rows) = (&spec.file, dataset.len());
            ui.warn(format!(
                "{name}: left out {unknown} of {rows} rows whose attribute the model does not know"
            ));
        }
        if of.is_empty() {
            let refusal = Refusal::data(format!("{}: no attribute is known", spec.file));
            return Err(refusal
                .hint("check that the ids are those of the file it was trained with")
                .into());
        }
        Ok(Self {
            relation: at,
            entity,
            of,
        })
    }
}

impl Attributes {
    /// Reads features of users or items: every column that the model was trained with.
    fn features(spec: &RelationSpec, at: usize, stored: &Stored) -> Result<Self> {
        let (related, _) = relation_of(spec, stored)?;
        let relation = &related.relations[at];
        let table = read_relation_features(spec)?;
        if relation.first > 1 {
            let message = format!("{} says nothing about users or items", spec.name());
            return Err(Refusal::usage(message).into());
        }
        if table.ids.is_none() && !ids_of(stored, relation.first).is_dense() {
            let message = format!(
                "{} is an array by position, but ids are not row numbers",
                spec.file
            );
            let refusal = Refusal::data(message);
            return Err(refusal
                .hint("name a file with the id of each row: ids=FILE")
                .into());
        }
        let columns = places_of_columns(&table, ids_of(stored, relation.second), spec)?;
        let entries = |row: usize| -> Vec<NewEntry> {
            let numbers = table.values.row(row).iter().zip(&columns);
            numbers
                .map(|(x, &column)| NewEntry::new(column).value(*x))
                .collect()
        };
        let rows = 0..table.values.rows();
        Ok(Self {
            relation: at,
            entity: relation.first,
            of: rows.map(|row| (table.id(row), entries(row))).collect(),
        })
    }
}

/// The place of each column of a table among those that the model was trained with.
fn places_of_columns(table: &FeatureTable, known: &IdMap, spec: &RelationSpec) -> Result<Vec<u32>> {
    let places: Option<Vec<u32>> = table.columns.iter().map(|name| known.get(name)).collect();
    places
        .filter(|places| places.len() == known.len())
        .ok_or_else(|| {
            let message = format!(
                "{}: its {} columns are not the {} that the model was trained with",
                spec.file,
                table.columns.len(),
                known.len()
            );
            let names: Vec<_> = known
                .iter()
                .take(5)
                .map(std::borrow::Cow::into_owned)
                .collect();
            Refusal::data(message)
                .hint(format!(
                    "the model has the columns {} ...",
                    names.join(", ")
                ))
                .into()
        })
}

/// The relations of a model, and the number of the one that is named.
fn relation_of<'s>(spec: &RelationSpec, stored: &'s Stored) -> Result<(&'s RelatedParts, usize)> {
    let Some(related) = stored.model.related() else {
        let refusal = Refusal::usage("the model was trained without relations");
        return Err(refusal
            .hint("train it with --relation, as in items-tags:tags.csv")
            .into());
    };
    let (first, second) = (&spec.types.first, &spec.types.second);
    let is_it = |relation: &FrozenRelation| {
        let name = |entity: usize| &related.entities[entity].name;
        let second_name = name(relation.second);
        name(relation.first) == first
            && (second_name == second || *second_name == context_name(second, first))
    };
    let Some(at) = related.relations.iter().position(is_it) else {
        let names: Vec<String> = related.relations.iter().map(|r| related.name(r)).collect();
        let refusal = Refusal::usage(format!("the model has no relation {}", spec.name()));
        return Err(refusal.hint(format!("it has {}", names.join(", "))).into());
    };
    Ok((related, at))
}

/// The ids of a type.
pub(crate) fn ids_of(stored: &Stored, entity: usize) -> &IdMap {
    match entity {
        0 => &stored.users,
        1 => &stored.items,
        _ => &stored.related[entity - 2],
    }
}

/// What is known of a row: its interactions, and its attributes in each file about its type.
pub(crate) fn known<'k>(
    entity: usize,
    id: &str,
    main: &'k [NewEntry],
    attributes: &'k [Attributes],
    weights: &'k RowWeights,
) -> Vec<RowEntries<'k>> {
    let mut known = vec![RowEntries {
        relation: None,
        entries: main,
        weights,
    }];
    for one in attributes.iter().filter(|one| one.entity == entity) {
        known.push(RowEntries {
            relation: Some(one.relation),
            entries: one.get(id),
            weights,
        });
    }
    known
}
