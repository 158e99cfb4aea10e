//! Relations of a run beside its main one: their files, their ids, and the blocks they become.

mod build;
mod shared_ids;

use absentia::relations::{Arrangement, Content, Relation, Relations};
use absentia_io::arrays::{Arrays, FeatureOptions, FeatureTable, read_features};
use absentia_io::{ColumnRef, Dataset, FirstLine, IdMap, expand};

use build::{drop_rare, entries, features};
use shared_ids::SharedIds;
pub(crate) use shared_ids::{cell, is_name, unclear};

use crate::error::JobError;
use crate::files::read_first_lines;
use crate::job::Job;
use crate::listener::{Event, Listener};
use crate::reading::Reading;
use crate::rows::Rows;
use crate::text::RelationSpec;

/// A relation whose rows are in memory: its "users" are the first type, its "items" the second.
#[derive(Clone, Debug)]
pub struct RelationRows {
    /// What is to be made of it.
    pub spec: RelationSpec,
    /// What it holds.
    pub rows: RelationTable,
    /// The first lines of its files of which nobody said whether they name the columns.
    pub(crate) first_lines: Vec<FirstLine>,
}

/// What a relation holds, by its own ids.
#[derive(Clone, Debug)]
pub enum RelationTable {
    /// Some entries.
    Entries(Box<Dataset>),
    /// A number for every column.
    Features(FeatureTable),
}

/// Relations with the ids of the types that they add.
#[derive(Clone, Debug)]
pub struct RelatedData {
    /// The relations.
    pub relations: Relations<'static>,
    /// Ids of the types from the third on.
    pub ids: Vec<IdMap>,
}

impl Job {
    /// Reads the files of the relations.
    ///
    /// # Errors
    /// Files that cannot be read.
    pub fn read_relations(&self, listener: &dyn Listener) -> Result<Vec<RelationRows>, JobError> {
        let read = |spec: &RelationSpec| RelationRows::read(spec, self.reading.skip_bad, listener);
        self.relation.iter().map(read).collect()
    }
}

impl RelationRows {
    /// Reads the file of a relation.
    ///
    /// # Errors
    /// A file that cannot be read.
    pub fn read(
        spec: &RelationSpec,
        skip_bad: Option<u64>,
        listener: &dyn Listener,
    ) -> Result<Self, JobError> {
        if spec.features.is_some() {
            let table = read_relation_features(spec)?;
            return Ok(Self::in_memory(
                spec.clone(),
                RelationTable::Features(table),
            ));
        }
        let (mut dataset, mut first_lines) = read_relation(spec, spec.header, skip_bad, listener)?;
        let are_names = |line: &FirstLine| (0..2).all(|place| is_name(spec, line, place));
        if first_lines.iter().any(|line| !line.is_header) && first_lines.iter().all(are_names) {
            dataset = read_relation(spec, Some(true), skip_bad, listener)?.0;
            for line in &mut first_lines {
                line.is_header = true;
            }
        }
        let rows = RelationTable::Entries(Box::new(dataset));
        Ok(Self {
            first_lines,
            ..Self::in_memory(spec.clone(), rows)
        })
    }

    /// A relation whose columns are known.
    #[must_use]
    pub fn in_memory(spec: RelationSpec, rows: RelationTable) -> Self {
        Self {
            spec,
            rows,
            first_lines: Vec::new(),
        }
    }
}

impl Rows {
    /// Adds the ids of relations behind those of the rows, in their own order, and builds the relations; nothing if
    /// none are given.
    ///
    /// # Errors
    /// Relations that do not fit the rows or each other.
    pub fn relate(
        &mut self,
        given: Vec<RelationRows>,
        listener: &dyn Listener,
    ) -> Result<Option<RelatedData>, JobError> {
        relate(self, given, listener)
    }
}

/// Reads a file of pairs: the first two columns, and values or weights if their headings say so.
///
/// # Errors
/// A file that cannot be read.
fn read_relation(
    spec: &RelationSpec,
    header: Option<bool>,
    skip_bad: Option<u64>,
    listener: &dyn Listener,
) -> Result<(Dataset, Vec<FirstLine>), JobError> {
    let column = |at: usize| Some(ColumnRef::Position(at));
    let reading = Reading {
        user_col: column(1),
        item_col: column(2),
        header: header == Some(true),
        no_header: header == Some(false),
        skip_bad,
        ..Reading::default()
    };
    let paths = expand(std::slice::from_ref(&spec.file))?;
    read_first_lines(&paths, &reading, listener)
}

