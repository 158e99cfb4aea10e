//! Counts of items in which recent rows count more.

use super::error::DataError;
use super::interactions::Interactions;

/// What a row counts for at least, however old it is: items that nobody has taken lately are still ordered by
/// how many have taken them.
const OLD_ROW: f64 = 0.01;

impl Interactions<'_> {
    /// User, item and time of every interaction of data that has times; exposed entries have none.
    pub(crate) fn dated_rows(&self) -> impl Iterator<Item = (usize, usize, i64)> + '_ {
        let times = self.times().unwrap_or_default();
        let users = (0..self.n_users()).filter(move |_| !times.is_empty());
        users.flat_map(move |user| {
            let range = self.by_user().range(user);
            let items = &self.by_user().indices()[range.clone()];
            let taken = range.zip(items).filter(|(at, _)| !self.is_exposed(*at));
            taken.map(move |(at, &item)| (user, item as usize, times[at]))
        })
    }

    /// The time of the latest interaction, where there are times.
    #[must_use]
    pub fn latest_time(&self) -> Option<i64> {
        self.dated_rows().map(|(.., time)| time).max()
    }

    /// The number of interactions of each item, of which recent ones count more: a row counts
    /// `2^(−age / half_life) + 0.01`, where its age is the time from it to the latest row of the data. An item
    /// without rows counts like one with a row now.
    ///
    /// # Errors
    /// Data without times, or a half-life that is not a finite number above 0.
    pub fn recent_item_counts(&self, half_life: f64) -> Result<Vec<f32>, DataError> {
        if !(half_life.is_finite() && half_life > 0.0) {
            return Err(DataError::Parameter {
                name: "half-life of the post-scaling",
                got: half_life as f32,
                range: "above 0",
            });
        }
        let now = self.latest_time().ok_or(DataError::Lacks {
            transform: "post-scaling by recent counts",
            needs: "a time for every entry",
        })?;
        let mut counts = vec![0.0_f64; self.n_items()];
        for (_, item, time) in self.dated_rows() {
            let age = now.saturating_sub(time) as f64;
            counts[item] += (-age / half_life).exp2() + OLD_ROW;
        }
        let recent = |count: f64| if count > 0.0 { count } else { 1.0 + OLD_ROW };
        Ok(counts
            .into_iter()
            .map(|count| recent(count) as f32)
            .collect())
    }

    /// The number of interactions of each item among the latest twentieth of all rows, if there are times.
    #[must_use]
    pub fn latest_item_counts(&self) -> Option<Vec<u32>> {
        self.times()?;
        let (items, times): (Vec<u32>, Vec<i64>) = self
            .dated_rows()
            .map(|(_, item, time)| (item as u32, time))
            .unzip();
        Some(latest_item_counts(&items, &times, self.n_items()))
    }
}

/// The number of rows of each item among the latest twentieth of all rows, those of the same time as the first of
/// them included. Rows are given by their items, below `n_items`, and their times.
#[must_use]
pub fn latest_item_counts(items: &[u32], times: &[i64], n_items: usize) -> Vec<u32> {
    let mut counts = vec![0; n_items];
    let mut sorted = times.to_vec();
    let place = sorted.len() - sorted.len() / 20;
    if sorted.is_empty() {
        return counts;
    }
    let place = place.min(sorted.len() - 1);
    let (_, &mut from, _) = sorted.select_nth_unstable(place);
    for (&item, _) in items.iter().zip(times).filter(|(_, time)| **time >= from) {
        counts[item as usize] += 1;
    }
    counts
}

/// The recent count of an item that has this many interactions now.
pub(crate) fn recent_now(interactions: u32) -> f32 {
    (f64::from(interactions.max(1)) * (1.0 + OLD_ROW)) as f32
}

#[cfg(test)]
mod tests {
    use super::super::{Duplicates, Triplets};
    use super::*;

    fn data() -> Interactions<'static> {
        let times = [0, 10, 20, 20, 0];
        let rows = Triplets::new(&[0, 0, 0, 1, 1], &[0, 1, 2, 2, 1]).times(&times);
        let built = rows.build(2, 4, Duplicates::Error).unwrap();
        built.into_owned()
    }

    #[test]
    fn a_row_loses_half_its_count_in_a_half_life() {
        let counts = data().recent_item_counts(10.0).unwrap();
        // Ages are 20, 10 and 20, 0 and 0; the last item has no rows.
        for (got, expected) in counts.iter().zip([0.26, 0.77, 2.02, 1.01]) {
            assert!((got - expected).abs() < 1e-6, "{counts:?}");
        }
        let shown = data().with_exposed(&[1], &[0], &[0.5]).unwrap();
        assert_eq!(shown.recent_item_counts(10.0).unwrap(), counts);
    }

    #[test]
    fn what_cannot_be_counted_is_refused() {
        let bare = Triplets::new(&[0], &[0]).build(1, 1, Duplicates::Error);
        let bare = bare.unwrap();
        let is_lack =
            |error| matches!(error, DataError::Lacks { needs, .. } if needs.contains("time"));
        assert!(is_lack(bare.recent_item_counts(1.0).unwrap_err()));
        assert_eq!(bare.latest_item_counts(), None);
        for half_life in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            assert!(data().recent_item_counts(half_life).is_err(), "{half_life}");
        }
    }

    #[test]
    fn the_latest_rows_are_those_from_a_time_on() {
        // The latest time has two rows, which is more than a twentieth of five.
        assert_eq!(data().latest_item_counts().unwrap(), [0, 0, 2, 0]);
        let items: Vec<u32> = (0..100).map(|row| row % 10).collect();
        let times: Vec<i64> = (0..100).collect();
        let counts = latest_item_counts(&items, &times, 11);
        assert_eq!(counts, [0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 0]);
        assert_eq!(latest_item_counts(&[], &[], 2), [0, 0]);
    }
}
