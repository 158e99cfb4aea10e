//! The most popular items, as a prediction for every user.

use std::collections::{HashMap, VecDeque};

use crate::paper::data::{EventStream, StreamEvent};

/// Counts of items so far, all of them or those of the latest events.
pub(super) struct Popular {
    rows: HashMap<String, usize>,
    counts: Vec<u32>,
    /// Items of the latest events, oldest first, and how many count.
    latest: Option<(VecDeque<usize>, usize)>,
}

impl Popular {
    /// Counts the rows before the stream; the last `window` alone if given.
    pub(super) fn new(stream: &EventStream, window: Option<usize>) -> Self {
        let names = stream.ids.items.iter().enumerate();
        let mut popular = Self {
            rows: names.map(|(row, id)| (id.into_owned(), row)).collect(),
            counts: vec![0; stream.ids.items.len()],
            latest: window.map(|window| (VecDeque::new(), window)),
        };
        for &item in &stream.items_by_time {
            popular.count(item as usize);
        }
        popular
    }

    /// The rank of an event's item, if the item is known; of equal counts, the item that was met first
    /// comes first.
    pub(super) fn rank(&self, event: &StreamEvent) -> Option<u32> {
        let &item = self.rows.get(&event.item)?;
        let own = self.counts[item];
        let counts = self.counts.iter().enumerate();
        let before = counts.filter(|&(row, &count)| count > own || (count == own && row < item));
        Some(1 + before.count() as u32)
    }

    /// Counts an event.
    pub(super) fn learn(&mut self, event: &StreamEvent) {
        let next = self.rows.len();
        let item = *self.rows.entry(event.item.clone()).or_insert(next);
        if item == self.counts.len() {
            self.counts.push(0);
        }
        self.count(item);
    }

    fn count(&mut self, item: usize) {
        self.counts[item] += 1;
        if let Some((latest, window)) = &mut self.latest {
            latest.push_back(item);
            if latest.len() > *window
                && let Some(old) = latest.pop_front()
            {
                self.counts[old] -= 1;
            }
        }
    }
}
