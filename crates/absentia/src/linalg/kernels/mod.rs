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
use entry_points::{dispatch, entry_points};
pub(crate) use grams::{Form, RowLines, TileLines};
use instruction_set::Detected;
pub use instruction_set::{InstructionSet, InstructionSetError};
pub(crate) use lane_parallel::{
    EntryWeights, LaneBlock, LaneUpdates, LossSlots, Slots, SteppedEntries, packed_floats,
};
use lanes::LANES;
pub(crate) use prefetch::prefetch;
pub(crate) use quantised::{
    Limit, PanelScales, QuantisedPanel, QuantisedRow, QuantisedRows, words,
};
pub(crate) use solve::{Solved, Solving};
pub(crate) use steps::Quadratics;
pub(crate) use transposed::ScaledRows;

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

    /// Multiplies and adds in registers alone, `steps` times in each of
    /// [`peak_chains`](Self::peak_chains) independent sums.
    fn peak(self, steps: usize, seed: f32) -> f32 {
        dispatch!(self.set, peak(steps, seed))
    }

    /// Number of independent sums of `peak`.
    fn peak_chains(self) -> usize {
        match self.set.get() {
            InstructionSet::Scalar => scalar::PEAK_CHAINS,
            #[cfg(target_arch = "x86_64")]
            InstructionSet::Avx2 => avx2::PEAK_CHAINS,
            #[cfg(target_arch = "x86_64")]
            InstructionSet::Avx512 => avx512::PEAK_CHAINS,
            #[cfg(target_arch = "aarch64")]
            InstructionSet::Neon => neon::PEAK_CHAINS,
            #[allow(unreachable_patterns)]
            _ => scalar::PEAK_CHAINS,
        }
    }

    /// `out[n] = p · q_n` for every gathered row.
    pub(crate) fn predict(self, p: &[f32], gathered: Gathered<'_>, out: &mut [f32]) {
        dispatch!(self.set, predict(p, gathered, out));
    }

    /// Copies the rows of the first `entries` picks into lines, block after block, and predicts.
    pub(crate) fn pack(
        self,
        picked: Gathered<'_>,
        entries: usize,
        factors: &[f32],
        lines: &mut [f32],
        columns: &mut Columns<'_>,
    ) {
        dispatch!(self.set, pack(picked, entries, factors, lines, columns));
    }

    /// Copies sixteen coordinates, from `at`, of every picked row into lines.
    pub(crate) fn pick(self, picked: Gathered<'_>, at: usize, lines: &mut [f32]) {
        dispatch!(self.set, pick(picked, at, lines));
    }

    /// `p·q += δ_row · line` for every entry, and the same for its error. The sixteen steps of each
    /// row start a `pitch` after those of the previous row.
    pub(crate) fn correct(
        self,
        delta: &[f32],
        pitch: usize,
        lines: &[f32],
        columns: &mut Columns<'_>,
    ) {
        dispatch!(self.set, correct(delta, pitch, lines, columns));
    }

    /// `h = scale · base + Σ d q qᵀ` (the half that its form stores) and `g += Σ error q` over a row's entries.
    pub(crate) fn gram(
        self,
        form: Form,
        row: RowLines<'_>,
        scale: f32,
        base: &[f32],
        h: &mut [f32],
        g: &mut [f32],
    ) {
        dispatch!(self.set, gram(form, row, scale, base, h, g));
    }

    /// The same for every row of a tile.
    pub(crate) fn grams(self, form: Form, tile: TileLines<'_>, h: &mut [f32], g: &mut [f32]) {
        dispatch!(self.set, grams(form, tile, h, g));
    }

    /// `h += Σ d left rightᵀ` over lines, a whole `16 × 16` block whose rows are a `pitch` apart.
    pub(crate) fn cross(
        self,
        d: Option<&[f32]>,
        left: &[f32],
        right: &[f32],
        h: &mut [f32],
        pitch: usize,
    ) {
        dispatch!(self.set, cross(d, left, right, h, pitch));
    }

    /// `Σ c (r − p·q)²` and `Σ (a·b) (p·q)²`; a single `c` or `r` applies to all entries.
    pub(crate) fn losses(
        self,
        c: &[f32],
        r: &[f32],
        predicted: &[f32],
        missing: &[f32],
    ) -> [f64; 2] {
        dispatch!(self.set, losses(c, r, predicted, missing))
    }

    /// Each line multiplied by its weight; after the last weight follows the first again.
    pub(crate) fn scale_lines(self, weights: &[f32], lines: &[f32], out: &mut [f32]) {
        dispatch!(self.set, scale_lines(weights, lines, out));
    }

    /// `out = −scale · x` on sixteen coordinates of every row that has a scale.
    pub(crate) fn pull_back(
        self,
        scales: &[f32],
        x: &[f32],
        from: Place,
        out: &mut [f32],
        to: Place,
    ) {
        dispatch!(self.set, pull_back(scales, x, from, out, to));
    }

    /// `x += steps` on sixteen coordinates of the first `rows` rows.
    pub(crate) fn advance(self, rows: usize, steps: &[f32], from: Place, x: &mut [f32], to: Place) {
        dispatch!(self.set, advance(rows, steps, from, x, to));
    }

    /// `|x|²` of whole lanes.
    pub(crate) fn square(self, x: &[f32]) -> f32 {
        dispatch!(self.set, square(x))
    }

    /// `out += Σ_n coefficients[n] · line_n`.
    pub(crate) fn combine_lines(self, coefficients: &[f32], lines: &[f32], out: &mut [f32]) {
        dispatch!(self.set, combine_lines(coefficients, lines, out));
    }

    /// `out += Σ_n coefficients[n] q_n[at..]`, `out` as wide as a window.
    pub(crate) fn combine(
        self,
        coefficients: &[f32],
        at: usize,
        gathered: Gathered<'_>,
        out: &mut [f32],
    ) {
        dispatch!(self.set, combine(coefficients, at, gathered, out));
    }

    /// `out[row] += scale[row] · x[row] · panel` for a `k × 16` panel, rows of `out` a `pitch` apart.
    pub(crate) fn panel_product(
        self,
        x: StridedRows<'_>,
        panel: &[f32],
        scale: Option<&[f32]>,
        out: &mut [f32],
        pitch: usize,
    ) {
        dispatch!(self.set, panel_product(x, panel, scale, out, pitch));
    }

    /// Sixteen coordinate steps of every row; yields the first row whose curvature is negative.
    ///
    /// Curvature that is not above `floor` times what missing entries contribute to it leaves its
    /// coordinate unchanged.
    pub(crate) fn descend(
        self,
        rows: &Quadratics<'_>,
        floor: f32,
        delta: &mut [f32],
    ) -> Option<(usize, f32)> {
        dispatch!(self.set, descend(rows, floor, delta))
    }

    /// Exact minima of up to sixteen rows from `first`, whose matrices are folded. All slices but that
    /// of the penalties must have room for sixteen rows.
    pub(crate) fn solve(
        self,
        rows: &Quadratics<'_>,
        first: usize,
        floor: f32,
        work: &mut Solving,
        delta: &mut [f32],
    ) -> Solved {
        dispatch!(self.set, solve(rows, first, floor, work, delta))
    }

    /// Whether `eals` solves several rows at once, one or more lanes for each.
    pub(crate) fn uses_lane_parallel(self) -> bool {
        self.lane_parallel
    }

    /// Packs gathered rows for lane-parallel steps, weighs their entries and predicts. Yields whether
    /// every entry is scaled by its weight.
    pub(crate) fn pack_lanes(
        self,
        picked: Gathered<'_>,
        p: &[f32],
        weights: EntryWeights<'_>,
        lines: &mut [f32],
        slots: &mut Slots<'_>,
    ) -> bool {
        dispatch!(self.set, pack_lanes(picked, p, weights, lines, slots))
    }

    /// `Σ c (r − p·q)²` and `Σ (a·b) (p·q)²` over the entries of a lane-parallel group.
    pub(crate) fn lane_losses(self, weights: EntryWeights<'_>, x: SteppedEntries<'_>) -> [f64; 2] {
        dispatch!(self.set, lane_losses(weights, x))
    }

    /// Copies some rows of a matrix, and transposes them: one line of lanes per coordinate, `per_row`
    /// lanes per row.
    pub(crate) fn spread(
        self,
        matrix: &[f32],
        stride: usize,
        picked: &[usize],
        copies: &mut [f32],
        per_row: usize,
        out: &mut [f32],
    ) {
        dispatch!(
            self.set,
            spread(matrix, stride, picked, copies, per_row, out)
        );
    }

    /// Lane-parallel coordinate steps on one block; yields the first row whose curvature is negative.
    pub(crate) fn descend_lanes(
        self,
        x: LaneBlock<'_>,
        floor: f32,
        updates: &mut LaneUpdates<'_>,
    ) -> Option<(usize, f32)> {
        dispatch!(self.set, descend_lanes(x, floor, updates))
    }

    /// `out[n] = x_row · q_n` for packed entries, `x` having a row of K per row of the tile.
    pub(crate) fn dots(self, x: &[f32], k: usize, rows: &[u32], lines: &[f32], out: &mut [f32]) {
        dispatch!(self.set, dots(x, k, rows, lines, out));
    }

    /// Solves `h · solution = x` in place for a positive semidefinite `h`, of which it reads and
    /// overwrites the lower triangle; `column` is scratch.
    ///
    /// A pivot that is not above its `floor` counts as zero and leaves its unknown at 0. Yields the
    /// first pivot below minus its floor, if any: then `h` was not positive semidefinite.
    pub(crate) fn solve_semidefinite(
        self,
        h: &mut [f32],
        pitch: usize,
        floor: &[f32],
        x: &mut [f32],
        column: &mut [f32],
    ) -> Option<f32> {
        dispatch!(self.set, solve_semidefinite(h, pitch, floor, x, column))
    }

    /// `p · (q · scale)` with the bits that [`panel_product`](Self::panel_product) gives.
    pub(crate) fn score(self, p: &[f32], q: &[f32], scale: f32) -> f32 {
        dispatch!(self.set, score(p, q, scale))
    }

    /// Writes up to sixteen rows into a `k × 16` panel.
    pub(crate) fn transpose_rows(self, rows: ScaledRows<'_>, picked: &[u32], panel: &mut [f32]) {
        dispatch!(self.set, transpose_rows(rows, picked, panel));
    }

    /// `p · row` of every picked row, with the bits of [`panel_product`](Self::panel_product).
    pub(crate) fn products(self, p: &[f32], rows: ScaledRows<'_>, picked: &[u32], out: &mut [f32]) {
        dispatch!(self.set, products(p, rows, picked, out));
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
        QuantisedRow::new(dispatch!(self.set, round(row, 1.0, bytes)), bytes)
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
        let rounded = dispatch!(self.set, round(row, scale, bytes));
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

    /// `y += scale · x`.
    pub(crate) fn axpy(self, scale: f32, x: &[f32], y: &mut [f32]) {
        dispatch!(self.set, axpy(scale, x, y));
    }
}
