//! Draws from a fixed distribution in constant time.

use super::streams::RandomStream;

/// Walker's alias table in Vose's construction.
#[derive(Clone, Debug)]
pub(super) struct Alias {
    slots: Vec<Slot>,
}

/// Yields `own` if a word is below `keep`, else `other`.
#[derive(Clone, Copy, Debug)]
struct Slot {
    keep: u32,
    own: u32,
    other: u32,
}

impl Alias {
    /// Takes what can be drawn and its weights, at least 0 each and not all 0.
    pub(super) fn new(names: &[u32], weights: &[f64]) -> Self {
        let scale = weights.len() as f64 / weights.iter().sum::<f64>();
        let mut left: Vec<f64> = weights.iter().map(|weight| weight * scale).collect();
        let whole = |&own: &u32| Slot {
            keep: u32::MAX,
            own,
            other: own,
        };
        let mut slots: Vec<Slot> = names.iter().map(whole).collect();
        let (mut small, mut large): (Vec<usize>, Vec<usize>) =
            (0..left.len()).partition(|&at| left[at] < 1.0);
        while let (Some(&low), Some(&high)) = (small.last(), large.last()) {
            small.pop();
            slots[low].keep = (left[low] * 4_294_967_296.0) as u32;
            slots[low].other = slots[high].own;
            left[high] -= 1.0 - left[low];
            if left[high] < 1.0 {
                large.pop();
                small.push(high);
            }
        }
        Self { slots }
    }

    /// Yields one of the names; there must be some.
    pub(super) fn draw(&self, stream: &mut RandomStream) -> u32 {
        let slot = self.slots[stream.below(self.slots.len())];
        if stream.word() < slot.keep {
            slot.own
        } else {
            slot.other
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::streams::{Purpose, Streams};
    use super::*;

    #[test]
    fn draws_follow_the_weights() {
        let weights = [0.0, 1.0, 2.0, 5.0, 0.0, 12.0];
        let (table, mut counts) = (Alias::new(&[0, 1, 2, 3, 4, 5], &weights), [0.0; 6]);
        let mut stream = Streams::new(1).stream(Purpose::Affinity, 0);
        for _ in 0..200_000 {
            counts[table.draw(&mut stream) as usize] += 1.0 / 10_000.0;
        }
        for (count, weight) in counts.iter().zip(weights) {
            assert!((count - weight).abs() < 0.1, "{counts:?}");
        }
    }
}
