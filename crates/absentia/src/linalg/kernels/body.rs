//! Kernels over any lane type. Each checks the lengths of its arguments once, at its start.

use super::lanes::{LANES, Lanes, Simd};

/// Rows of a matrix picked by index: the fixed side as one row's entries see it.
#[derive(Clone, Copy)]
pub(crate) struct Gathered<'a> {
    /// The whole matrix, rows `stride` floats apart.
    pub(crate) matrix: &'a [f32],
    /// Distance between rows, a multiple of the lanes.
    pub(crate) stride: usize,
    /// The rows picked.
    pub(crate) indices: &'a [u32],
}

impl<'a> Gathered<'a> {
    /// Sixteen floats of picked row `n`, from column `at`.
    #[inline(always)]
    fn lanes(&self, n: usize, at: usize) -> &'a [f32] {
        let start = self.indices[n] as usize * self.stride + at;
        &self.matrix[start..start + LANES]
    }

    /// Prefetches sixteen floats of picked row `n`, if there is one.
    #[inline(always)]
    fn prefetch<L: Lanes>(&self, n: usize, at: usize) {
        if let Some(&index) = self.indices.get(n) {
            L::prefetch(self.matrix, index as usize * self.stride + at);
        }
    }

    #[inline(always)]
    fn len(&self) -> usize {
        self.indices.len()
    }
}

/// The left factor of a product: `rows` rows of `k` floats, `stride` apart.
#[derive(Clone, Copy)]
pub(crate) struct StridedRows<'a> {
    /// The rows.
    pub(crate) values: &'a [f32],
    /// Distance between rows.
    pub(crate) stride: usize,
    /// Number of rows.
    pub(crate) rows: usize,
    /// Length of each row that takes part.
    pub(crate) k: usize,
}

/// Picked rows to prefetch ahead: they are in no order that the processor could predict.
const AHEAD: usize = 8;

/// Number of sums that [`peak`] adds to.
#[inline(always)]
pub(super) fn peak_chains<L: Lanes, const CHAINS: usize>(_: Simd<L>) -> usize {
    CHAINS
}

/// Fused multiply-adds without reading or writing memory, to measure their rate.
#[inline(always)]
pub(super) fn peak<L: Lanes, const CHAINS: usize>(simd: Simd<L>, steps: usize, seed: f32) -> f32 {
    let factor = simd.splat(seed);
    let mut sums = [factor; CHAINS];
    for _ in 0..steps {
        for sum in &mut sums {
            *sum = sum.mul_add(factor, factor);
        }
    }
    let mut total = simd.splat(0.0);
    for sum in sums {
        total = total.add(sum);
    }
    total.first()
}

#[inline(always)]
pub(super) fn predict<L: Lanes>(simd: Simd<L>, p: &[f32], gathered: Gathered<'_>, out: &mut [f32]) {
    assert_eq!(out.len(), gathered.len());
    assert!(p.len() <= gathered.stride && p.len().is_multiple_of(LANES));
    let mut groups = out.chunks_exact_mut(4);
    let mut n = 0;
    for group in &mut groups {
        let mut sums = [simd.splat(0.0); 4];
        for at in (0..p.len()).step_by(LANES) {
            let p_at = simd.load(&p[at..]);
            for (lane, sum) in sums.iter_mut().enumerate() {
                gathered.prefetch::<L>(n + lane + AHEAD, at);
                *sum = p_at.mul_add(simd.load(gathered.lanes(n + lane, at)), *sum);
            }
        }
        L::sum_four(sums, group);
        n += 4;
    }
    for slot in groups.into_remainder() {
        let mut sum = simd.splat(0.0);
        for at in (0..p.len()).step_by(LANES) {
            sum = simd
                .load(&p[at..])
                .mul_add(simd.load(gathered.lanes(n, at)), sum);
        }
        let mut alone = [0.0; 4];
        L::sum_four([sum; 4], &mut alone);
        *slot = alone[0];
        n += 1;
    }
}

#[inline(always)]
pub(super) fn combine<L: Lanes>(
    simd: Simd<L>,
    coefficients: &[f32],
    at: usize,
    gathered: Gathered<'_>,
    out: &mut [f32],
) {
    assert_eq!(coefficients.len(), gathered.len());
    assert!(out.len().is_multiple_of(LANES) && at + out.len() <= gathered.stride);
    for (f, slot) in out.chunks_exact_mut(LANES).enumerate() {
        // Two sums, because each addition waits for the previous one to the same sum.
        let mut sums = [simd.load(slot), simd.splat(0.0)];
        for (n, &coefficient) in coefficients.iter().enumerate() {
            let q = simd.load(gathered.lanes(n, at + f * LANES));
            sums[n % 2] = simd.splat(coefficient).mul_add(q, sums[n % 2]);
        }
        sums[0].add(sums[1]).store(slot);
    }
}

