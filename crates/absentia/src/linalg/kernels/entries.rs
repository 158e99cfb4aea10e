//! Kernels over the entries of a tile whose rows of the fixed side are packed.
//!
//! Packing copies the gathered rows into *lines*, once per half-sweep: for each block of sixteen
//! coordinates, one line of sixteen floats per entry, in the order of the entries. All later steps
//! read memory in order. The entries of all rows of the tile follow each other; sums over sixteen
//! lanes are taken for sixteen entries at a time, even if those belong to several rows.

use super::body::Gathered;
use super::lanes::{LANES, Lanes, Simd};

/// Cache lines to prefetch ahead of the entry being packed.
const LINES_AHEAD: usize = 48;

/// The entries of a tile: `c − a·b`, `c·r`, `p·q` and `c·r − (c − a·b) p·q` of each, in whole lanes.
pub(crate) struct Columns<'a> {
    /// Which row of the tile the entry belongs to.
    pub(crate) rows: &'a [u32],
    /// `d = c − a·b`.
    pub(crate) d: &'a [f32],
    /// `c·r`.
    pub(crate) pull: &'a [f32],
    /// `p·q`.
    pub(crate) predicted: &'a mut [f32],
    /// `c·r − d p·q`, what pulls the row along `q`.
    pub(crate) error: &'a mut [f32],
}

impl Columns<'_> {
    fn check(&self) -> usize {
        let len = self.rows.len();
        assert!(len.is_multiple_of(LANES) && self.d.len() == len && self.pull.len() == len);
        assert!(self.predicted.len() == len && self.error.len() == len);
        len
    }

    /// Sets the predictions of sixteen entries from position `at`, and their errors.
    #[inline(always)]
    fn set<L: Lanes>(&mut self, at: usize, predicted: L) {
        let simd = predicted.simd();
        predicted.store(&mut self.predicted[at..]);
        let pull = simd.load(&self.pull[at..]);
        simd.load(&self.d[at..])
            .mul_sub(predicted, pull)
            .store(&mut self.error[at..]);
    }
}

/// Copies the rows of the first `rows.len()` picks into lines, block after block, and predicts.
///
/// Picks beyond the entries are only prefetched. Blocks share `lines` evenly; lines after the last
/// entry are not written.
#[inline(always)]
pub(super) fn pack<L: Lanes>(
    simd: Simd<L>,
    picked: Gathered<'_>,
    entries: usize,
    factors: &[f32],
    lines: &mut [f32],
    columns: &mut Columns<'_>,
) {
    let (len, k) = (columns.check(), picked.stride);
    assert!(entries <= len && entries <= picked.indices.len() && k.is_multiple_of(LANES));
    let pitch = lines.len() / (k / LANES).max(1);
    assert!(pitch >= len * LANES);
    let ahead = (LINES_AHEAD * LANES).div_ceil(k.max(1));
    let mut first = 0;
    while first < entries {
        let mut sums = [simd.splat(0.0); LANES];
        let group = first..entries.min(first + LANES);
        for (n, slot) in group.zip(&mut sums) {
            if let Some(&index) = picked.indices.get(n + ahead) {
                for at in (0..k).step_by(LANES) {
                    L::prefetch(picked.matrix, index as usize * k + at);
                }
            }
            let p = &factors[columns.rows[n] as usize * k..][..k];
            let q = &picked.matrix[picked.indices[n] as usize * k..][..k];
            let mut sum = simd.splat(0.0);
            let mut place = n * LANES;
            for (p, q) in p.chunks_exact(LANES).zip(q.chunks_exact(LANES)) {
                let q = simd.load(q);
                q.store(&mut lines[place..]);
                sum = simd.load(p).mul_add(q, sum);
                place += pitch;
            }
            *slot = sum;
        }
        columns.set(first, L::sum_sixteen(sums));
        first += LANES;
    }
}

/// Copies sixteen coordinates, from `at`, of every picked row into lines.
#[inline(always)]
pub(super) fn pick<L: Lanes>(simd: Simd<L>, picked: Gathered<'_>, at: usize, lines: &mut [f32]) {
    assert!(at + LANES <= picked.stride && lines.len() >= picked.indices.len() * LANES);
    for (n, (line, &index)) in lines
        .chunks_exact_mut(LANES)
        .zip(picked.indices)
        .enumerate()
    {
        if let Some(&later) = picked.indices.get(n + LINES_AHEAD) {
            L::prefetch(picked.matrix, later as usize * picked.stride + at);
        }
        simd.load(&picked.matrix[index as usize * picked.stride + at..])
            .store(line);
    }
}

