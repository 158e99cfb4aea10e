//! The caches `S_t = Σ_i b_it q_i q_iᵀ` (the paper's S^q, and S^p for the other side).

use std::ops::Range;
use std::sync::Mutex;

use rayon::prelude::*;

use super::block::SMALL;
use super::locked;
use crate::linalg::kernels::{Form, Gathered, Kernels};
use crate::linalg::{Buffer, Dense, LANES};
use crate::row_sums::{CHUNK_ROWS, RowSum};

/// Rows summed in `f32` before the sum continues in `f64`; a part of a chunk.
const SINGLE_ROWS: usize = 1024;

/// Z symmetric matrices K × K, laid out as the solvers read them.
///
/// `panels` holds, for each block of sixteen columns and each t, the `K × 16` strip `S_t[:, block]`;
/// `diagonals` holds, for each block and each line of its form, the `Z × 16` strip of diagonal blocks.
/// With these, both products of a tile of rows with the caches are plain matrix products.
pub(crate) struct GramCache {
    k: usize,
    z: usize,
    panels: Buffer,
    /// Diagonal blocks, square and folded.
    diagonals: [Buffer; 2],
    /// Diagonals of the matrices: for each block, a line of sixteen per t.
    curvatures: Vec<f32>,
}

impl GramCache {
    /// Sums over all rows of `factors` (padded), each weighted by its row of `weights`.
    pub(crate) fn new(factors: &Dense, weights: &Dense, kernels: Kernels) -> Self {
        let sums = gram_sums(factors, weights, kernels, 0).total();
        Self::of_sums(factors.stride(), weights.cols(), sums)
    }

    /// Takes the [sums](gram_sums) over all rows, of factors with `k` numbers a row, padding included.
    pub(crate) fn of_sums(k: usize, z: usize, sums: Option<Vec<f64>>) -> Self {
        let (blocks, triangle) = (k / LANES, triangle(k));
        let sums = sums.unwrap_or_else(|| vec![0.0; z * triangle]);
        let mut panels = Buffer::default();
        let strips = panels.room(blocks * z * k * LANES);
        let strips = strips.par_chunks_exact_mut(k * LANES).enumerate();
        strips.for_each(|(at, panel)| {
            let sums = &sums[at % z * triangle..(at % z + 1) * triangle];
            unfold(sums, at / z, panel);
        });
        let mut cache = Self {
            k,
            z,
            panels,
            diagonals: Default::default(),
            curvatures: Vec::new(),
        };
        cache.gather_diagonals();
        cache
    }

    /// Yields matrices of zeros, `k` in whole lanes.
    pub(super) fn zeros(k: usize, z: usize) -> Self {
        let mut cache = Self {
            k,
            z,
            panels: Buffer::default(),
            diagonals: Default::default(),
            curvatures: Vec::new(),
        };
        cache.panels.room(k * z * k);
        cache.gather_diagonals();
        cache
    }

    /// `S_t[:, block]`, to be written.
    pub(super) fn panel_mut(&mut self, block: usize, t: usize) -> &mut [f32] {
        let (size, len) = (self.k * LANES, self.k * self.z * self.k);
        let at = (block * self.z + t) * size;
        &mut self.panels.room(len)[at..at + size]
    }

    fn gather_diagonals(&mut self) {
        for (form, diagonals) in Form::ALL.into_iter().zip(&mut self.diagonals) {
            diagonals.room(self.k * self.z * form.lines());
        }
        self.curvatures = vec![0.0; self.k * self.z];
        for block in 0..self.k / LANES {
            for t in 0..self.z {
                self.gather_diagonal(block, t);
            }
        }
    }

    /// Copies the diagonal block of one `S_t` from its panel.
    pub(super) fn gather_diagonal(&mut self, block: usize, t: usize) {
        let z = self.z;
        let square: [f32; SMALL] = {
            let panel = &self.panel(block, t)[block * SMALL..(block + 1) * SMALL];
            std::array::from_fn(|at| panel[at])
        };
        for (form, diagonals) in Form::ALL.into_iter().zip(&mut self.diagonals) {
            let first = block * form.lines();
            let all = diagonals.room(self.k * z * form.lines());
            for line in 0..form.lines() {
                let lanes = &mut all[((first + line) * z + t) * LANES..][..LANES];
                for (lane, slot) in lanes.iter_mut().enumerate() {
                    let (f, g) = form.entry(line * LANES + lane);
                    *slot = square[f * LANES + g];
                }
            }
        }
        let curvatures = &mut self.curvatures[(block * z + t) * LANES..][..LANES];
        for (f, slot) in curvatures.iter_mut().enumerate() {
            *slot = square[f * LANES + f];
        }
    }

    /// Number of weight components Z.
    pub(crate) fn rank(&self) -> usize {
        self.z
    }

