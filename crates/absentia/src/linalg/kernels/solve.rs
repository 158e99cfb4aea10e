//! Exact minima of sixteen small quadratics at once, one per lane.
//!
//! The matrices are transposed, so that one line holds the same entry of all sixteen, and factorised
//! as L D Lᵀ, four rows at a time. What earlier rows subtract from a 4 × 4 block is summed in
//! registers: memory is read once per two multiply-adds and written once.
// Indices into several triangles at once, and loops of constant length that must unroll.
#![allow(clippy::needless_range_loop)]

use super::grams::Form;
use super::lanes::{LANES, Lanes, Simd};
use super::steps::Quadratics;

/// Rows and columns handled at a time.
const SIDE: usize = 4;
/// Lines of an upper triangle; row `16 − f` is stored in the unused part of row `f`.
const TRIANGLE: usize = (LANES / 2 + 1) * LANES;
/// The numbers of a triangle, each a line with one lane per matrix.
type Triangle = [f32; TRIANGLE * LANES];
/// Numbers of whole matrices.
type Square = [f32; LANES * LANES * LANES];
/// Columns of L above a block, a line each.
type Above = [f32; LANES * SIDE * LANES];

/// Scratch memory of [`solve`]; its contents do not matter.
#[repr(align(64))]
pub(crate) struct Solving {
    /// The matrices.
    h: Triangle,
    /// Their factors.
    v: Square,
    above: Above,
}

impl Default for Solving {
    fn default() -> Self {
        Self {
            h: [0.0; TRIANGLE * LANES],
            v: [0.0; LANES * LANES * LANES],
            above: [0.0; LANES * SIDE * LANES],
        }
    }
}

/// The outcome of solving sixteen quadratics, one per lane.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Solved {
    /// One bit per lane: whether its step may not improve the row.
    pub(crate) unsure: u16,
    /// The first row with a pivot below zero by more than rounding, and the pivot.
    pub(crate) negative: Option<(usize, f32)>,
}

/// Exact minima of up to sixteen quadratics from row `first`, whose matrices are folded. All slices
/// but that of the penalties must have room for sixteen rows.
///
/// A pivot that does not exceed the rounding error of its diagonal counts as zero, and its coordinate
/// stays unchanged.
#[inline(always)]
pub(super) fn solve<L: Lanes>(
    simd: Simd<L>,
    rows: &Quadratics<'_>,
    first: usize,
    floor: f32,
    work: &mut Solving,
    delta: &mut [f32],
) -> Solved {
    let (start, len) = (first * LANES, rows.penalty.len().saturating_sub(first));
    let Solving { h, v, above } = work;
    let mut penalty = [0.0; LANES];
    penalty[..len.min(LANES)].copy_from_slice(&rows.penalty[first..first + len.min(LANES)]);
    unfold::<L>(&rows.h[first * FOLDED..], simd.load(&penalty), h);
    let g = across::<L>(simd, &rows.g[start..]);
    let mut floors = across::<L>(simd, &rows.base[start..]);
    for (f, slot) in floors.iter_mut().enumerate() {
        let rounding = line::<L>(simd, h, f, f).abs();
        let rounding = rounding.mul(simd.splat(16.0 * f32::EPSILON));
        *slot = slot.abs().mul(simd.splat(floor)).max(rounding);
    }
    let mut x = g;
    let lowest = factor(h, &floors, &mut x, v, above);
    substitute_back(v, &mut x);
    let mut solved = Solved {
        unsure: unsure(h, &g, &x) & (u16::MAX >> (LANES - len.clamp(1, LANES))),
        negative: None,
    };
    if lowest.is_negative() {
        let mut found = [0.0; LANES];
        lowest.store(&mut found);
        let negative = |(lane, pivot): (usize, f32)| (pivot < 0.0).then_some((first + lane, pivot));
        solved.negative = found.into_iter().enumerate().take(len).find_map(negative);
    }
    put_all(&L::transpose(x), &mut delta[start..start + LANES * LANES]);
    solved
}

