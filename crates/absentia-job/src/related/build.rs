//! The matrices of relations, by the rows of their types.

use absentia::data::{DataError, Duplicates};
use absentia::relations::{Content, Features, RelationEntries, RelationError};
use absentia::{Dense, Triplets};
use absentia_io::Dataset;
use absentia_io::arrays::{Arrays, FeatureTable};
use absentia_io::time::TimeUnit;

use crate::error::JobError;
use crate::text::RelationSpec;

/// The entries of a relation.
pub(super) fn entries(
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
pub(super) fn features(
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

/// Leaves out what occurs in fewer rows than `least`.
pub(super) fn drop_rare(dataset: &mut Dataset, least: u32) {
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