    /// `S_t[:, block]`, K lines of sixteen.
    pub(crate) fn panel(&self, block: usize, t: usize) -> &[f32] {
        let size = self.k * LANES;
        let at = (block * self.z + t) * size;
        &self.panels.as_slice()[at..at + size]
    }

    /// The diagonal blocks of all `S_t` on one block: for each line of the form, Z lines of sixteen.
    pub(crate) fn diagonals(&self, form: Form, block: usize) -> &[f32] {
        let size = form.floats() * self.z;
        let all = match form {
            Form::Square => &self.diagonals[0],
            Form::Folded => &self.diagonals[1],
        };
        &all.as_slice()[block * size..(block + 1) * size]
    }

    /// Diagonals of all `S_t` on one block: Z lines of sixteen.
    pub(crate) fn curvatures(&self, block: usize) -> &[f32] {
        let size = self.z * LANES;
        &self.curvatures[block * size..(block + 1) * size]
    }

    /// The diagonal block of the only matrix; nothing if there are several.
    pub(crate) fn only_diagonal(&self, form: Form, block: usize) -> Option<&[f32]> {
        (self.z == 1).then(|| self.diagonals(form, block))
    }

    /// `Σ_t ⟨S_t, other_t⟩`: with S^p and S^q, the weighted squares of all M × N predictions.
    pub(crate) fn inner(&self, other: &Self) -> Inner {
        let mut inner = Inner::default();
        let left = self.panels.as_slice().chunks(1 << 14);
        for (left, right) in left.zip(other.panels.as_slice().chunks(1 << 14)) {
            let mut chunk = Inner::default();
            for (x, y) in left.iter().zip(right) {
                chunk.add(f64::from(*x) * f64::from(*y));
            }
            inner.sum += chunk.sum;
            inner.size += chunk.size;
        }
        inner
    }

    /// The part of [`inner`](Self::inner) that one component makes.
    pub(crate) fn inner_of(&self, other: &Self, t: usize) -> Inner {
        let mut inner = Inner::default();
        for block in 0..self.k / LANES {
            let mut panel = Inner::default();
            for (x, y) in self.panel(block, t).iter().zip(other.panel(block, t)) {
                panel.add(f64::from(*x) * f64::from(*y));
            }
            inner.sum += panel.sum;
            inner.size += panel.size;
        }
        inner
    }

    /// [`inner`](Self::inner) without some components.
    pub(crate) fn inner_but(&self, other: &Self, without: &[usize]) -> Inner {
        if without.is_empty() {
            return self.inner(other);
        }
        let mut inner = Inner::default();
        for t in (0..self.z).filter(|t| !without.contains(t)) {
            let part = self.inner_of(other, t);
            inner.sum += part.sum;
            inner.size += part.size;
        }
        inner
    }

    /// Bytes of the caches of one side.
    pub(crate) fn stored_bytes(k: usize, z: usize) -> u64 {
        let (k, z) = (k.next_multiple_of(LANES) as u64, z as u64);
        let diagonal: u64 = Form::ALL.iter().map(|form| form.lines() as u64).sum();
        let square = (k * k).saturating_mul(z);
        let diagonals = k.saturating_mul(z).saturating_mul(diagonal);
        square.saturating_add(diagonals).saturating_mul(4)
    }

    /// Bytes that building the caches of one side with `rows` rows takes beside them.
    pub(crate) fn building_bytes(rows: usize, k: usize, z: usize) -> u64 {
        let k = k.next_multiple_of(LANES);
        let (grain, chunks) = (grain(rows, k, z), rows.div_ceil(CHUNK_ROWS));
        let partial = (chunks.div_ceil(grain) * levels(grain)).min(chunks) as u64;
        let sums = (triangle(k) as u64).saturating_mul(z as u64);
        sums.saturating_mul(8 * (partial + 1))
    }
}

/// A sum of products, and the sum of their absolute values, to which its rounding is proportional.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Inner {
    pub(crate) sum: f64,
    pub(crate) size: f64,
}

impl Inner {
    pub(super) fn add(&mut self, product: f64) {
        self.sum += product;
        self.size += product.abs();
    }
}

/// Numbers of the blocks on and below the diagonal of a K × K matrix.
fn triangle(k: usize) -> usize {
    block_at(k / LANES, 0)
}

/// Offset of such a block: blocks are stored row by row, each contiguous.
fn block_at(row: usize, col: usize) -> usize {
    (row * (row + 1) / 2 + col) * SMALL
}