/// Reads a file of features.
///
/// # Errors
/// A file that cannot be read, or that may be read in two ways.
fn read_relation_features(spec: &RelationSpec) -> Result<FeatureTable, JobError> {
    let ids = spec.features.as_ref().and_then(|one| one.ids.as_deref());
    let options = FeatureOptions {
        ids: ids.map(AsRef::as_ref),
        header: spec.header,
    };
    Ok(read_features(spec.file.as_ref(), options)?)
}

/// A relation whose ids have rows among those of its types.
struct Numbered {
    spec: RelationSpec,
    rows: RelationTable,
    /// Each type with the row of each of the relation's own ids, before types are sorted.
    ends: [(usize, Vec<u32>); 2],
}

fn relate(
    rows: &mut Rows,
    given: Vec<RelationRows>,
    listener: &dyn Listener,
) -> Result<Option<RelatedData>, JobError> {
    if given.is_empty() {
        return Ok(None);
    }
    let types: Vec<_> = given.iter().map(|one| one.spec.types.clone()).collect();
    let arranged = Arrangement::of(&types)?;
    let mut entities = arranged.entities;
    let mut ids: Vec<IdMap> = vec![IdMap::new(); entities.len()];
    let (users, items) = rows.take_ids();
    let main = [users.len(), items.len()];
    (ids[0], ids[1]) = (users, items);
    let mut given: Vec<Option<RelationRows>> = given.into_iter().map(Some).collect();
    let mut numbered: Vec<Option<Numbered>> = given.iter().map(|_| None).collect();
    // Each relation after those that add its types, so that its ids are compared with those of all before it.
    for &at in &arranged.order {
        let Some(one) = given[at].take() else {
            continue;
        };
        let (ends, added) = (arranged.pairs[at], arranged.added[at]);
        if let RelationTable::Features(table) = &one.rows {
            check_features(&one.spec, ends, &arranged.pairs)?;
            check_row_numbers(&one.spec, table, &ids[ends.0])?;
        }
        let shared = SharedIds {
            spec: &one.spec.clone(),
            entities: &entities,
            known: [ids[ends.0].len(), ids[ends.1].len()],
            added,
        };
        shared.check_first_lines(&one, ends, &ids)?;
        let one = number(one, ends, &mut ids)?;
        shared.report(&one.ends, listener)?;
        if let Some(lambda) = one.spec.regularization {
            let added = added.ok_or_else(|| JobError::NothingAdded {
                relation: one.spec.name(),
            })?;
            entities[added].regularization = Some(lambda);
        }
        numbered[at] = Some(one);
    }
    let mut orders = Vec::with_capacity(ids.len());
    for (at, map) in ids.iter_mut().enumerate() {
        orders.push(map.sort_from(main.get(at).copied().unwrap_or(0)));
        entities[at].count = map.len();
    }
    let mut relations = Vec::with_capacity(numbered.len());
    for one in numbered.into_iter().flatten() {
        let sorted = |(entity, rows): &(usize, Vec<u32>)| -> Vec<u32> {
            let order: &Option<Vec<u32>> = &orders[*entity];
            let place = |&row: &u32| match order {
                Some(order) if row != u32::MAX => order[row as usize],
                _ => row,
            };
            rows.iter().map(place).collect()
        };
        let (first, second) = (one.ends[0].0, one.ends[1].0);
        let places = [sorted(&one.ends[0]), sorted(&one.ends[1])];
        let counts = (entities[first].count, entities[second].count);
        let arrays = Arrays {
            users: &ids[first],
            items: &ids[second],
        };
        relations.push(Relation {
            first,
            second,
            strength: one.spec.strength(),
            content: match &one.rows {
                RelationTable::Entries(dataset) => {
                    entries(&one.spec, dataset, &places, counts, &arrays)?
                }
                RelationTable::Features(table) => features(&one.spec, table, &places, counts)?,
            },
        });
    }
    let mut ids = ids.into_iter();
    rows.users = ids.next().unwrap_or_default();
    rows.items = ids.next().unwrap_or_default();
    let related = RelatedData {
        relations: Relations {
            entities,
            relations,
            weighs_empty: false,
        },
        ids: ids.collect(),
    };
    report(&related, listener);
    Ok(Some(related))
}

