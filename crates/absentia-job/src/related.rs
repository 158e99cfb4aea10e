//! Relations of a run beside its main one: their files, their ids, and the blocks they become.

use absentia::data::{DataError, Duplicates};
use absentia::relations::{
    Arrangement, Content, Features, ITEMS, Relation, RelationEntries, RelationError, Relations,
    USERS,
};
use absentia::{Dense, Triplets};
use absentia_io::arrays::{Arrays, FeatureOptions, FeatureTable, read_features};
use absentia_io::time::TimeUnit;
use absentia_io::{ColumnRef, Dataset, IdMap};

use crate::error::JobError;
use crate::files::read_files;
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
        let rows = match &spec.features {
            Some(_) => RelationTable::Features(read_relation_features(spec)?),
            None => RelationTable::Entries(Box::new(read_relation(spec, skip_bad, listener)?)),
        };
        Ok(Self {
            rows,
            spec: spec.clone(),
        })
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
pub fn read_relation(
    spec: &RelationSpec,
    skip_bad: Option<u64>,
    listener: &dyn Listener,
) -> Result<Dataset, JobError> {
    let column = |at: usize| Some(ColumnRef::Position(at));
    let reading = Reading {
        user_col: column(1),
        item_col: column(2),
        header: spec.header == Some(true),
        no_header: spec.header == Some(false),
        skip_bad,
        ..Reading::default()
    };
    read_files(std::slice::from_ref(&spec.file), &reading, listener)
}

/// Reads a file of features.
///
/// # Errors
/// A file that cannot be read, or that may be read in two ways.
pub fn read_relation_features(spec: &RelationSpec) -> Result<FeatureTable, JobError> {
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
    let mut numbered = Vec::with_capacity(given.len());
    for (one, &(first, second)) in given.into_iter().zip(&arranged.pairs) {
        if let RelationTable::Features(table) = &one.rows {
            check_features(&one.spec, (first, second), &arranged.pairs)?;
            check_row_numbers(&one.spec, table, &ids[first])?;
        }
        let one = number(one, (first, second), &mut ids)?;
        for end in &one.ends {
            report_meeting((&one.spec, end.0), (&end.1, &main), listener)?;
        }
        if let Some(lambda) = one.spec.regularization {
            let added = if second > 1 { second } else { first };
            entities[added].regularization = Some(lambda);
        }
        numbered.push(one);
    }
    let mut orders = Vec::with_capacity(ids.len());
    for (at, map) in ids.iter_mut().enumerate() {
        orders.push(map.sort_from(main.get(at).copied().unwrap_or(0)));
        entities[at].count = map.len();
    }
    let mut relations = Vec::with_capacity(numbered.len());
    for one in numbered {
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
    let RelationRows { spec, mut rows } = one;
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

/// The entries of a relation.
fn entries(
    spec: &RelationSpec,
    dataset: &Dataset,
    [first, second]: &[Vec<u32>; 2],
    counts: (usize, usize),
    arrays: &Arrays<'_>,
) -> Result<Content<'static>, JobError> {
    let placed = |places: &[u32], own: &[u32]| -> Vec<u32> {
        own.iter().map(|&at| places[at as usize]).collect()
    };
    let (users, items) = (placed(first, &dataset.user), placed(second, &dataset.item));
    let data = built(dataset, (&users, &items), counts);
    let data = data.map_err(|source| JobError::RelationData {
        relation: spec.name(),
        source,
    })?;
    let unit = TimeUnit::of_times(data.times());
    Ok(Content::Entries(Box::new(RelationEntries {
        scheme: spec.weights().load(arrays)?,
        data,
        targets: spec.targets(),
        confidence: spec.confidence.in_unit(unit),
    })))
}

/// The features of a relation, in the order of the rows and columns of its types.
fn features(
    spec: &RelationSpec,
    table: &FeatureTable,
    [first, second]: &[Vec<u32>; 2],
    (rows, columns): (usize, usize),
) -> Result<Content<'static>, JobError> {
    let mut values = Dense::zeros(rows, columns);
    let mut known = vec![false; rows];
    for (row, &to) in first.iter().enumerate() {
        known[to as usize] = true;
        let line = values.row_mut(to as usize);
        for (x, &column) in table.values.row(row).iter().zip(second) {
            line[column as usize] = *x;
        }
    }
    let scaling = spec
        .features
        .as_ref()
        .map(|one| one.scaling)
        .unwrap_or_default();
    let features = Features::new(&values, known, scaling);
    Ok(Content::Features(features.map_err(|source| {
        RelationError::Features {
            relation: spec.name(),
            source,
        }
    })?))
}

/// The matrix of a relation.
fn built(
    dataset: &Dataset,
    (users, items): (&[u32], &[u32]),
    (rows, columns): (usize, usize),
) -> Result<absentia::Interactions<'static>, DataError> {
    let mut triplets = Triplets::new(users, items);
    if let Some(values) = &dataset.value {
        triplets = triplets.values(values);
    }
    if let Some(weights) = &dataset.weight {
        triplets = triplets.weights(weights);
    }
    if let Some(times) = &dataset.time {
        triplets = triplets.times(times);
    }
    triplets.build(rows, columns, Duplicates::default())
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

/// Leaves out what occurs in fewer rows than `least`.
fn drop_rare(dataset: &mut Dataset, least: u32) {
    if least < 2 {
        return;
    }
    let mut counts = vec![0_u32; dataset.items.len()];
    for &item in &dataset.item {
        counts[item as usize] += 1;
    }
    let keep: Vec<bool> = dataset
        .item
        .iter()
        .map(|&item| counts[item as usize] >= least)
        .collect();
    let mut at = keep.iter();
    dataset
        .user
        .retain(|_| at.next().copied().unwrap_or_default());
    let mut at = keep.iter();
    dataset
        .item
        .retain(|_| at.next().copied().unwrap_or_default());
    for column in [&mut dataset.value, &mut dataset.weight]
        .into_iter()
        .flatten()
    {
        let mut at = keep.iter();
        column.retain(|_| at.next().copied().unwrap_or_default());
    }
    if let Some(times) = &mut dataset.time {
        let mut at = keep.iter();
        times.retain(|_| at.next().copied().unwrap_or_default());
    }
}

/// Rejects a relation none of whose users, or items, the main one has, and reports one with few of them.
fn report_meeting(
    (spec, entity): (&RelationSpec, usize),
    (rows, main): (&[u32], &[usize; 2]),
    listener: &dyn Listener,
) -> Result<(), JobError> {
    let Some(&known) = main.get(entity) else {
        return Ok(());
    };
    let entity = if entity == 0 { USERS } else { ITEMS };
    let used = rows.iter().filter(|&&row| row != u32::MAX);
    let (mut of, mut met) = (0, 0);
    for &row in used {
        of += 1;
        met += usize::from((row as usize) < known);
    }
    if met == 0 {
        return Err(JobError::NothingMet {
            relation: spec.name(),
            file: spec.file.clone(),
            entity,
        });
    }
    if 2 * met < of {
        listener.event(&Event::FewMet {
            relation: &spec.name(),
            entity,
            met,
            of,
        });
    }
    Ok(())
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
