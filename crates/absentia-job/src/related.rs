//! Relations of a run beside its main one: their files, their ids, and the blocks they become.

use absentia::Triplets;
use absentia::data::{DataError, Duplicates};
use absentia::relations::{Arrangement, ITEMS, Relation, Relations, USERS};
use absentia_io::arrays::Arrays;
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
    /// Its rows.
    pub dataset: Dataset,
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
        Ok(Self {
            dataset: read_relation(&spec.file, skip_bad, listener)?,
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
    file: &str,
    skip_bad: Option<u64>,
    listener: &dyn Listener,
) -> Result<Dataset, JobError> {
    let column = |at: usize| Some(ColumnRef::Position(at));
    let reading = Reading {
        user_col: column(1),
        item_col: column(2),
        skip_bad,
        ..Reading::default()
    };
    read_files(&[file.to_owned()], &reading, listener)
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
        let RelationRows { spec, mut dataset } = one;
        drop_rare(&mut dataset, spec.least);
        let own = std::mem::take(&mut dataset.users);
        let first_rows = interned(&mut ids[first], &own, &dataset.user)?;
        report_meeting((&spec, first), (&first_rows, &main), listener)?;
        let own = std::mem::take(&mut dataset.items);
        let second_rows = interned(&mut ids[second], &own, &dataset.item)?;
        report_meeting((&spec, second), (&second_rows, &main), listener)?;
        if let Some(lambda) = spec.regularization {
            let added = if second > 1 { second } else { first };
            entities[added].regularization = Some(lambda);
        }
        numbered.push((spec, dataset, (first, first_rows), (second, second_rows)));
    }
    let mut orders = Vec::with_capacity(ids.len());
    for (at, map) in ids.iter_mut().enumerate() {
        orders.push(map.sort_from(main.get(at).copied().unwrap_or(0)));
        entities[at].count = map.len();
    }
    let mut relations = Vec::with_capacity(numbered.len());
    for (spec, dataset, (first, first_rows), (second, second_rows)) in numbered {
        let row = |entity: usize, rows: &[u32], at: u32| {
            let row = rows[at as usize];
            let order: &Option<Vec<u32>> = &orders[entity];
            order.as_ref().map_or(row, |order| order[row as usize])
        };
        let users: Vec<u32> = dataset
            .user
            .iter()
            .map(|&at| row(first, &first_rows, at))
            .collect();
        let items: Vec<u32> = dataset
            .item
            .iter()
            .map(|&at| row(second, &second_rows, at))
            .collect();
        let (rows, columns) = (entities[first].count, entities[second].count);
        let data = built(&dataset, (&users, &items), (rows, columns));
        let data = data.map_err(|source| JobError::RelationData {
            relation: spec.name(),
            source,
        })?;
        let unit = TimeUnit::of_times(data.times());
        relations.push(Relation {
            first,
            second,
            scheme: spec.weights.load(&Arrays {
                users: &ids[first],
                items: &ids[second],
            })?,
            data,
            targets: spec.targets,
            confidence: spec.confidence.in_unit(unit),
            strength: spec.strength,
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
        listener.event(&Event::Related {
            relation: &related.relations.name(relation),
            entries: relation.data.len(),
            shape: (
                some(relation.data.user_counts()),
                some(relation.data.item_counts()),
            ),
        });
    }
}
