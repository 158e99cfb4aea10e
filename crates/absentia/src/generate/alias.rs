//! Draws from a fixed distribution in constant time.

use super::streams::Stream;

/// Walker's alias table in Vose's construction.
#[derive(Clone, Debug)]
pub(super) struct Alias {
    slots: Vec<Slot>,
}

/// Keeps its own number if a word is below `keep`, else yields `other`.
#[derive(Clone, Copy, Debug)]
struct Slot {
    keep: u32,
    other: u32,
}

impl Alias {
    /// Takes weights that are at least 0; where all are 0, all are alike.
    pub(super) fn new(weights: &[f64]) -> Self {
        let total: f64 = weights.iter().sum();
        let scale = if total > 0.0 {
            weights.len() as f64 / total
        } else {
            0.0
        };
        let mut left: Vec<f64> = weights.iter().map(|weight| weight * scale).collect();
        let mut slots: Vec<Slot> = (0..weights.len() as u32)
            .map(|other| Slot {
                keep: u32::MAX,
                other,
            })
            .collect();
        let (mut small, mut large): (Vec<usize>, Vec<usize>) =
            (0..left.len()).partition(|&at| left[at] < 1.0);
        while let (Some(&low), Some(&high)) = (small.last(), large.last()) {
            small.pop();
            slots[low] = Slot {
                keep: (left[low] * 4_294_967_296.0) as u32,
                other: high as u32,
            };
            left[high] -= 1.0 - left[low];
            if left[high] < 1.0 {
                large.pop();
                small.push(high);
            }
        }
        Self { slots }
    }

    /// Yields the number of a slot; the table must not be empty.
    pub(super) fn draw(&self, stream: &mut Stream) -> usize {
        let at = stream.below(self.slots.len());
        let slot = self.slots[at];
        if stream.word() < slot.keep {
            at
        } else {
            slot.other as usize
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
        let (table, mut counts) = (Alias::new(&weights), [0.0; 6]);
        let mut stream = Streams::new(1).stream(Purpose::Affinity, 0);
        for _ in 0..200_000 {
            counts[table.draw(&mut stream)] += 1.0 / 10_000.0;
        }
        for (count, weight) in counts.iter().zip(weights) {
            assert!((count - weight).abs() < 0.1, "{counts:?}");
        }
    }
}