/// Gives the ids of a relation rows of its types.
fn number(
    one: RelationRows,
    (first, second): (usize, usize),
    ids: &mut [IdMap],
) -> Result<Numbered, JobError> {
    let RelationRows { spec, mut rows, .. } = one;
    let (first_rows, second_rows) = match &mut rows {
        RelationTable::Entries(dataset) => {
            drop_rare(dataset, spec.least);
            let own = std::mem::take(&mut dataset.users);
            let first_rows = interned(&mut ids[first], &own, &dataset.user)?;
            let own = std::mem::take(&mut dataset.items);
            (first_rows, interned(&mut ids[second], &own, &dataset.item)?)
        }
        RelationTable::Features(table) => {
            let rows = 0..table.values.rows();
            let first_rows = rows.map(|row| ids[first].intern(&table.id(row)));
            let first_rows = first_rows.collect::<Result<_, _>>()?;
            let columns = table.columns.iter().map(|name| ids[second].intern(name));
            (first_rows, columns.collect::<Result<_, _>>()?)
        }
    };
    Ok(Numbered {
        spec,
        rows,
        ends: [(first, first_rows), (second, second_rows)],
    })
}

/// Rejects features whose columns are not a type of their own.
fn check_features(
    spec: &RelationSpec,
    (first, second): (usize, usize),
    pairs: &[(usize, usize)],
) -> Result<(), JobError> {
    let uses = pairs
        .iter()
        .filter(|pair| pair.0 == second || pair.1 == second);
    if second > 1 && uses.count() == 1 && first != second {
        return Ok(());
    }
    Err(JobError::FeatureType {
        relation: spec.name(),
        entity: spec.types.second.clone(),
    })
}

/// Rejects an array by position for ids that are not row numbers.
fn check_row_numbers(
    spec: &RelationSpec,
    table: &FeatureTable,
    ids: &IdMap,
) -> Result<(), JobError> {
    if table.ids.is_some() || ids.is_dense() {
        return Ok(());
    }
    Err(JobError::FeatureIds {
        file: spec.file.clone(),
        entity: spec.types.first.clone(),
    })
}

/// The row that each own id has in a map, which gets those that are new; ids without a row in the file get none.
fn interned(map: &mut IdMap, own: &IdMap, used: &[u32]) -> Result<Vec<u32>, JobError> {
    let mut rows = vec![u32::MAX; own.len()];
    for &at in used {
        if rows[at as usize] == u32::MAX
            && let Some(name) = own.name(at)
        {
            rows[at as usize] = map.intern(&name)?;
        }
    }
    Ok(rows)
}

/// Says what the relations hold.
fn report(related: &RelatedData, listener: &dyn Listener) {
    for relation in &related.relations.relations {
        let some = |counts: Vec<u32>| counts.iter().filter(|&&count| count > 0).count();
        let (entries, shape) = match &relation.content {
            Content::Entries(entries) => {
                let data = &entries.data;
                let shape = (some(data.user_counts()), some(data.item_counts()));
                (data.len(), shape)
            }
            Content::Features(features) => {
                let known = features.known().iter().filter(|known| **known).count();
                let columns = features.targets().cols();
                (known * columns, (known, columns))
            }
        };
        let is_dense = matches!(relation.content, Content::Features(_));
        listener.event(&Event::Related {
            relation: &related.relations.name(relation),
            entries,
            shape,
            columns: is_dense.then(|| first_names(&related.ids[relation.second - 2])),
        });
    }
}

/// Names of columns, so that headings which were read as a row, or the other way round, are seen.
fn first_names(columns: &IdMap) -> String {
    const SHOWN: usize = 5;
    let names: Vec<_> = columns.iter().take(SHOWN).collect();
    let more = if columns.len() > SHOWN { ", …" } else { "" };
    format!("{}{more}", names.join(", "))
}
