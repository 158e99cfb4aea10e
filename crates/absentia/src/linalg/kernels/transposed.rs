//! Rows of a matrix transposed in registers, sixteen at a time: one line per coordinate.
//!
//! Sums over the lines have, for each row, the order and the rounding of
//! [`panel_product`](super::body::panel_product).

use super::lanes::{LANES, Lanes, Simd};

/// Rows of `k` floats, a `stride` apart, each multiplied by its scale if there is one.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ScaledRows<'a> {
    /// The rows.
    pub(crate) matrix: &'a [f32],
    /// Distance between rows.
    pub(crate) stride: usize,
    /// Length of a row.
    pub(crate) k: usize,
    /// One number per row.
    pub(crate) scale: Option<&'a [f32]>,
}

impl ScaledRows<'_> {
    /// Starts of up to sixteen rows; the last is repeated for those that are missing.
    #[inline(always)]
    fn starts(&self, picked: &[u32]) -> [usize; LANES] {
        let mut starts = [0; LANES];
        for (lane, start) in starts.iter_mut().enumerate() {
            *start = picked[lane.min(picked.len() - 1)] as usize * self.stride;
            assert!(*start + self.k <= self.matrix.len());
        }
        starts
    }

    /// Scales of up to sixteen rows.
    #[inline(always)]
    fn scales<L: Lanes>(&self, simd: Simd<L>, picked: &[u32]) -> Option<L> {
        let scale = self.scale?;
        let mut scales = [1.0; LANES];
        for (slot, &row) in scales.iter_mut().zip(picked) {
            *slot = scale[row as usize];
        }
        Some(simd.load(&scales))
    }
}

/// Calls `see` with every coordinate of up to sixteen rows, in order, and prefetches later rows.
#[inline(always)]
fn visit<L: Lanes>(
    simd: Simd<L>,
    rows: ScaledRows<'_>,
    picked: &[u32],
    later: &[u32],
    mut see: impl FnMut(usize, L),
) {
    let (starts, scales) = (rows.starts(picked), rows.scales::<L>(simd, picked));
    let mut see = |f: usize, column: L| match scales {
        Some(scales) => see(f, column.mul(scales)),
        None => see(f, column),
    };
    let whole = rows.k - rows.k % LANES;
    for at in (0..whole).step_by(LANES) {
        for &row in later.iter().take(LANES) {
            L::prefetch(rows.matrix, row as usize * rows.stride + at);
        }
        let mut lines = [simd.splat(0.0); LANES];
        for (line, start) in lines.iter_mut().zip(starts) {
            // SAFETY: `starts` has checked that `k` floats from each start are in the matrix.
            *line = simd.load(unsafe { rows.matrix.get_unchecked(start + at..start + at + LANES) });
        }
        // Four times four, because columns must stay in registers and longer loops are not unrolled.
        let columns = L::transpose(lines);
        let (fours, _) = columns.as_chunks::<4>();
        for (n, column) in fours[0].iter().enumerate() {
            see(at + n, *column);
        }
        for (n, column) in fours[1].iter().enumerate() {
            see(at + 4 + n, *column);
        }
        for (n, column) in fours[2].iter().enumerate() {
            see(at + 8 + n, *column);
        }
        for (n, column) in fours[3].iter().enumerate() {
            see(at + 12 + n, *column);
        }
    }
    for f in whole..rows.k {
        see(f, simd.load(&starts.map(|start| rows.matrix[start + f])));
    }
}

/// Writes up to sixteen rows into a `k × 16` panel; the lanes of missing ones may hold anything.
#[inline(always)]
pub(super) fn transpose_rows<L: Lanes>(
    simd: Simd<L>,
    rows: ScaledRows<'_>,
    picked: &[u32],
    panel: &mut [f32],
) {
    assert!(panel.len() >= rows.k * LANES && picked.len() <= LANES);
    if !picked.is_empty() {
        let (lines, _) = panel.as_chunks_mut::<LANES>();
        visit::<L>(simd, rows, picked, &[], |f, column| {
            column.store(&mut lines[f]);
        });
    }
}

/// `out[n] = p · row` of every picked row; `out` has room for whole lanes.
#[inline(always)]
pub(super) fn products<L: Lanes>(
    simd: Simd<L>,
    p: &[f32],
    rows: ScaledRows<'_>,
    picked: &[u32],
    out: &mut [f32],
) {
    assert!(p.len() == rows.k && out.len() >= picked.len().next_multiple_of(LANES));
    for (at, some) in picked.chunks(LANES).enumerate() {
        let later = picked.get((at + 1) * LANES..).unwrap_or_default();
        let mut sum = simd.splat(0.0);
        visit::<L>(simd, rows, some, later, |f, column| {
            sum = simd.splat(p[f]).mul_add(column, sum);
        });
        // `panel_product` adds its sums to zeros, which turns −0 into 0.
        sum.add(simd.splat(0.0)).store(&mut out[at * LANES..]);
    }
}
