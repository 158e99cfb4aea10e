//! Random streams: one for every user (or item) and purpose, all from one seed.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

/// What a stream is for. Streams of different purposes never overlap.
#[derive(Clone, Copy, Debug)]
pub(super) enum Purpose {
    Permutation,
    Affinity,
    Item,
    User,
    Training,
    HeldOutUniform,
    HeldOutExposure,
}

/// The family of streams of one seed.
#[derive(Clone, Debug)]
pub(super) struct Streams {
    base: ChaCha8Rng,
}

impl Streams {
    pub(super) fn new(seed: u64) -> Self {
        Self {
            base: ChaCha8Rng::seed_from_u64(seed),
        }
    }

    /// Yields the stream number `index` of a purpose, at its start.
    pub(super) fn stream(&self, purpose: Purpose, index: u64) -> RandomStream {
        let mut rng = self.base.clone();
        rng.set_stream(index << 3 | purpose as u64);
        RandomStream { rng }
    }
}

/// A sequence of random numbers.
pub(super) struct RandomStream {
    rng: ChaCha8Rng,
}

impl RandomStream {
    pub(super) fn word(&mut self) -> u32 {
        self.rng.next_u32()
    }

    pub(super) fn long_word(&mut self) -> u64 {
        self.rng.next_u64()
    }

    /// Yields a number below `count`; the bias of at most `count / 2³²` does not matter here.
    pub(super) fn below(&mut self, count: usize) -> usize {
        ((u64::from(self.word()) * count as u64) >> 32) as usize
    }

    /// Yields whether an event of this probability happens.
    pub(super) fn happens(&mut self, probability: f64) -> bool {
        f64::from(self.word()) < probability * 4_294_967_296.0
    }

    /// Yields a standard normal number (Box and Muller).
    pub(super) fn normal(&mut self) -> f64 {
        let [radius, angle] =
            [self.word(), self.word()].map(|word| (f64::from(word) + 0.5) / 4_294_967_296.0);
        (-2.0 * radius.ln()).sqrt() * (std::f64::consts::TAU * angle).cos()
    }
}
