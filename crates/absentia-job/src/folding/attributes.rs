//! Attributes of users and items, as entries of the relations that a model has.

use std::collections::HashMap;

use absentia::data::Duplicates;
use absentia::model::{NewEntry, RelatedParts, RowEntries, RowWeights};
use absentia::relations::{FrozenRelation, context_name};
use absentia_io::arrays::FeatureTable;
use absentia_io::{Dataset, IdMap};

use super::{KnownRows, entry_of};
use crate::error::JobError;
use crate::listener::{Event, Listener};
use crate::preparation::merge_repeats;
use crate::related::{RelationRows, RelationTable, cell, is_name, unclear};
use crate::rows::take_log;
use crate::text::RelationSpec;

/// What some things have in one relation, by their ids.
#[derive(Clone, Debug)]
pub struct Attributes {
    /// Number of the relation.
    pub relation: usize,
    /// Number of the type that the ids are of: 0 for users, 1 for items.
    pub entity: usize,
    of: HashMap<String, Vec<NewEntry>>,
}

impl Attributes {
    /// The entries of an id; none if nothing is known of it.
    #[must_use]
    pub fn get(&self, id: &str) -> &[NewEntry] {
        self.of.get(id).map_or(&[], Vec::as_slice)
    }

    /// Every id that has a known attribute.
    pub fn ids(&self) -> impl Iterator<Item = &str> {
        self.of.keys().map(String::as_str)
    }

    /// Takes the attributes of several relations; those that the model does not know are left out.
    ///
    /// # Errors
    /// A relation that the model does not have, or that says nothing about users or items; no attribute that is known;
    /// features other than those of training.
    pub fn all(
        given: Vec<RelationRows>,
        known: KnownRows<'_>,
        listener: &dyn Listener,
    ) -> Result<Vec<Self>, JobError> {
        let of = |one| Self::of(one, known, listener);
        given.into_iter().map(of).collect()
    }

    fn of(
        given: RelationRows,
        known: KnownRows<'_>,
        listener: &dyn Listener,
    ) -> Result<Self, JobError> {
        let (related, at) = relation_of(&given.spec, known)?;
        let relation = &related.relations[at];
        let entity = if relation.first < 2 {
            relation.first
        } else {
            relation.second
        };
        if entity > 1 {
            let relation = given.spec.name();
            return Err(JobError::NothingAbout { relation });
        }
        let of = match (&given.rows, &relation.features) {
            (RelationTable::Features(table), Some(_)) => {
                features(&given.spec, table, (relation, known))?
            }
            (RelationTable::Entries(_), None) => {
                entries(given, (relation, entity), known, listener)?
            }
            (_, features) => {
                return Err(JobError::OtherContent {
                    relation: given.spec.name(),
                    file: given.spec.file,
                    is_dense: features.is_some(),
                });
            }
        };
        Ok(Self {
            relation: at,
            entity,
            of,
        })
    }
}

/// Reads the files of attributes as the model was trained with them: as entries, or as features.
///
/// # Errors
/// Relations that the model does not have, and files that cannot be read.
pub fn read_attributes(
    specs: &[RelationSpec],
    known: KnownRows<'_>,
    listener: &dyn Listener,
) -> Result<Vec<RelationRows>, JobError> {
    let read = |spec: &RelationSpec| {
        let (related, at) = relation_of(spec, known)?;
        let mut spec = spec.clone();
        if related.relations[at].features.is_some() {
            spec.features.get_or_insert_default();
        }
        RelationRows::read(&spec, None, listener)
    };
    specs.iter().map(read).collect()
}

/// The entries of each id; an attribute is known if the model has it.
fn entries(
    given: RelationRows,
    (relation, entity): (&FrozenRelation, usize),
    known: KnownRows<'_>,
    listener: &dyn Listener,
) -> Result<HashMap<String, Vec<NewEntry>>, JobError> {
    let (own, other) = (known.ids(entity), known.ids(relation.other(entity)));
    let is_first = relation.first == entity;
    check_first_lines(&given, is_first, (own, other))?;
    let RelationTable::Entries(mut dataset) = given.rows else {
        return Ok(HashMap::new());
    };
    let mut log = take_log(&mut dataset)?;
    merge_repeats(&mut log, Duplicates::default(), false, listener)?;
    let (mut of, mut unknown) = (HashMap::<String, Vec<NewEntry>>::new(), 0);
    for row in 0..log.len() {
        let pair = (log.user()[row], log.item()[row]);
        let (id, attribute) = names(&dataset, pair, is_first);
        match other.get(&attribute) {
            Some(index) => of.entry(id).or_default().push(entry_of(&log, row, index)),
            None => unknown += 1,
        }
    }
    let file = &given.spec.file;
    if of.is_empty() {
        let file = file.clone();
        return Err(JobError::NoAttributeKnown { file });
    }
    if unknown > 0 {
        listener.event(&Event::UnknownAttributes {
            file,
            left_out: unknown,
            rows: log.len(),
        });
    }
    Ok(of)
}

