//! The inner loops of the solvers and of ranking, written once for all instruction sets.
//!
//! Each kernel in `body` is written once over a type of sixteen lanes ([`lanes::Lanes`]) and
//! compiled once per instruction set, inside a function that enables it; [`Kernels`] picks the set
//! at run time. The scalar variant always exists and is the oracle of the others. Which variant
//! runs depends on the machine's instruction set only, never on timing, so repeated runs give the
//! same bits.
#![allow(unsafe_code)]
// A lane type must be inlined into the function that enables its instruction set, or every
// operation becomes a call.
#![allow(clippy::inline_always, clippy::cast_possible_wrap)]

pub mod bench;
mod body;
mod entries;
mod entry_points;
mod grams;
mod instruction_set;
mod lane_parallel;
mod lanes;
pub(crate) mod pages;
mod prefetch;
mod quantised;
mod scalar;
mod solve;
mod steps;
mod transposed;

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
#[cfg(target_arch = "aarch64")]
mod neon;

#[cfg(test)]
mod tests;

pub(crate) use body::{Gathered, StridedRows};
pub(crate) use entries::{Columns, Place};
use entry_points::{entry_points, kernels, methods};
pub(crate) use grams::{Form, RowLines, TileLines};
use instruction_set::Detected;
pub use instruction_set::{InstructionSet, InstructionSetError};
pub(crate) use lane_parallel::{
    EntryWeights, LaneBlock, LaneUpdates, LossSlots, Slots, SteppedEntries, packed_floats,
};
use lanes::LANES;
pub(crate) use prefetch::prefetch;
use quantised::Rounded;
pub(crate) use quantised::{
    Limit, PanelScales, QuantisedPanel, QuantisedRow, QuantisedRows, words,
};
pub(crate) use solve::{Solved, Solving};
pub(crate) use steps::Quadratics;
pub(crate) use transposed::ScaledRows;

kernels!(methods![]);

/// The kernels of one instruction set.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Kernels {
    set: Detected,
    lane_parallel: bool,
}

impl Kernels {
    /// The kernels of a set that the machine has.
    fn new(set: Detected) -> Self {
        // The lane-parallel path keeps fourteen sums of sixteen lanes in registers: with narrower
        // ones they do not fit, and it takes three times as long.
        let lane_parallel = set.get() == InstructionSet::Avx512;
        Self { set, lane_parallel }
    }

    /// The same kernels with or without the lane-parallel path.
    fn with_lane_parallel(self, lane_parallel: bool) -> Self {
        Self {
            lane_parallel,
            ..self
        }
    }

    /// The kernels of one set, if the machine can run it.
    #[cfg(test)]
    pub(crate) fn of(set: InstructionSet) -> Option<Self> {
        Detected::new(set).map(Self::new)
    }

    /// Whether `eals` solves several rows at once, one or more lanes for each.
    pub(crate) fn uses_lane_parallel(self) -> bool {
        self.lane_parallel
    }

    /// Whether this machine multiplies bytes fast enough for screening to pay.
    pub(crate) fn can_screen(self) -> bool {
        #[cfg(target_arch = "x86_64")]
        if self.set.get() == InstructionSet::Avx512 {
            return is_x86_feature_detected!("avx512vnni");
        }
        false
    }

    /// Quantises a row of the left side; `None` if its numbers are too large or too small.
    pub(crate) fn quantise_row(self, row: &[f32], bytes: &mut Vec<i8>) -> Option<QuantisedRow> {
        bytes.resize(row.len(), 0);
        QuantisedRow::new(self.round(row, 1.0, bytes), bytes)
    }

    /// Quantises a row of the right side into a lane of a panel.
    pub(crate) fn quantise_lane(
        self,
        (row, scale): (&[f32], f32),
        lane: usize,
        (words, scales): (&mut [i32], &mut PanelScales),
        bytes: &mut Vec<i8>,
    ) {
        bytes.resize(row.len(), 0);
        let rounded = self.round(row, scale, bytes);
        scales.put(lane, rounded, bytes, words);
    }

    /// For every row of the left side, a bit for each row of the panel whose product with it may
    /// reach the row's limit. The bits of successive rows are `apart` numbers from each other.
    pub(crate) fn screen(
        self,
        rows: QuantisedRows<'_>,
        panel: QuantisedPanel<'_>,
        passed: &mut [u16],
        apart: usize,
    ) {
        #[cfg(target_arch = "x86_64")]
        if self.can_screen() {
            // SAFETY: `can_screen` has found AVX-512 VNNI; `Detected` holds AVX-512 only with AVX-512F.
            return unsafe { quantised::vnni::screen(rows, panel, passed, apart) };
        }
        quantised::screen(rows, panel, passed, apart);
    }
}