/// Writes a strip of sixteen columns of the matrix that has these blocks below its diagonal.
fn unfold(triangle: &[f64], block: usize, panel: &mut [f32]) {
    for (row, lines) in panel.chunks_exact_mut(SMALL).enumerate() {
        let from = &triangle[block_at(row.max(block), row.min(block))..][..SMALL];
        for (at, slot) in lines.iter_mut().enumerate() {
            let (f, g) = (at / LANES, at % LANES);
            // Of blocks on the diagonal the lower triangle alone is taken: sums in another order
            // are not the same to the last bit.
            let transposed = row < block || (row == block && f < g);
            *slot = from[if transposed { g * LANES + f } else { at }] as f32;
        }
    }
}

/// Chunks that are summed by one task, so that the tasks' sums, one for each level of the tree below
/// them, take about 64 MiB; at least four tasks. Does not change the result.
fn grain(rows: usize, k: usize, z: usize) -> usize {
    let (chunks, bytes) = (rows.div_ceil(CHUNK_ROWS), 8 * triangle(k) * z);
    let grain = |tasks: usize| chunks.div_ceil(tasks).next_power_of_two();
    let fits = |tasks: &usize| (tasks * levels(grain(*tasks))).saturating_mul(bytes) <= 64 << 20;
    grain([32, 16, 8].into_iter().find(fits).unwrap_or(4))
}

/// Number of sums that a task holds while it sums `grain` chunks.
fn levels(grain: usize) -> usize {
    grain.ilog2() as usize + 2
}

/// Blocks on and below the diagonals of the Z sums, in `f64`, over rows that begin with chunk `first` of
/// the whole matrix.
pub(crate) fn gram_sums(
    factors: &Dense,
    weights: &Dense,
    kernels: Kernels,
    first: usize,
) -> RowSum<Vec<f64>> {
    let (z, k) = (weights.cols(), factors.stride());
    let triangle = triangle(k);
    let pool: Mutex<Vec<ChunkScratch>> = Mutex::default();
    let of_chunk = |rows: Range<usize>| {
        let mut scratch = locked(&pool).pop().unwrap_or_else(|| ChunkScratch::new(k));
        let mut sums = vec![0.0_f64; z * triangle];
        for first in rows.clone().step_by(SINGLE_ROWS) {
            let range = first..rows.end.min(first + SINGLE_ROWS);
            for t in 0..z {
                scratch.add_chunk(factors, weights, t, range.clone(), kernels);
                scratch.flush(&mut sums[t * triangle..(t + 1) * triangle]);
            }
        }
        locked(&pool).push(scratch);
        sums
    };
    let grain = grain(factors.rows(), k, z);
    RowSum::over_part(first, factors.rows(), grain, &of_chunk)
}

/// The `f32` sums of one chunk.
struct ChunkScratch {
    k: usize,
    /// Rows and columns of the blocks, in the order in which they are summed.
    order: Vec<(usize, usize)>,
    sums: Vec<f32>,
    weights: Vec<f32>,
    indices: Vec<u32>,
    /// Lines of a few rows, block after block, and the same multiplied by the rows' weights.
    lines: Buffer,
    scaled: Buffer,
}

/// Rows whose lines are summed together: two blocks of them fit the first-level cache.
const STRIP: usize = 128;

/// Blocks of a square of blocks that is summed before the next one, so that the lines of both its
/// sides are read out of the second-level cache.
const SQUARE: usize = 16;

impl ChunkScratch {
    fn new(k: usize) -> Self {
        Self {
            k,
            order: order(k / LANES),
            sums: vec![0.0; triangle(k)],
            weights: Vec::with_capacity(SINGLE_ROWS),
            indices: Vec::with_capacity(SINGLE_ROWS),
            lines: Buffer::default(),
            scaled: Buffer::default(),
        }
    }

    fn add_chunk(
        &mut self,
        factors: &Dense,
        weights: &Dense,
        t: usize,
        rows: Range<usize>,
        kernels: Kernels,
    ) {
        self.weights.clear();
        self.indices.clear();
        for row in rows {
            let weight = weights.row(row)[t];
            // Group weights are mostly zero: such rows add nothing.
            if weight != 0.0 {
                self.weights.push(weight);
                self.indices.push(row as u32);
            }
        }
        for first in (0..self.indices.len()).step_by(STRIP) {
            let len = STRIP.min(self.indices.len() - first);
            self.load_strip(factors, first..first + len, kernels);
            let (lines, scaled) = (self.lines.as_slice(), self.scaled.as_slice());
            let line = len * LANES;
            for &(f, g) in &self.order {
                let sums = &mut self.sums[block_at(f, g)..];
                let left = &lines[f * line..(f + 1) * line];
                let right = &scaled[g * line..(g + 1) * line];
                kernels.cross(None, left, right, sums, LANES);
            }
        }
    }

