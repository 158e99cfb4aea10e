//! Holding out a share of every user's rows of a matrix.

use super::drift::Drift;
use super::exposed::MergedRows;
use super::interactions::Interactions;

/// A matrix without its held-out pairs, and those pairs.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct HeldOut {
    /// What remains.
    pub rest: Interactions<'static>,
    /// Users of the held-out pairs, not falling.
    pub users: Vec<u32>,
    /// Items of the held-out pairs.
    pub items: Vec<u32>,
}

impl Interactions<'_> {
    /// Holds out a share of every user's interactions, rounded, and at least one of every user who
    /// keeps at least one: the latest where there are times, otherwise rows that drift ([`Pick::Drift`](super::Pick::Drift)).
    ///
    /// Entries that were shown and not taken stay. [`Split::Share`](super::Split::Share) does the
    /// same to a log, before the matrix is built.
    #[must_use]
    pub fn hold_out(&self, share: f64, seed: u64) -> HeldOut {
        let mut rest = MergedRows::new(self, 0);
        let (mut users, mut items) = (Vec::new(), Vec::new());
        let mut aside = Vec::new();
        let drift = self.times().is_none().then(|| self.drift(seed));
        let key = |user: usize, at: usize| match (&drift, self.times()) {
            (Some(drift), _) => drift.key(user as u32, self.by_user.indices()[at]),
            (None, times) => times.map_or(0, |times| times[at]),
        };
        for user in 0..self.n_users() {
            self.choose(user, share, key, &mut aside);
            for at in self.by_user.range(user) {
                let item = self.by_user.indices()[at];
                if aside.binary_search(&at).is_ok() {
                    users.push(user as u32);
                    items.push(item);
                } else {
                    let (r, c) = (self.by_user.r.get(at), self.by_user.c.get(at));
                    rest.push(item, r, c, self.is_exposed(at));
                    rest.push_time(self.times().map(|times| times[at]));
                }
            }
            rest.end_row();
        }
        HeldOut {
            rest: rest.finish(self.n_items()),
            users,
            items,
        }
    }

    fn drift(&self, seed: u64) -> Drift {
        let of_user = |user| self.by_user.range(user).map(move |_| user as u32);
        let users: Vec<u32> = (0..self.n_users()).flat_map(of_user).collect();
        Drift::new(&users, self.by_user.indices(), seed)
    }

    /// Rising positions of a user's rows to hold out: those of the largest keys.
    fn choose(
        &self,
        user: usize,
        share: f64,
        key: impl Fn(usize, usize) -> i64,
        aside: &mut Vec<usize>,
    ) {
        aside.clear();
        aside.extend(self.by_user.range(user).filter(|&at| !self.is_exposed(at)));
        if aside.len() < 2 {
            aside.clear();
            return;
        }
        let count = (share * aside.len() as f64).round() as usize;
        let count = count.clamp(1, aside.len() - 1);
        aside.sort_by_key(|&at| std::cmp::Reverse((key(user, at), at)));
        aside.truncate(count);
        aside.sort_unstable();
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Duplicates, Triplets};
    use super::*;

    fn matrix(times: bool) -> Interactions<'static> {
        let users: Vec<u32> = (0..30).map(|at| at / 10).chain([3]).collect();
        let items: Vec<u32> = (0..31).map(|at| at % 10).collect();
        let when: Vec<i64> = (0..31).map(|at| i64::from(at * 7 % 10)).collect();
        let values: Vec<f32> = (0..31_u8).map(f32::from).collect();
        let mut rows = Triplets::new(&users, &items).values(&values);
        if times {
            rows = rows.times(&when);
        }
        let built = rows.build(4, 10, Duplicates::Error).unwrap();
        built.with_exposed(&[3], &[9], &[0.5]).unwrap()
    }

    #[test]
    fn every_row_is_kept_or_put_aside() {
        let all = matrix(false);
        let held = all.hold_out(0.2, 1);
        assert_eq!(held.users, [0, 0, 1, 1, 2, 2], "users with one row keep it");
        assert_eq!(held.rest.len() + held.users.len(), all.len());
        assert_eq!(held.rest.n_interactions(), 25);
        for (&user, &item) in held.users.iter().zip(&held.items) {
            assert!(all.seen(user).any(|seen| seen == item));
            assert!(held.rest.seen(user).all(|seen| seen != item));
        }
        let (whole, kept) = (all.by_user().row(2), held.rest.by_user().row(2));
        for (n, item) in kept.indices.iter().enumerate() {
            let before = whole.indices.binary_search(item).unwrap();
            assert_eq!(kept.r.get(n).to_bits(), whole.r.get(before).to_bits());
        }
        assert_ne!(held.items, all.hold_out(0.2, 2).items);
    }

    #[test]
    fn the_latest_go_first_where_there_are_times() {
        let held = matrix(true).hold_out(0.2, 1);
        // Times of a user's items 0 to 9 are 0, 7, 4, 1, 8, 5, 2, 9, 6, 3.
        assert_eq!(held.items[..2], [4, 7]);
        assert!(held.rest.times().unwrap().iter().all(|&time| time < 8));
    }
}
