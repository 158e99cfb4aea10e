//! Held-out rows whose items are more popular, or less, than those of a random sample.
//!
//! What is asked of a model later is often more popular than what a random row of its training data
//! is; settings chosen by random rows then favour the rare too much.

use absentia::evaluate::TestSet;
use anyhow::Result;

/// Held-out pairs thinned so that popular items are more, or less, common than they were: a pair is
/// kept with a probability that goes as a power of its item's count.
pub(super) fn tilted(held_out: &TestSet, counts: &[u32], gamma: f64) -> Result<TestSet> {
    let mut known: Vec<u32> = held_out
        .lists()
        .items()
        .iter()
        .map(|&i| counts[i as usize])
        .collect();
    known.sort_unstable();
    // The item of the median pair is kept half of the time.
    let middle = f64::from(known.get(known.len() / 2).copied().unwrap_or(1).max(1));
    let (mut users, mut items) = (Vec::new(), Vec::new());
    for (row, &user) in held_out.users().iter().enumerate() {
        for &item in held_out.lists().row(row) {
            let share = 0.5 * (f64::from(counts[item as usize].max(1)) / middle).powf(gamma);
            if even(user, item) < share {
                users.push(user);
                items.push(item);
            }
        }
    }
    Ok(TestSet::from_pairs(&users, &items)?)
}

/// A number in [0, 1) that depends on the pair alone.
pub(super) fn even(user: u32, item: u32) -> f64 {
    let mut x = (u64::from(user) << 32 | u64::from(item)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    ((x ^ (x >> 31)) >> 11) as f64 / (1_u64 << 53) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tilt_changes_how_popular_held_out_items_are() -> Result<()> {
        let users: Vec<u32> = (0..4000).map(|at| at / 4).collect();
        let items: Vec<u32> = (0..4000).map(|at| at % 4 * 25 + at / 4 % 25).collect();
        let held_out = TestSet::from_pairs(&users, &items)?;
        let counts: Vec<u32> = (1..=100).collect();
        let mean = |set: &TestSet| {
            let items = set.lists().items();
            let total: f64 = items.iter().map(|&i| f64::from(counts[i as usize])).sum();
            total / items.len() as f64
        };
        let up = tilted(&held_out, &counts, 0.5)?;
        let down = tilted(&held_out, &counts, -0.5)?;
        assert!(mean(&up) > mean(&held_out) + 5.0);
        assert!(mean(&down) < mean(&held_out) - 5.0);
        Ok(())
    }
}
