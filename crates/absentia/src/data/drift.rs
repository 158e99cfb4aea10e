//! A drift of taste that data without times can be tried by.
//!
//! What users take next is not a random part of what they took before: demand moves from some kinds of
//! items to others. Here every item gets a place on one axis along which demand is made to move:
//! random numbers are averaged over the items of each user and back over the users of each item, a
//! few times over, so that items with the same users end up side by side.
//!
//! All sums are of whole numbers: the result does not depend on the order of the rows.

use super::prepare::{RowGroups, mix};

/// How often numbers go from items to users and back.
const PASSES: usize = 6;
/// How much likelier an item one standard deviation ahead is to be held out, as a logarithm.
const STRENGTH: f64 = 1.0;
/// The largest number of an item, in whole steps.
const SCALE: i64 = 1 << 30;

/// Places of items along a random drift.
pub(super) struct Drift {
    /// By item: mean zero and variance one over the items that occur.
    places: Vec<f64>,
    seed: u64,
}

impl Drift {
    /// Draws a drift for rows of these users and items.
    pub(super) fn new(users: &[u32], items: &[u32], seed: u64) -> Self {
        let (by_user, by_item) = (RowGroups::new(users), RowGroups::new(items));
        let random = |item: usize| i64::from((mix(seed, item as u64, 2) >> 33) as u32) - SCALE;
        let mut numbers: Vec<i64> = (0..by_item.len()).map(random).collect();
        for _ in 0..PASSES {
            let of_users = means(&by_user, |row| numbers[items[row] as usize]);
            numbers = means(&by_item, |row| of_users[users[row] as usize]);
            spread(&mut numbers, items);
        }
        Self {
            places: ranks(&numbers, &by_item),
            seed,
        }
    }

    /// The larger, the earlier a row is held out; in whole steps, so that it orders rows.
    pub(super) fn key(&self, user: u32, item: u32) -> i64 {
        let hash = mix(self.seed, u64::from(user), u64::from(item));
        // Strictly between 0 and 1.
        let even = ((hash >> 12) as f64 + 0.5) / (1_u64 << 52) as f64;
        let gumbel = -(-even.ln()).ln();
        ((gumbel + STRENGTH * self.places[item as usize]) * f64::from(1 << 24)) as i64
    }
}

/// The mean of a number over the rows of each group; zero where there are none.
fn means(groups: &RowGroups, number: impl Fn(usize) -> i64) -> Vec<i64> {
    let mean = |id: usize| {
        let rows = groups.rows(id);
        let total: i64 = rows.iter().map(|&row| number(row as usize)).sum();
        // Rows are counted in 32 bits.
        total / i64::from(rows.len() as u32).max(1)
    };
    (0..groups.len()).map(mean).collect()
}

/// Takes the mean over all rows away, which averaging leaves as it is, and fills the scale again.
fn spread(numbers: &mut [i64], items: &[u32]) {
    let total: i128 = items.iter().map(|&i| i128::from(numbers[i as usize])).sum();
    let mean = (total / (items.len() as i128).max(1)) as i64;
    let most = numbers.iter().map(|x| (x - mean).abs()).max();
    let most = i128::from(most.unwrap_or(0).max(1));
    for number in numbers {
        *number = (i128::from(*number - mean) * i128::from(SCALE) / most) as i64;
    }
}

/// Even places by rank, of the items that occur.
fn ranks(numbers: &[i64], by_item: &RowGroups) -> Vec<f64> {
    let mut order: Vec<usize> = (0..numbers.len())
        .filter(|&item| !by_item.rows(item).is_empty())
        .collect();
    order.sort_unstable_by_key(|&item| (numbers[item], item));
    let mut places = vec![0.0; numbers.len()];
    let width = 12_f64.sqrt() / order.len().max(1) as f64;
    for (rank, &item) in order.iter().enumerate() {
        places[item] = (rank as f64 + 0.5 - order.len() as f64 / 2.0) * width;
    }
    places
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Users of two crowds, each with items of its own.
    fn crowds() -> (Vec<u32>, Vec<u32>) {
        let rows = (0..40_u32).flat_map(|user| {
            let crowd = user % 2 * 30;
            (0..12).map(move |at| (user, crowd + (user * 7 + at) % 30))
        });
        rows.unzip()
    }

    #[test]
    fn items_of_the_same_users_stand_side_by_side() {
        let (users, items) = crowds();
        for seed in 0..5 {
            let drift = Drift::new(&users, &items, seed);
            let mean =
                |range: std::ops::Range<usize>| drift.places[range].iter().sum::<f64>() / 30.0;
            let apart = (mean(0..30) - mean(30..60)).abs();
            assert!(apart > 1.2, "seed {seed}: {apart}");
            let all: f64 = drift.places.iter().map(|x| x * x).sum::<f64>() / 60.0;
            assert!((all - 1.0).abs() < 0.01);
        }
    }

    #[test]
    fn the_order_of_rows_does_not_matter() {
        let (mut users, mut items) = crowds();
        let before = Drift::new(&users, &items, 3).places;
        users.reverse();
        items.reverse();
        assert_eq!(Drift::new(&users, &items, 3).places, before);
        assert_ne!(Drift::new(&users, &items, 4).places, before);
        assert!(Drift::new(&[], &[], 0).places.is_empty());
    }
}
