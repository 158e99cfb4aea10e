//! Sixteen floats at a time, whatever the machine makes of them.

/// Number of lanes.
pub(super) const LANES: usize = crate::linalg::LANES;

/// Sixteen `f32` lanes.
///
/// Implementations for an instruction set may only be used inside functions that enable it; the
/// entry points of each set are the only places that name them.
pub(super) trait Lanes: Copy {
    /// The same number in every lane.
    fn splat(value: f32) -> Self;

    /// The first sixteen floats of `from`.
    ///
    /// # Panics
    /// If there are fewer.
    fn load(from: &[f32]) -> Self;

    /// Writes the lanes to the first sixteen floats of `to`.
    ///
    /// # Panics
    /// If there are fewer.
    fn store(self, to: &mut [f32]);

    /// `self · b + c`, rounded once where the machine can.
    fn mul_add(self, b: Self, c: Self) -> Self;

    /// Lane-wise product.
    fn mul(self, b: Self) -> Self;

    /// Lane-wise sum.
    fn add(self, b: Self) -> Self;

    /// Lane `lane` in every lane.
    fn broadcast(self, lane: usize) -> Self;

    /// The first lane.
    fn first(self) -> f32;

    /// Sums of the lanes of four, each in the same order, into the first four floats of `to`.
    fn sum_four(four: [Self; 4], to: &mut [f32]);

    /// Asks the memory for the cache line at `from[at]`, where the machine can; never faults.
    fn prefetch(from: &[f32], at: usize);
}