    fn load_strip(&mut self, factors: &Dense, range: Range<usize>, kernels: Kernels) {
        let len = range.len();
        let picked = Gathered {
            matrix: factors.as_slice(),
            stride: factors.stride(),
            indices: &self.indices[range.clone()],
        };
        let lines = self.lines.room(self.k * len);
        for (block, lines) in lines.chunks_exact_mut(len * LANES).enumerate() {
            kernels.pick(picked, block * LANES, lines);
        }
        let scaled = self.scaled.room(self.k * len);
        kernels.scale_lines(&self.weights[range], lines, scaled);
    }

    fn flush(&mut self, into: &mut [f64]) {
        for (sum, chunk) in into.iter_mut().zip(&mut self.sums) {
            *sum += f64::from(*chunk);
            *chunk = 0.0;
        }
    }
}

/// Rows and columns of all blocks on and below the diagonal, square by square.
fn order(blocks: usize) -> Vec<(usize, usize)> {
    let mut all: Vec<_> = (0..blocks)
        .flat_map(|row| (0..=row).map(move |col| (row, col)))
        .collect();
    all.sort_by_key(|&(row, col)| (row / SQUARE, col / SQUARE));
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn caches_of_many_blocks_are_sums_of_weighted_outer_products() {
        // More blocks than a square of them has, and more rows than a strip.
        let (rows, k, z) = (STRIP + 5, (SQUARE + 2) * LANES, 2);
        let value = |row: usize, f: usize| ((row * 31 + f * 17) % 13) as f32 - 6.0;
        let weight = |row: usize, t: usize| ((row + 3 * t) % 5) as f32;
        let mut factors = Dense::padded(rows, k);
        for row in 0..rows {
            let row_mut = factors.row_mut(row);
            (0..k).for_each(|f| row_mut[f] = value(row, f));
        }
        let cache = GramCache::new(
            &factors,
            &Dense::from_fn(rows, z, weight),
            Kernels::in_use(),
        );
        for (t, f, g) in [
            (0, 0, 0),
            (1, 3, 270),
            (0, 270, 3),
            (1, 287, 286),
            (0, 256, 255),
        ] {
            // Sums of whole numbers are exact in any order.
            let sum: f32 = (0..rows)
                .map(|row| weight(row, t) * value(row, f) * value(row, g))
                .sum();
            let panel = cache.panel(g / LANES, t);
            let found = panel[f * LANES + g % LANES];
            assert!((found - sum).abs() < 0.5, "S_{t}[{f}, {g}]: {found}, {sum}");
        }
    }

    #[test]
    fn caches_are_symmetric_to_the_last_bit() {
        let (rows, k) = (200, 3 * LANES);
        let factors = Dense::from_fn(rows, k, |row, f| ((row * 31 + f * 17) % 101) as f32 / 7.0);
        let weights = Dense::from_fn(rows, 1, |row, _| 1.0 / (row + 3) as f32);
        let cache = GramCache::new(&factors, &weights, Kernels::in_use());
        let entry = |f: usize, g: usize| cache.panel(g / LANES, 0)[f * LANES + g % LANES];
        for f in 0..k {
            assert!((0..f).all(|g| entry(f, g).to_bits() == entry(g, f).to_bits()));
        }
    }

    #[test]
    fn sums_of_any_ranges_of_chunks_merge_to_the_same_bits() {
        let (rows, k) = (5 * CHUNK_ROWS + 77, 2 * LANES);
        let factors = Dense::from_fn(rows, k, |row, f| ((row * 31 + f * 17) % 101) as f32 / 7.0);
        let weights = Dense::from_fn(rows, 2, |row, t| 1.0 / (row + 3 * t + 1) as f32);
        let kernels = Kernels::in_use();
        let part = |chunks: Range<usize>| {
            let first = chunks.start * CHUNK_ROWS;
            let part = |matrix: &Dense| {
                let end = rows.min(chunks.end * CHUNK_ROWS);
                Dense::from_fn(end - first, matrix.cols(), |row, col| {
                    matrix.row(first + row)[col]
                })
            };
            gram_sums(&part(&factors), &part(&weights), kernels, chunks.start)
        };
        let whole = part(0..6).total().unwrap();
        for cuts in [[0, 1, 6], [0, 3, 6], [0, 5, 6]] {
            let (left, right) = (part(cuts[0]..cuts[1]), part(cuts[1]..cuts[2]));
            let merged = right.merge(left).total().unwrap();
            assert!(
                merged
                    .iter()
                    .zip(&whole)
                    .all(|(x, y)| x.to_bits() == y.to_bits())
            );
        }
    }

    #[test]
    fn every_block_is_summed_once() {
        let mut all = order(2 * SQUARE + 3);
        all.sort_unstable();
        let places: Vec<usize> = all.iter().map(|&(f, g)| block_at(f, g)).collect();
        let expected = (0..places.len()).map(|at| at * SMALL);
        assert!(places.iter().copied().eq(expected));
    }
}