#[inline(always)]
pub(super) fn panel_product<L: Lanes, const ROWS: usize>(
    simd: Simd<L>,
    x: StridedRows<'_>,
    panel: &[f32],
    scale: Option<&[f32]>,
    out: &mut [f32],
    pitch: usize,
) {
    assert!(panel.len() >= x.k * LANES && x.k <= x.stride);
    assert!(x.rows == 0 || x.values.len() >= (x.rows - 1) * x.stride + x.k);
    assert!(scale.is_none_or(|scale| scale.len() >= x.rows));
    let mut row = 0;
    while row + ROWS <= x.rows {
        panel_rows::<L, ROWS>(simd, x, row, panel, scale, out, pitch);
        row += ROWS;
    }
    if row + 4 <= x.rows {
        panel_rows::<L, 4>(simd, x, row, panel, scale, out, pitch);
        row += 4;
    }
    if row + 2 <= x.rows {
        panel_rows::<L, 2>(simd, x, row, panel, scale, out, pitch);
        row += 2;
    }
    if row < x.rows {
        panel_rows::<L, 1>(simd, x, row, panel, scale, out, pitch);
    }
}

/// `ROWS` rows of a product. The sum of a row runs over `k` in order and does not depend on the
/// other rows.
#[inline(always)]
fn panel_rows<L: Lanes, const ROWS: usize>(
    simd: Simd<L>,
    x: StridedRows<'_>,
    first: usize,
    panel: &[f32],
    scale: Option<&[f32]>,
    out: &mut [f32],
    pitch: usize,
) {
    let mut rows: [&[f32]; ROWS] = [&[]; ROWS];
    for (row, slot) in rows.iter_mut().enumerate() {
        *slot = &x.values[(first + row) * x.stride..][..x.k];
    }
    let mut sums = [simd.splat(0.0); ROWS];
    for (f, line) in panel[..x.k * LANES].chunks_exact(LANES).enumerate() {
        let line = simd.load(line);
        for (row, sum) in rows.iter().zip(&mut sums) {
            *sum = simd.splat(row[f]).mul_add(line, *sum);
        }
    }
    for (row, sum) in sums.into_iter().enumerate() {
        let slot = &mut out[(first + row) * pitch..][..LANES];
        let scale = scale.map_or(1.0, |scale| scale[first + row]);
        simd.splat(scale).mul_add(sum, simd.load(slot)).store(slot);
    }
}

#[inline(always)]
pub(super) fn axpy<L: Lanes>(_: Simd<L>, scale: f32, x: &[f32], y: &mut [f32]) {
    assert_eq!(x.len(), y.len());
    for (slot, value) in y.iter_mut().zip(x) {
        *slot += scale * value;
    }
}

/// Factorises the lower triangle of `h` (n × n, rows a `pitch` apart) as L D Lᵀ in place and
/// replaces the right-hand side `x` by the solution.
///
/// A pivot that is not above its `floor` counts as zero and its unknown stays 0. Yields the first
/// pivot below minus its floor, if any: then `h` was not positive semidefinite.
#[inline(always)]
pub(super) fn solve_semidefinite<L: Lanes>(
    simd: Simd<L>,
    h: &mut [f32],
    pitch: usize,
    floor: &[f32],
    x: &mut [f32],
    column: &mut [f32],
) -> Option<f32> {
    let n = x.len();
    assert!(
        floor.len() == n
            && column.len() >= n
            && pitch >= n
            && (n == 0 || h.len() >= (n - 1) * pitch + n)
    );
    let mut negative = None;
    for j in 0..n {
        let pivot = h[j * pitch + j];
        let inverse = if pivot > floor[j] { 1.0 / pivot } else { 0.0 };
        if pivot < -floor[j] && negative.is_none() {
            negative = Some(pivot);
        }
        for i in j + 1..n {
            column[i] = h[i * pitch + j];
        }
        for i in j + 1..n {
            let row = &mut h[i * pitch..i * pitch + n];
            let factor = column[i] * inverse;
            row[j] = factor;
            axpy(simd, -factor, &column[j + 1..=i], &mut row[j + 1..=i]);
        }
        h[j * pitch + j] = inverse;
    }
    solve_factored(simd, h, pitch, x);
    negative
}

/// Solves with a factorised matrix: L below the diagonal, reciprocal pivots on it.
#[inline(always)]
fn solve_factored<L: Lanes>(simd: Simd<L>, h: &[f32], pitch: usize, x: &mut [f32]) {
    for i in 0..x.len() {
        let (done, rest) = x.split_at_mut(i);
        let sum: f32 = h[i * pitch..]
            .iter()
            .zip(done.iter())
            .map(|(l, x)| l * x)
            .sum();
        rest[0] -= sum;
    }
    for (i, slot) in x.iter_mut().enumerate() {
        *slot *= h[i * pitch + i];
    }
    for i in (1..x.len()).rev() {
        let (before, rest) = x.split_at_mut(i);
        axpy(simd, -rest[0], &h[i * pitch..i * pitch + i], before);
    }
}

/// `Σ_f p[f] · (q[f] · scale)` in the order and with the roundings of [`panel_product`], so that a
/// pair scored alone has the bits it has in a ranking.
#[inline(always)]
pub(super) fn score<L: Lanes>(simd: Simd<L>, p: &[f32], q: &[f32], scale: f32) -> f32 {
    assert_eq!(p.len(), q.len());
    let mut sum = simd.splat(0.0);
    for (p, q) in p.iter().zip(q) {
        sum = simd.splat(*p).mul_add(simd.splat(q * scale), sum);
    }
    sum.first()
}