/// `out[n] = x_row · q_n` for the packed entries, `x` having a row of K per row of the tile.
#[inline(always)]
pub(super) fn dots<L: Lanes>(
    simd: Simd<L>,
    x: &[f32],
    k: usize,
    rows: &[u32],
    lines: &[f32],
    out: &mut [f32],
) {
    let pitch = lines.len() / (k / LANES).max(1);
    assert!(k.is_multiple_of(LANES) && rows.len() == out.len());
    assert!(rows.len().is_multiple_of(LANES) && pitch >= rows.len() * LANES);
    for first in (0..rows.len()).step_by(LANES) {
        let mut sums = [simd.splat(0.0); LANES];
        let (blocks, rows) = (k / LANES, &rows[first..first + LANES]);
        for block in 0..blocks {
            let lines = &lines[block * pitch + first * LANES..][..LANES * LANES];
            for ((sum, line), &row) in sums.iter_mut().zip(lines.chunks_exact(LANES)).zip(rows) {
                let x = simd.load(&x[row as usize * k + block * LANES..]);
                *sum = x.mul_add(simd.load(line), *sum);
            }
        }
        L::sum_sixteen(sums).store(&mut out[first..]);
    }
}

/// `p·q += δ_row · line` for every entry, and the same for its error. The sixteen steps of each row
/// start a `pitch` after those of the previous row.
#[inline(always)]
pub(super) fn correct<L: Lanes>(
    simd: Simd<L>,
    delta: &[f32],
    pitch: usize,
    lines: &[f32],
    columns: &mut Columns<'_>,
) {
    let len = columns.check();
    assert!(lines.len() >= len * LANES);
    let groups = lines.as_chunks::<{ LANES * LANES }>().0.iter();
    for (first, group) in (0..len).step_by(LANES).zip(groups) {
        let Some(rows) = columns.rows[first..].first_chunk::<LANES>() else {
            break;
        };
        let furthest = rows.iter().fold(0, |most, &row| most.max(row)) as usize;
        let delta = &delta[..furthest * pitch + LANES];
        let mut products = [simd.splat(0.0); LANES];
        for (n, product) in products.iter_mut().enumerate() {
            let start = rows[n] as usize * pitch;
            // SAFETY: `delta` was cut to end after the steps of the last of these rows.
            let step = simd.load(unsafe { delta.get_unchecked(start..start + LANES) });
            *product = step.mul(simd.load(&group[n * LANES..]));
        }
        let change = L::sum_sixteen(products);
        columns.set(first, simd.load(&columns.predicted[first..]).add(change));
    }
}

/// `out += Σ_n coefficients[n] · line_n`, sixteen wide.
#[inline(always)]
pub(super) fn combine_lines<L: Lanes>(
    simd: Simd<L>,
    coefficients: &[f32],
    lines: &[f32],
    out: &mut [f32],
) {
    assert!(lines.len() >= coefficients.len() * LANES);
    // Four sums, because each addition waits for the previous one to the same sum.
    let mut sums = [
        simd.load(out),
        simd.splat(0.0),
        simd.splat(0.0),
        simd.splat(0.0),
    ];
    let (fours, rest) = coefficients.as_chunks::<4>();
    let (blocks, _) = lines.as_chunks::<{ 4 * LANES }>();
    for (four, block) in fours.iter().zip(blocks) {
        for (n, sum) in sums.iter_mut().enumerate() {
            *sum = simd
                .splat(four[n])
                .mul_add(simd.load(&block[n * LANES..]), *sum);
        }
    }
    let tail = lines[4 * fours.len() * LANES..].chunks_exact(LANES);
    for (&coefficient, line) in rest.iter().zip(tail) {
        sums[0] = simd.splat(coefficient).mul_add(simd.load(line), sums[0]);
    }
    let [a, b, c, d] = sums;
    a.add(b).add(c.add(d)).store(out);
}

