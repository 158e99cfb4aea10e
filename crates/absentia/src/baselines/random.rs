//! What is random in a pass: drawn from the seed and the number of the pass alone.

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// The random generator of one pass. No other pass has its stream, nor have the initial factors.
pub(crate) fn of_pass(seed: u64, iteration: usize) -> ChaCha8Rng {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    random.set_stream(u64::MAX - iteration as u64);
    random
}

/// A number below `n`, which is not 0.
pub(crate) fn below(random: &mut impl Rng, n: usize) -> usize {
    ((u128::from(random.next_u64()) * n as u128) >> 64) as usize
}

/// A number in [0, 1).
pub(crate) fn unit(random: &mut impl Rng) -> f64 {
    (random.next_u64() >> 11) as f64 / (1_u64 << 53) as f64
}

/// The numbers below `n` in random order.
pub(crate) fn shuffled(random: &mut impl Rng, n: usize) -> Vec<u32> {
    let mut order: Vec<u32> = (0..n as u32).collect();
    for at in (1..n).rev() {
        order.swap(at, below(random, at + 1));
    }
    order
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_order_is_a_permutation_and_belongs_to_its_pass() {
        let mut order = shuffled(&mut of_pass(3, 1), 1000);
        assert_ne!(order, shuffled(&mut of_pass(3, 2), 1000));
        assert_eq!(order, shuffled(&mut of_pass(3, 1), 1000));
        order.sort_unstable();
        assert!(order.iter().copied().eq(0..1000));
    }
}