/// Where the line of row `f` and column `g ≥ f` of a triangle starts.
#[inline(always)]
const fn place(f: usize, g: usize) -> usize {
    if f <= LANES / 2 {
        (f * LANES + g) * LANES
    } else {
        ((LANES - f) * LANES + g - f) * LANES
    }
}

#[inline(always)]
fn line<L: Lanes>(simd: Simd<L>, triangle: &Triangle, f: usize, g: usize) -> L {
    simd.load(&triangle[place(f, g)..])
}

/// Sixteen lines transposed, so that each result has one number of each line.
#[inline(always)]
fn across<L: Lanes>(simd: Simd<L>, from: &[f32]) -> [L; LANES] {
    let from = &from[..LANES * LANES];
    let mut lines = [simd.splat(0.0); LANES];
    for (line, from) in lines.iter_mut().zip(from.chunks_exact(LANES)) {
        *line = simd.load(from);
    }
    L::transpose(lines)
}

#[inline(always)]
fn put_all<L: Lanes>(lines: &[L; LANES], to: &mut [f32]) {
    // Four times four, because longer loops are not unrolled.
    let (to, _) = to.as_chunks_mut::<{ SIDE * LANES }>();
    for (four, to) in lines.as_chunks::<SIDE>().0.iter().zip(to) {
        for n in 0..SIDE {
            four[n].store(&mut to[n * LANES..]);
        }
    }
}

/// Numbers of a folded matrix.
const FOLDED: usize = Form::Folded.floats();

/// Where in a triangle each of them is stored.
const PLACES: [usize; FOLDED] = {
    let mut places = [0; FOLDED];
    let mut at = 0;
    while at < FOLDED {
        let (f, g) = Form::Folded.entry(at);
        places[at] = if f < g { place(f, g) } else { place(g, f) };
        at += 1;
    }
    places
};

/// Sixteen folded matrices with their penalties as triangles, a lane per matrix.
#[inline(always)]
fn unfold<L: Lanes>(from: &[f32], penalty: L, h: &mut Triangle) {
    let simd = penalty.simd();
    let from = &from[..LANES * FOLDED];
    for (line, places) in PLACES.chunks_exact(LANES).enumerate() {
        let mut lines = [simd.splat(0.0); LANES];
        for (slot, from) in lines.iter_mut().zip(from.chunks_exact(FOLDED)) {
            *slot = simd.load(&from[line * LANES..]);
        }
        let columns = L::transpose(lines);
        // Four times four, because longer loops are not unrolled.
        let places = places.as_chunks::<SIDE>().0.iter();
        for (four, places) in columns.as_chunks::<SIDE>().0.iter().zip(places) {
            for n in 0..SIDE {
                four[n].store(&mut h[places[n]..]);
            }
        }
    }
    for f in 0..LANES {
        let slot = &mut h[place(f, f)..];
        simd.load(slot).add(penalty).store(slot);
    }
}

/// Four times four lines in registers.
type FourByFour<L> = [[L; SIDE]; SIDE];

