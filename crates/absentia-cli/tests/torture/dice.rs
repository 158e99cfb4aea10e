//! Random choices that repeat by seed.

pub(crate) struct Dice(u64);

impl Dice {
    /// The choices of one round of one section.
    pub(crate) fn new(seed: u64, section: &str, round: u64) -> Self {
        let name = section.bytes().fold(0_u64, |sum, byte| {
            sum.wrapping_mul(31).wrapping_add(u64::from(byte))
        });
        let mut dice = Self(seed ^ name.rotate_left(17) ^ round.rotate_left(40));
        dice.next();
        dice
    }

    pub(crate) fn next(&mut self) -> u64 {
        // Weyl sequence, mixed by two multiplications.
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let x = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let x = (x ^ (x >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        x ^ (x >> 31)
    }

    /// A number of at least 0 and less than 1.
    pub(crate) fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1_u64 << 53) as f64
    }

    pub(crate) fn below(&mut self, n: usize) -> usize {
        (self.next() % n.max(1) as u64) as usize
    }

    /// A number from `low` to `high`, both included.
    pub(crate) fn within(&mut self, low: usize, high: usize) -> usize {
        low + self.below(high - low + 1)
    }

    /// Whether something with this probability happens.
    pub(crate) fn is(&mut self, probability: f64) -> bool {
        self.unit() < probability
    }

    pub(crate) fn one_of<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[self.below(choices.len())]
    }

    /// A number between two powers of ten, each order of magnitude as likely as another.
    pub(crate) fn magnitude(&mut self, low: f64, high: f64) -> f64 {
        let power = low + (high - low) * self.unit();
        10_f64.powf(power)
    }

    pub(crate) fn shuffle<T>(&mut self, list: &mut [T]) {
        for at in (1..list.len()).rev() {
            list.swap(at, self.below(at + 1));
        }
    }
}
