//! Ids as tensors: integers, text end to end with offsets, or nothing for row numbers.

use std::borrow::Cow;
use std::path::Path;

use absentia::{Axis, Model};

use super::error::ModelFileError;
use super::opened::Opened;
use super::tensor::Tensor;
use crate::error::Error;
use crate::ids::{IdMap, RawIds};

/// The ids of a model's rows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ids {
    /// One id for each row of the user factors.
    pub users: IdMap,
    /// One id for each row of the item factors.
    pub items: IdMap,
    /// The ids of the types that relations add, in their order.
    pub related: Vec<IdMap>,
}

impl Ids {
    /// Yields ids that are row numbers.
    #[must_use]
    pub fn dense(n_users: u32, n_items: u32) -> Self {
        Self {
            users: IdMap::dense(n_users),
            items: IdMap::dense(n_items),
            related: Vec::new(),
        }
    }

    pub(super) fn get(&self, axis: Axis) -> &IdMap {
        match axis {
            Axis::User => &self.users,
            Axis::Item => &self.items,
        }
    }

    /// Rejects ids that are not one for each row; `path` serves the message.
    pub(super) fn check(&self, model: &Model, path: &Path) -> Result<(), Error> {
        check_count(Axis::User, model.n_users(), &self.users, path)?;
        check_count(Axis::Item, model.n_items(), &self.items, path)?;
        let factors = model
            .related()
            .map_or(&[][..], |related| &related.factors[..]);
        let rows = factors.iter().map(absentia::model::Factors::rows);
        if rows.eq(self.related.iter().map(IdMap::len)) {
            return Ok(());
        }
        Err(ModelFileError::RelatedIds {
            path: path.to_owned(),
        }
        .into())
    }
}

pub(super) fn check_count(
    axis: Axis,
    expected: usize,
    ids: &IdMap,
    path: &Path,
) -> Result<(), Error> {
    if ids.len() == expected {
        return Ok(());
    }
    Err(ModelFileError::IdCount {
        path: path.to_owned(),
        axis,
        expected,
        got: ids.len(),
    }
    .into())
}

/// Names of the tensors of one side: integers, offsets, bytes.
fn names(axis: Axis) -> [&'static str; 3] {
    match axis {
        Axis::User => ["user_ids", "user_id_offsets", "user_id_bytes"],
        Axis::Item => ["item_ids", "item_id_offsets", "item_id_bytes"],
    }
}

pub(super) fn tensors(axis: Axis, ids: &IdMap) -> Vec<Tensor<'_>> {
    tensors_named(names(axis).map(str::to_owned), ids)
}

/// Ids under names of their own: integers, offsets, bytes.
pub(super) fn tensors_named(names: [String; 3], ids: &IdMap) -> Vec<Tensor<'_>> {
    let [integers, offsets_name, bytes_name] = names;
    match ids.raw() {
        RawIds::Dense(_) => Vec::new(),
        RawIds::Integers(ids) => vec![Tensor::list(integers, ids)],
        RawIds::Text { offsets, bytes } => vec![
            Tensor::list(offsets_name, offsets),
            Tensor::list(bytes_name, bytes),
        ],
    }
}

pub(super) fn load(opened: &Opened, axis: Axis, rows: usize) -> Result<IdMap, Error> {
    let ids = stored(opened, names(axis), axis, rows)?;
    check_count(axis, rows, &ids, &opened.path)?;
    Ok(ids)
}

/// Ids under names of their own, one for each of `rows`.
pub(super) fn load_named(
    opened: &Opened,
    names: &[String; 3],
    rows: usize,
) -> Result<IdMap, Error> {
    let [integers, offsets, bytes] = names;
    let ids = stored(opened, [integers, offsets, bytes], integers, rows)?;
    if ids.len() == rows {
        return Ok(ids);
    }
    let detail = format!("{} {integers} for {rows} rows", ids.len());
    Err(opened.corrupt(detail))
}

fn stored(
    opened: &Opened,
    [integers, offsets, bytes]: [&str; 3],
    what: impl std::fmt::Display,
    rows: usize,
) -> Result<IdMap, Error> {
    let mapped = if opened.header.tensor(integers).is_some() {
        let ids = opened.list(integers)?;
        IdMap::from_raw(RawIds::Integers(Cow::Borrowed(&ids)))
    } else if opened.header.tensor(offsets).is_some() {
        let (offsets, bytes) = (opened.list(offsets)?, opened.list(bytes)?);
        IdMap::from_raw(RawIds::Text {
            offsets: Cow::Borrowed(&offsets),
            bytes: Cow::Borrowed(&bytes),
        })
    } else {
        // Tables of more rows were rejected when the factors were found.
        Ok(IdMap::dense(rows as u32))
    };
    mapped.map_err(|e| opened.corrupt(format!("its {what} ids: {e}")))
}