/// Factorises `h` into `v`, whose rows are those of Lᵀ times their pivots, with reciprocal pivots
/// on the diagonal, and replaces `x = g` by L⁻¹ g. Yields the lowest of each lane's pivots that
/// are negative by more than its floor.
#[inline(always)]
fn factor<L: Lanes>(
    h: &Triangle,
    floors: &[L; LANES],
    x: &mut [L; LANES],
    v: &mut Square,
    above: &mut Above,
) -> L {
    let simd = x[0].simd();
    let mut lowest = simd.splat(0.0);
    for first in (0..LANES).step_by(SIDE) {
        let mut own_x = forward(v, first, x, above);
        let mut own = reduced::<L, true>(simd, h, v, above, first, first);
        for k in 0..SIDE {
            let inverse = own[k][k].reciprocal_above(floors[first + k]);
            lowest = lowest.min(own[k][k].add(floors[first + k]));
            own[k][k] = inverse;
            for n in k + 1..SIDE {
                let factor = own[k][n].mul(inverse);
                for m in n..SIDE {
                    own[n][m] = factor.mul_sub(own[k][m], own[n][m]);
                }
                own_x[n] = factor.mul_sub(own_x[k], own_x[n]);
            }
        }
        x[first..first + SIDE].copy_from_slice(&own_x);
        store_block(&own, v, first, first);
        for column in (first + SIDE..LANES).step_by(SIDE) {
            let mut block = reduced::<L, false>(simd, h, v, above, first, column);
            for k in 0..SIDE {
                for n in k + 1..SIDE {
                    let factor = own[k][n].mul(own[k][k]);
                    for m in 0..SIDE {
                        block[n][m] = factor.mul_sub(block[k][m], block[n][m]);
                    }
                }
            }
            store_block(&block, v, first, column);
        }
    }
    lowest
}

/// Columns of L: the rows of `v` above row `first`, at its block, times their reciprocal pivots.
/// Yields g of this block, less what those rows subtract.
#[inline(always)]
fn forward<L: Lanes>(v: &Square, first: usize, x: &[L; LANES], above: &mut Above) -> [L; SIDE] {
    let simd = x[0].simd();
    let mut own = four(x, first);
    let rows = v.chunks_exact(LANES * LANES).zip(x).take(first);
    let above = above.chunks_exact_mut(SIDE * LANES);
    for (k, ((row, x), above)) in rows.zip(above).enumerate() {
        let inverse = simd.load(&row[k * LANES..]);
        let row = &row[first * LANES..(first + SIDE) * LANES];
        for n in 0..SIDE {
            let factor = simd.load(&row[n * LANES..]).mul(inverse);
            factor.store(&mut above[n * LANES..]);
            own[n] = factor.mul_sub(*x, own[n]);
        }
    }
    own
}

/// A block of `h` less what the rows above it subtract; of a diagonal block, the upper triangle.
#[inline(always)]
fn reduced<L: Lanes, const DIAGONAL: bool>(
    simd: Simd<L>,
    h: &Triangle,
    v: &Square,
    above: &Above,
    first: usize,
    column: usize,
) -> FourByFour<L> {
    let from = |n: usize| if DIAGONAL { n } else { 0 };
    let mut block = [[simd.splat(0.0); SIDE]; SIDE];
    for n in 0..SIDE {
        let start = place(first + n, column + from(n));
        let row = &h[start..start + (SIDE - from(n)) * LANES];
        for m in from(n)..SIDE {
            block[n][m] = simd.load(&row[(m - from(n)) * LANES..]);
        }
    }
    let rows = v.chunks_exact(LANES * LANES).take(first);
    for (row, above) in rows.zip(above.chunks_exact(SIDE * LANES)) {
        let row = &row[column * LANES..(column + SIDE) * LANES];
        for n in 0..SIDE {
            let factor = simd.load(&above[n * LANES..]);
            for m in from(n)..SIDE {
                block[n][m] = factor.mul_sub(simd.load(&row[m * LANES..]), block[n][m]);
            }
        }
    }
    block
}

#[inline(always)]
fn store_block<L: Lanes>(block: &FourByFour<L>, v: &mut Square, first: usize, column: usize) {
    let rows = v.chunks_exact_mut(LANES * LANES).skip(first);
    for (block, row) in block.iter().zip(rows) {
        let row = &mut row[column * LANES..(column + SIDE) * LANES];
        for m in 0..SIDE {
            block[m].store(&mut row[m * LANES..]);
        }
    }
}