/// `Σ c (r − p·q)²` and `Σ (a·b) (p·q)²` over entries; a single `c` or `r` applies to all of them.
#[inline(always)]
pub(super) fn losses<L: Lanes>(
    _: Simd<L>,
    c: &[f32],
    r: &[f32],
    predicted: &[f32],
    missing: &[f32],
) -> [f64; 2] {
    let len = predicted.len();
    assert!((c.len() == 1 || c.len() == len) && (r.len() == 1 || r.len() == len));
    assert_eq!(missing.len(), len);
    // One sum per lane, because each addition waits for the previous one to the same sum.
    let (mut observed, mut counted) = ([0.0_f64; LANES], [0.0_f64; LANES]);
    for first in (0..len).step_by(LANES) {
        let end = len.min(first + LANES);
        let (c, r) = (one_or_some(c, first, end), one_or_some(r, first, end));
        let (predicted, missing) = (some_of(predicted, first, end), some_of(missing, first, end));
        for lane in 0..LANES {
            let p = f64::from(predicted[lane]);
            let error = f64::from(r[lane]) - p;
            let weight = if first + lane < len { c[lane] } else { 0.0 };
            observed[lane] += f64::from(weight) * error * error;
            counted[lane] += f64::from(missing[lane]) * p * p;
        }
    }
    [observed.iter().sum(), counted.iter().sum()]
}

/// Sixteen of the values, or the single one sixteen times.
#[inline(always)]
fn one_or_some(values: &[f32], first: usize, end: usize) -> [f32; LANES] {
    match *values {
        [value] => [value; LANES],
        _ => some_of(values, first, end),
    }
}

/// Sixteen of the values, zeros after the last.
#[inline(always)]
fn some_of(values: &[f32], first: usize, end: usize) -> [f32; LANES] {
    if let Some(whole) = values[first..end].first_chunk::<LANES>() {
        return *whole;
    }
    let mut some = [0.0; LANES];
    some[..end - first].copy_from_slice(&values[first..end]);
    some
}

/// Sixteen coordinates of some rows of a matrix.
#[derive(Clone, Copy)]
pub(crate) struct Place {
    /// The first of the coordinates.
    pub(crate) at: usize,
    /// Distance between rows.
    pub(crate) stride: usize,
}

impl Place {
    #[inline(always)]
    fn of(self, row: usize) -> std::ops::Range<usize> {
        let start = row * self.stride + self.at;
        start..start + LANES
    }
}

/// `out = −scale · x` on sixteen coordinates of every row that has a scale.
#[inline(always)]
pub(super) fn pull_back<L: Lanes>(
    simd: Simd<L>,
    scales: &[f32],
    x: &[f32],
    from: Place,
    out: &mut [f32],
    to: Place,
) {
    for (row, &scale) in scales.iter().enumerate() {
        let x = simd.load(&x[from.of(row)]);
        simd.splat(-scale).mul(x).store(&mut out[to.of(row)]);
    }
}

/// `x += steps` on sixteen coordinates of the first `rows` rows.
#[inline(always)]
pub(super) fn advance<L: Lanes>(
    simd: Simd<L>,
    rows: usize,
    steps: &[f32],
    from: Place,
    x: &mut [f32],
    to: Place,
) {
    for row in 0..rows {
        let step = simd.load(&steps[from.of(row)]);
        let slot = &mut x[to.of(row)];
        simd.load(slot).add(step).store(slot);
    }
}

/// Each line multiplied by its weight; after the last weight follows the first again.
#[inline(always)]
pub(super) fn scale_lines<L: Lanes>(
    simd: Simd<L>,
    weights: &[f32],
    lines: &[f32],
    out: &mut [f32],
) {
    assert_eq!(lines.len(), out.len());
    let blocks = lines.chunks(weights.len().max(1) * LANES);
    for (lines, out) in blocks.zip(out.chunks_mut(weights.len().max(1) * LANES)) {
        let pairs = lines.chunks_exact(LANES).zip(out.chunks_exact_mut(LANES));
        for ((line, slot), &weight) in pairs.zip(weights) {
            simd.splat(weight).mul(simd.load(line)).store(slot);
        }
    }
}

/// `|x|²` in four sums of sixteen lanes.
#[inline(always)]
pub(super) fn square<L: Lanes>(simd: Simd<L>, x: &[f32]) -> f32 {
    assert!(x.len().is_multiple_of(LANES));
    let mut sums = [simd.splat(0.0); 4];
    for (n, line) in x.chunks_exact(LANES).enumerate() {
        let x = simd.load(line);
        sums[n % 4] = x.mul_add(x, sums[n % 4]);
    }
    let mut parts = [0.0; 4];
    L::sum_four(sums, &mut parts);
    (parts[0] + parts[1]) + (parts[2] + parts[3])
}
