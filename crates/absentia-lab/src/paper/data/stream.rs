//! Data sets in the order of their times: what a model is trained on, and the events that follow.

use std::path::Path;

use absentia::Interactions;
use absentia::data::{Duplicates, EventLog};
use absentia_io::model::Ids;
use absentia_io::{Dataset, IdMap, NoProgress, ReadOptions, read};
use anyhow::Result;

use super::readers::generated;
use crate::paper::error::PaperError;
use crate::paper::scale::Size;

/// One row of this many, the last ones by time, is an event of the stream.
const STREAM_SHARE: usize = 10;

/// An interaction by ids.
pub(in crate::paper) struct StreamEvent {
    pub(in crate::paper) user: String,
    pub(in crate::paper) item: String,
    pub(in crate::paper) time: i64,
}

/// A data set cut by time.
pub(in crate::paper) struct EventStream {
    pub(in crate::paper) name: String,
    /// The rows before the cut, with their ids.
    pub(in crate::paper) train: Interactions<'static>,
    pub(in crate::paper) ids: Ids,
    /// Items of the rows before the cut, by time.
    pub(in crate::paper) items_by_time: Vec<u32>,
    /// The rows after the cut, by time.
    pub(in crate::paper) events: Vec<StreamEvent>,
}

impl EventStream {
    /// Bytes of its rows, ids and events.
    pub(in crate::paper) fn bytes(&self) -> u64 {
        // Two ids of up to 24 bytes each.
        let events = (size_of::<StreamEvent>() + 64) * self.events.len();
        let ids = self.ids.users.bytes() + self.ids.items.bytes();
        self.train.bytes() + ids + (events + 4 * self.items_by_time.len()) as u64
    }
}

/// How rows of equal pairs are merged; targets are binary, so that it does not matter.
pub(in crate::paper) const DUPLICATES: Duplicates = Duplicates::Last;

/// Reads a file with times.
pub(super) fn from_file(path: &Path, how: &ReadOptions, name: &str) -> Result<EventStream> {
    let data = read(&[path.to_owned()], how, &NoProgress)?;
    let Some(times) = &data.time else {
        return Err(PaperError::NoTimes.into());
    };
    cut(&data, times, name)
}

/// Generated rows in a random order: nothing changes over time.
pub(super) fn from_generated(size: Size, name: &str) -> Result<EventStream> {
    let train = generated(size)?.train;
    let mut data = Dataset {
        users: IdMap::dense(train.n_users() as u32),
        items: IdMap::dense(train.n_items() as u32),
        ..Dataset::default()
    };
    for user in 0..train.n_users() {
        let items = train.by_user().row(user).indices;
        data.user.resize(data.user.len() + items.len(), user as u32);
        data.item.extend_from_slice(items);
    }
    let mut state = 7_u64;
    let times: Vec<i64> = (0..data.user.len())
        .map(|_| {
            state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(1);
            1_500_000_000 + i64::from((state >> 40) as u32)
        })
        .collect();
    cut(&data, &times, name)
}

/// Cuts rows by time; those of equal time stay in their order.
fn cut(data: &Dataset, times: &[i64], name: &str) -> Result<EventStream> {
    let mut order: Vec<usize> = (0..times.len()).collect();
    order.sort_by_key(|&row| times[row]);
    let (before, after) = order.split_at(order.len() - order.len() / STREAM_SHARE);
    let id = |ids: &IdMap, row: u32| ids.name(row).unwrap_or_default().into_owned();
    let mut ids = Ids {
        users: IdMap::new(),
        items: IdMap::new(),
        related: Vec::new(),
    };
    let (mut users, mut items) = (Vec::new(), Vec::new());
    for &row in before {
        users.push(ids.users.intern(&id(&data.users, data.user[row]))?);
        items.push(ids.items.intern(&id(&data.items, data.item[row]))?);
    }
    let log = EventLog::new(users, items.clone())?;
    let log = log.times(before.iter().map(|&row| times[row]).collect())?;
    let train = log.interactions(ids.users.len(), ids.items.len(), DUPLICATES)?;
    let event = |&row: &usize| StreamEvent {
        user: id(&data.users, data.user[row]),
        item: id(&data.items, data.item[row]),
        time: times[row],
    };
    Ok(EventStream {
        name: name.to_owned(),
        train,
        ids,
        items_by_time: items,
        events: after.iter().map(event).collect(),
    })
}