#[inline(always)]
fn load_block<L: Lanes>(simd: Simd<L>, v: &Square, first: usize, column: usize) -> FourByFour<L> {
    let mut block = [[simd.splat(0.0); SIDE]; SIDE];
    let rows = v.chunks_exact(LANES * LANES).skip(first);
    for (block, row) in block.iter_mut().zip(rows) {
        let row = &row[column * LANES..(column + SIDE) * LANES];
        for m in 0..SIDE {
            block[m] = simd.load(&row[m * LANES..]);
        }
    }
    block
}

#[inline(always)]
fn four<L: Lanes>(x: &[L; LANES], first: usize) -> [L; SIDE] {
    let x = &x[first..first + SIDE];
    [x[0], x[1], x[2], x[3]]
}

/// Computes the solution from L⁻¹ g.
#[inline(always)]
fn substitute_back<L: Lanes>(v: &Square, x: &mut [L; LANES]) {
    let simd = x[0].simd();
    for first in (0..LANES).step_by(SIDE).rev() {
        let (mut own, block) = (four(x, first), load_block::<L>(simd, v, first, first));
        for n in (0..SIDE).rev() {
            for m in n + 1..SIDE {
                own[n] = block[n][m].mul_sub(own[m], own[n]);
            }
            own[n] = own[n].mul(block[n][n]);
        }
        x[first..first + SIDE].copy_from_slice(&own);
        for above in (0..first).step_by(SIDE) {
            let (mut other, block) = (four(x, above), load_block::<L>(simd, v, above, first));
            for m in 0..SIDE {
                for n in 0..SIDE {
                    other[n] = block[n][m].mul_sub(own[m], other[n]);
                }
            }
            x[above..above + SIDE].copy_from_slice(&other);
        }
    }
}

/// How much a step improves each lane's objective.
struct Gain<L> {
    /// `δᵀ g − δᵀ h δ / 2`.
    gain: L,
    /// Sum of the absolute values of the terms of the gain.
    size: L,
}

impl<L: Lanes> Gain<L> {
    /// Adds the terms of four rows with themselves and with later coordinates.
    #[inline(always)]
    fn add_rows<const FIRST: usize>(&mut self, h: &Triangle, g: &[L; LANES], step: &[L; LANES]) {
        let simd = g[0].simd();
        let (g, own) = (four(g, FIRST), four(step, FIRST));
        for n in 0..SIDE {
            let half = own[n].mul(simd.splat(0.5));
            let mut along = simd.load(&h[place(FIRST + n, FIRST + n)..]).mul(half);
            let mut sizes = along.abs();
            for i in FIRST + n + 1..LANES {
                let term = simd.load(&h[place(FIRST + n, i)..]).mul(step[i]);
                along = along.add(term);
                sizes = sizes.add(term.abs());
            }
            let pull = g[n].add(along.mul(simd.splat(-1.0)));
            self.gain = own[n].mul_add(pull, self.gain);
            self.size = own[n].abs().mul_add(sizes.add(g[n].abs()), self.size);
        }
    }
}

/// Lanes where `2 δᵀ g − δᵀ h δ`, by which the step lowers the objective, does not exceed the rounding
/// error of its terms; a step of zero is accepted.
#[inline(always)]
fn unsure<L: Lanes>(h: &Triangle, g: &[L; LANES], step: &[L; LANES]) -> u16 {
    let simd = g[0].simd();
    let mut sums = Gain {
        gain: simd.splat(0.0),
        size: simd.splat(0.0),
    };
    // Constants, so that places in the triangle are known at compile time.
    sums.add_rows::<0>(h, g, step);
    sums.add_rows::<4>(h, g, step);
    sums.add_rows::<8>(h, g, step);
    sums.add_rows::<12>(h, g, step);
    // A little less than zero, so that a step of zero is accepted.
    let least = sums
        .size
        .mul_add(simd.splat(1e-5), simd.splat(-f32::MIN_POSITIVE));
    !sums.gain.lanes_above(least)
}