/// The id of a row's thing, and of its attribute.
fn names(dataset: &Dataset, (first, second): (u32, u32), is_first: bool) -> (String, String) {
    let name = |ids: &IdMap, at| ids.name(at).unwrap_or_default().into_owned();
    let pair = (name(&dataset.users, first), name(&dataset.items, second));
    if is_first { pair } else { (pair.1, pair.0) }
}

/// Rejects a file whose first line was read as a header but contains a known id. A first line read as data is kept only if
/// its attribute is known.
fn check_first_lines(
    given: &RelationRows,
    is_first: bool,
    (own, other): (&IdMap, &IdMap),
) -> Result<(), JobError> {
    let places = if is_first { (0, 1) } else { (1, 0) };
    for line in given.first_lines.iter().filter(|line| line.is_header) {
        let is_known =
            own.get(cell(line, places.0)).is_some() || other.get(cell(line, places.1)).is_some();
        let is_names = line.differs || is_name(&given.spec, line, places.0);
        if (is_known && !is_names) || own.get(cell(line, places.0)).is_some() {
            return Err(unclear(&given.spec, line));
        }
    }
    Ok(())
}

/// Features of users or items: every column that the model was trained with.
fn features(
    spec: &RelationSpec,
    table: &FeatureTable,
    (relation, known): (&FrozenRelation, KnownRows<'_>),
) -> Result<HashMap<String, Vec<NewEntry>>, JobError> {
    let own = known.ids(relation.first);
    if table.ids.is_none() && !own.is_dense() {
        return Err(JobError::FeatureIds {
            file: spec.file.clone(),
            entity: spec.types.first.clone(),
        });
    }
    if let Some(line) = &table.first_line
        && own.get(cell(line, 0)).is_some()
    {
        return Err(unclear(spec, line));
    }
    let columns = places_of_columns(table, known.ids(relation.second), spec)?;
    let entries = |row: usize| -> Vec<NewEntry> {
        let numbers = table.values.row(row).iter().zip(&columns);
        numbers
            .map(|(x, &column)| NewEntry::new(column).value(*x))
            .collect()
    };
    let rows = 0..table.values.rows();
    Ok(rows.map(|row| (table.id(row), entries(row))).collect())
}

/// The place of each column of a table among those that the model was trained with.
fn places_of_columns(
    table: &FeatureTable,
    known: &IdMap,
    spec: &RelationSpec,
) -> Result<Vec<u32>, JobError> {
    const SHOWN: usize = 5;
    let places: Option<Vec<u32>> = table.columns.iter().map(|name| known.get(name)).collect();
    let places = places.filter(|places| places.len() == known.len());
    places.ok_or_else(|| {
        let names = known.iter().take(SHOWN).collect::<Vec<_>>();
        JobError::FeatureColumns {
            file: spec.file.clone(),
            got: table.columns.len(),
            expected: known.len(),
            names: names.join(", "),
        }
    })
}

/// The relations of a model, and the number of the one that is named.
fn relation_of<'m>(
    spec: &RelationSpec,
    known: KnownRows<'m>,
) -> Result<(&'m RelatedParts, usize), JobError> {
    let related = known.model.related().ok_or(JobError::NoRelations)?;
    let (first, second) = (&spec.types.first, &spec.types.second);
    let is_it = |relation: &FrozenRelation| {
        let name = |entity: usize| &related.entities[entity].name;
        let second_name = name(relation.second);
        name(relation.first) == first
            && (second_name == second || *second_name == context_name(second, first))
    };
    let found = related.relations.iter().position(is_it);
    let at = found.ok_or_else(|| {
        let names: Vec<String> = related.relations.iter().map(|r| related.name(r)).collect();
        JobError::NoSuchRelation {
            relation: spec.name(),
            known: names.join(", "),
        }
    })?;
    Ok((related, at))
}

/// What is known of a row: its interactions, and its attributes in each relation of its type.
#[must_use]
pub fn known_entries<'k>(
    (entity, id): (usize, &str),
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
