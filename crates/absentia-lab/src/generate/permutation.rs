//! A shuffle of `0..n` that needs no memory.

use super::streams::{Purpose, Streams};

const ROUNDS: usize = 4;

/// A pseudo-random permutation of `0..n`: a Feistel network over the next power of four, walked
/// until it falls below n (fewer than four steps on average).
#[derive(Clone, Debug)]
pub(super) struct Permutation {
    n: u64,
    half_bits: u32,
    keys: [u64; ROUNDS],
}

impl Permutation {
    pub(super) fn new(n: usize, streams: &Streams, index: u64) -> Self {
        let mut stream = streams.stream(Purpose::Permutation, index);
        let bits = (n.max(2) as u64 - 1).ilog2() + 1;
        Self {
            n: n as u64,
            half_bits: bits.div_ceil(2),
            keys: std::array::from_fn(|_| stream.long_word()),
        }
    }

    /// Yields the place of `x < n`.
    pub(super) fn place(&self, x: u64) -> u64 {
        let mut y = self.shuffle(x);
        while y >= self.n {
            y = self.shuffle(y);
        }
        y
    }

    fn shuffle(&self, x: u64) -> u64 {
        let mask = (1 << self.half_bits) - 1;
        let (mut left, mut right) = (x >> self.half_bits, x & mask);
        for key in self.keys {
            (left, right) = (right, left ^ (mix(right ^ key) & mask));
        }
        left << self.half_bits | right
    }
}

/// The finaliser of `SplitMix64`.
fn mix(mut x: u64) -> u64 {
    x = (x ^ x >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ x >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ x >> 31
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_place_is_taken_once() {
        for n in [1, 2, 3, 4, 5, 17, 1000, 4097] {
            let permutation = Permutation::new(n, &Streams::new(3), 0);
            let mut places: Vec<u64> = (0..n as u64).map(|x| permutation.place(x)).collect();
            places.sort_unstable();
            assert!(places.into_iter().eq(0..n as u64), "n = {n}");
        }
    }
}
