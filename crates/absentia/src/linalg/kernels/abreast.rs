//! Coordinate steps of up to sixteen rows that stand side by side, a lane for each.
//!
//! Entries stand in *slots* of sixteen, one entry of each lane; a long row has several neighbouring
//! lanes and deals its entries out to them. Packing turns the gathered rows of the fixed side, so
//! that a coordinate of the sixteen entries of a slot is one line. Sums over a row's entries then
//! run down the slots without crossing lanes, and what is done once a row is done for all at once.
//! `W` coordinates are handled at a time: their sums of products are `W` small numbers a row, and
//! errors are read and written once for all of them.
// Indices into several triangles at once, and loops of constant length that must unroll.
#![allow(clippy::needless_range_loop)]

use super::body::Gathered;
use super::lanes::{LANES, Lanes};

/// Cache lines asked for ahead of the slot being packed, at the least.
const LINES_AHEAD: usize = 48;

/// Distance between the slots of a few coordinates and those of the next few: odd, so that they do
/// not all lie in the same place of a cache.
fn pitch(slots: usize) -> usize {
    slots | 1
}

/// Floats of the packed lines of so many slots.
pub(crate) fn packed_floats(slots: usize, k: usize) -> usize {
    pitch(slots) * k * LANES
}

/// What the entries of rows side by side weigh.
#[derive(Clone, Copy)]
pub(crate) struct Weighing<'a> {
    /// `a_ut`, a line of lanes per t.
    pub(crate) a: &'a [f32],
    /// `b_it`, one per t for each row of the fixed side.
    pub(crate) b: &'a [f32],
    /// `c` of all slots, or one for all entries.
    pub(crate) c: &'a [f32],
    /// `r`, likewise.
    pub(crate) r: &'a [f32],
    /// Slots before which each lane has an entry; none where not above zero.
    pub(crate) held: &'a [f32; LANES],
}

impl Weighing<'_> {
    /// The lanes that have an entry in a slot.
    #[inline(always)]
    fn held<L: Lanes>(&self, slot: usize) -> u16 {
        L::load(self.held).lanes_above(L::splat(slot as f32))
    }

    /// `a·b` of the entries of a slot.
    #[inline(always)]
    fn missing<L: Lanes>(&self, picks: &[u32]) -> L {
        let z = self.a.len() / LANES;
        let mut sum = L::splat(0.0);
        for (t, a) in self.a.chunks_exact(LANES).enumerate() {
            let mut b = [0.0; LANES];
            for (slot, &pick) in b.iter_mut().zip(picks) {
                *slot = self.b[pick as usize * z + t];
            }
            sum = L::load(a).mul_add(L::load(&b), sum);
        }
        sum
    }
}

/// The lanes of a slot, or the one number that stands for all.
#[inline(always)]
fn one_or_slot<L: Lanes>(values: &[f32], slot: usize) -> L {
    match *values {
        [value] => L::splat(value),
        _ => L::load(&values[slot * LANES..]),
    }
}

/// The entries of rows side by side; where a lane has none, all but the prediction are zero.
pub(crate) struct Slots<'a> {
    /// `d = c − a·b`.
    pub(crate) d: &'a mut [f32],
    /// `a·b`, where it is wanted.
    pub(crate) missing: Option<&'a mut [f32]>,
    /// `p·q`.
    pub(crate) predicted: &'a mut [f32],
    /// `c·r − d p·q`.
    pub(crate) error: &'a mut [f32],
}

/// Turns the rows of the first picks, sixteen for each slot, into lines, weighs and predicts.
///
/// `p` has a line of sixteen lanes per coordinate. Picks beyond the slots only say what to ask the
/// memory for.
#[inline(always)]
pub(super) fn pack<L: Lanes, const W: usize>(
    picked: Gathered<'_>,
    p: &[f32],
    weighing: Weighing<'_>,
    lines: &mut [f32],
    slots: &mut Slots<'_>,
) {
    let (k, len) = (picked.stride, slots.d.len() / LANES);
    let (blocks, wide) = (k / LANES, pitch(len) * W * LANES);
    assert!(k.is_multiple_of(LANES) && p.len() >= k * LANES);
    assert!(picked.indices.len() >= len * LANES && lines.len() >= packed_floats(len, k));
    let ahead = LINES_AHEAD.div_ceil(k.max(1)) * LANES;
    let (matrix, _) = picked.matrix.as_chunks::<LANES>();
    for slot in 0..len {
        let mut starts = [0; LANES];
        let picks = &picked.indices[slot * LANES..(slot + 1) * LANES];
        for (start, &index) in starts.iter_mut().zip(picks) {
            *start = index as usize * blocks;
            assert!(*start + blocks <= matrix.len());
        }
        let later = picked.indices.get(slot * LANES + ahead..);
        let later = later.and_then(|later| later.first_chunk::<LANES>());
        let later = later.map(|later| later.map(|index| index as usize * k));
        let mut sums = [L::splat(0.0); 4];
        for block in 0..blocks {
            if let Some(later) = &later {
                for start in later {
                    L::prefetch(picked.matrix, start + block * LANES);
                }
            }
            let mut rows = [L::splat(0.0); LANES];
            for (row, start) in rows.iter_mut().zip(starts) {
                // SAFETY: the whole row was found to lie in the matrix.
                *row = L::load(unsafe { matrix.get_unchecked(start + block) });
            }
            let p = &p[block * LANES * LANES..(block + 1) * LANES * LANES];
            let first = block * LANES / W * wide + slot * W * LANES;
            let lines = &mut lines[first..first + (LANES / W - 1) * wide + W * LANES];
            put::<L, W>(&L::transpose(rows), p, wide, lines, &mut sums);
        }
        let [a, b, c, d] = sums;
        let (at, predicted) = (slot * LANES, a.add(b).add(c.add(d)));
        predicted.store(&mut slots.predicted[at..]);
        let held = weighing.held::<L>(slot);
        let missing = weighing.missing::<L>(picks).kept(held);
        if let Some(to) = &mut slots.missing {
            missing.store(&mut to[at..]);
        }
        let c = one_or_slot::<L>(weighing.c, slot).kept(held);
        let d = missing.mul_sub(L::splat(1.0), c);
        d.store(&mut slots.d[at..]);
        let pull = c.mul(one_or_slot(weighing.r, slot));
        d.mul_sub(predicted, pull).store(&mut slots.error[at..]);
    }
}

/// `Σ c (r − p·q)²` and `Σ (a·b) (p·q)²` over entries side by side.
#[inline(always)]
pub(super) fn losses<L: Lanes>(
    weighing: Weighing<'_>,
    predicted: &[f32],
    missing: &[f32],
) -> [f64; 2] {
    let (mut observed, mut counted) = ([0.0_f64; LANES], [0.0_f64; LANES]);
    let slots = predicted
        .chunks_exact(LANES)
        .zip(missing.chunks_exact(LANES));
    for (slot, (predicted, missing)) in slots.enumerate() {
        let (mut c, mut r) = ([0.0; LANES], [0.0; LANES]);
        let held = weighing.held::<L>(slot);
        one_or_slot::<L>(weighing.c, slot).kept(held).store(&mut c);
        one_or_slot::<L>(weighing.r, slot).store(&mut r);
        for lane in 0..LANES {
            let p = f64::from(predicted[lane]);
            let error = f64::from(r[lane]) - p;
            observed[lane] += f64::from(c[lane]) * error * error;
            counted[lane] += f64::from(missing[lane]) * p * p;
        }
    }
    [observed.iter().sum(), counted.iter().sum()]
}

/// Stores the coordinates of one slot on a block, `W` lines together, and predicts.
#[inline(always)]
fn put<L: Lanes, const W: usize>(
    columns: &[L; LANES],
    p: &[f32],
    wide: usize,
    lines: &mut [f32],
    sums: &mut [L; 4],
) {
    let mut put = |f: usize, column: L| {
        sums[f % 4] = L::load(&p[f * LANES..]).mul_add(column, sums[f % 4]);
        column.store(&mut lines[f / W * wide + f % W * LANES..]);
    };
    // Four times four, because columns must stay in registers and longer loops are not unrolled.
    let (fours, _) = columns.as_chunks::<4>();
    for (n, column) in fours[0].iter().enumerate() {
        put(n, *column);
    }
    for (n, column) in fours[1].iter().enumerate() {
        put(4 + n, *column);
    }
    for (n, column) in fours[2].iter().enumerate() {
        put(8 + n, *column);
    }
    for (n, column) in fours[3].iter().enumerate() {
        put(12 + n, *column);
    }
}

/// Sixteen coordinates of some rows, with a lane per row: `per_row` lanes each. Lanes after those
/// of the last row are as its own.
#[inline(always)]
fn across<L: Lanes>(per_row: usize, last: usize, load: impl Fn(usize) -> L) -> [L; LANES] {
    let mut lines = [L::splat(0.0); LANES];
    // A power of two: a shift instead of a division.
    let shift = per_row.trailing_zeros();
    for (lane, line) in lines.iter_mut().enumerate() {
        *line = load((lane >> shift).min(last));
    }
    L::transpose(lines)
}

/// All coordinates of some rows of a matrix, a line of lanes each; and copies of the rows.
#[inline(always)]
pub(super) fn spread<L: Lanes>(
    matrix: &[f32],
    stride: usize,
    picked: &[usize],
    copies: &mut [f32],
    per_row: usize,
    out: &mut [f32],
) {
    assert!(out.len() == stride * LANES && picked.len() * per_row <= LANES);
    assert!(copies.len() == picked.len() * stride);
    for (&row, copy) in picked.iter().zip(copies.chunks_exact_mut(stride)) {
        let from = &matrix[row * stride..(row + 1) * stride];
        for (from, copy) in from.chunks_exact(LANES).zip(copy.chunks_exact_mut(LANES)) {
            L::load(from).store(copy);
        }
    }
    let Some(last) = picked.len().checked_sub(1) else {
        return;
    };
    for (block, out) in out.chunks_exact_mut(LANES * LANES).enumerate() {
        let load = |row: usize| L::load(&copies[row * stride + block * LANES..]);
        let lines = across(per_row, last, load);
        for (line, out) in lines.into_iter().zip(out.chunks_exact_mut(LANES)) {
            line.store(out);
        }
    }
}

/// One block of sixteen coordinates of rows side by side.
#[derive(Clone, Copy)]
pub(crate) struct Abreast<'a> {
    /// Which block.
    pub(crate) block: usize,
    /// Lanes of a row.
    pub(crate) per_row: usize,
    /// The packed lines of all blocks.
    pub(crate) lines: &'a [f32],
    /// Factors as the sweep found them, a line of lanes per coordinate.
    pub(crate) p: &'a [f32],
    /// Rows that will be packed next, to be asked for while there is time.
    pub(crate) next: Gathered<'a>,
    /// `d` of the entries.
    pub(crate) d: &'a [f32],
    /// Penalties, a line of lanes; positive where there is no row.
    pub(crate) penalty: &'a [f32],
    /// Weights `a_ut`, a line of lanes per t.
    pub(crate) weights: &'a [f32],
    /// For each coordinate of the block, its row of the diagonal block of every `S_t`.
    pub(crate) diagonals: &'a [f32],
    /// `−Σ_t a_ut (S_t p_u)` on the block, sixteen for each row.
    pub(crate) g: &'a [f32],
}

/// What the steps of a block change.
pub(crate) struct Moving<'a> {
    /// Steps of all coordinates, a line of lanes each; those of earlier blocks are read.
    pub(crate) steps: &'a mut [f32],
    /// Errors of the entries.
    pub(crate) error: &'a mut [f32],
    /// Predictions of the entries, where they are wanted in the end.
    pub(crate) predicted: Option<&'a mut [f32]>,
    /// Factors of the rows, row by row.
    pub(crate) factors: &'a mut [f32],
}

/// What will be packed next: of each slot, `W` picks from `from`, and of those the line at `at`.
#[derive(Clone, Copy)]
struct Next<'a> {
    picked: Gathered<'a>,
    from: usize,
    at: usize,
}

impl Next<'_> {
    #[inline(always)]
    fn prefetch<L: Lanes, const W: usize>(self, slot: usize) {
        let picks = self.picked.indices.get(slot * LANES + self.from..);
        if let Some(picks) = picks.and_then(|picks| picks.first_chunk::<W>()) {
            for &index in picks {
                let at = index as usize * self.picked.stride + self.at;
                L::prefetch_early(self.picked.matrix, at);
            }
        }
    }
}

/// Sums over the entries of `W` coordinates, a lane per row.
struct Sums<L, const W: usize> {
    /// `Σ error q_f`.
    pull: [L; W],
    /// `Σ d q_f q_g` for `f ≤ g`.
    products: [[L; W]; W],
}

/// Coordinate steps on one block, in order, exact for each coordinate; yields the first row whose
/// curvature is below zero by more than rounding, and that curvature.
///
/// Errors and predictions follow the steps of the last few coordinates only with the next block.
#[inline(always)]
pub(super) fn descend<L: Lanes, const W: usize>(
    x: Abreast<'_>,
    floor: f32,
    moving: &mut Moving<'_>,
) -> Option<(usize, f32)> {
    // Rank one is by far the most common, and its loops over t need not be loops.
    if x.weights.len() == LANES {
        descend_rank::<L, W, true>(x, floor, moving)
    } else {
        descend_rank::<L, W, false>(x, floor, moving)
    }
}

#[inline(always)]
fn descend_rank<L: Lanes, const W: usize, const ONE: bool>(
    x: Abreast<'_>,
    floor: f32,
    moving: &mut Moving<'_>,
) -> Option<(usize, f32)> {
    let (rows, z, first) = (x.g.len() / LANES, x.weights.len() / LANES, x.block * LANES);
    let stride = moving.factors.len() / rows.max(1);
    assert!(x.diagonals.len() == LANES * z * LANES && x.d.len() == moving.error.len());
    assert!(stride.is_multiple_of(LANES) && first + LANES <= stride);
    assert!(moving.steps.len() >= stride * LANES && x.p.len() >= stride * LANES);
    let gradient = |row: usize| L::load(&x.g[row * LANES..]);
    let mut g = across(x.per_row, rows.saturating_sub(1), gradient);
    let penalty = L::load(x.penalty);
    for (f, g) in g.iter_mut().enumerate() {
        *g = penalty.mul_sub(L::load(&x.p[(first + f) * LANES..]), *g);
    }
    let mut negative = None;
    for at in (0..LANES).step_by(W) {
        let sums = gather_lanes(accumulate::<L, W>(&x, first + at, moving), x.per_row);
        let (steps, found) = step_few::<L, W, ONE>(&x, at, floor, &g, &sums);
        negative = negative.or(found);
        for (n, step) in steps.iter().enumerate() {
            step.store(&mut moving.steps[(first + at + n) * LANES..]);
        }
        follow(&x, at, &steps, &mut g);
    }
    let mut steps = [L::splat(0.0); LANES];
    for (f, step) in steps.iter_mut().enumerate() {
        *step = L::load(&moving.steps[(first + f) * LANES..]);
    }
    let steps = L::transpose(steps);
    let each = moving.factors.chunks_exact_mut(stride);
    for (row, step) in each.zip(steps.chunks_exact(x.per_row)) {
        let slot = &mut row[first..first + LANES];
        L::load(slot).add(step[0]).store(slot);
    }
    negative.map(|(lane, curvature)| (lane / x.per_row, curvature))
}

/// The lines of `W` coordinates from `f`.
#[inline(always)]
fn lines_of<const W: usize>(lines: &[f32], slots: usize, f: usize) -> &[f32] {
    &lines[f / W * pitch(slots) * W * LANES..][..slots * W * LANES]
}

/// The steps of `W` coordinates from `f`.
#[inline(always)]
fn steps_of<L: Lanes, const W: usize>(steps: &[f32], f: usize) -> [L; W] {
    let mut few = [L::splat(0.0); W];
    for (n, step) in few.iter_mut().enumerate() {
        *step = L::load(&steps[(f + n) * LANES..]);
    }
    few
}

/// Applies the steps of the `W` coordinates before `f` to the errors, and sums those from `f`.
#[inline(always)]
fn accumulate<L: Lanes, const W: usize>(
    x: &Abreast<'_>,
    f: usize,
    moving: &mut Moving<'_>,
) -> Sums<L, W> {
    let slots = x.d.len() / LANES;
    let lines = lines_of::<W>(x.lines, slots, f);
    let next = Next {
        picked: x.next,
        from: f % LANES,
        at: x.block * LANES,
    };
    if f == 0 {
        let none = [L::splat(0.0); W];
        return pass::<L, W, false, false>(next, x.d, lines, lines, &none, moving.error, &mut []);
    }
    let before = lines_of::<W>(x.lines, slots, f - W);
    let step = steps_of(moving.steps, f - W);
    match &mut moving.predicted {
        None => pass::<L, W, true, false>(next, x.d, lines, before, &step, moving.error, &mut []),
        Some(predicted) => {
            pass::<L, W, true, true>(next, x.d, lines, before, &step, moving.error, predicted)
        }
    }
}

#[inline(always)]
fn pass<L: Lanes, const W: usize, const STEPS: bool, const PREDICTED: bool>(
    next: Next<'_>,
    d: &[f32],
    lines: &[f32],
    before: &[f32],
    step: &[L; W],
    error: &mut [f32],
    predicted: &mut [f32],
) -> Sums<L, W> {
    let mut sums = Sums {
        pull: [L::splat(0.0); W],
        products: [[L::splat(0.0); W]; W],
    };
    let slots = d.chunks_exact(LANES).zip(error.chunks_exact_mut(LANES));
    let lines = lines
        .chunks_exact(W * LANES)
        .zip(before.chunks_exact(W * LANES));
    for (slot, ((d, error), (q, before))) in slots.zip(lines).enumerate() {
        next.prefetch::<L, W>(slot);
        let (d, mut e) = (L::load(d), L::load(error));
        if STEPS {
            let change = moved::<L, W>(before, step);
            e = d.mul_sub(change, e);
            e.store(error);
            if PREDICTED {
                let slot = &mut predicted[slot * LANES..(slot + 1) * LANES];
                L::load(slot).add(change).store(slot);
            }
        }
        let mut line = [e; W];
        for (n, line) in line.iter_mut().enumerate() {
            *line = L::load(&q[n * LANES..]);
        }
        for n in 0..W {
            sums.pull[n] = e.mul_add(line[n], sums.pull[n]);
            let scaled = d.mul(line[n]);
            for m in n..W {
                sums.products[n][m] = scaled.mul_add(line[m], sums.products[n][m]);
            }
        }
    }
    sums
}

/// `Σ q_f δ_f` over `W` coordinates.
#[inline(always)]
fn moved<L: Lanes, const W: usize>(lines: &[f32], steps: &[L; W]) -> L {
    let mut change = steps[0].mul(L::load(lines));
    for n in 1..W {
        change = steps[n].mul_add(L::load(&lines[n * LANES..]), change);
    }
    change
}

/// Adds the steps of the last coordinates to the predictions.
#[inline(always)]
pub(super) fn settle<L: Lanes, const W: usize>(
    lines: &[f32],
    k: usize,
    steps: &[f32],
    predicted: &mut [f32],
) {
    let lines = lines_of::<W>(lines, predicted.len() / LANES, k - W);
    let step = steps_of(steps, k - W);
    let slots = predicted.chunks_exact_mut(LANES);
    for (slot, lines) in slots.zip(lines.chunks_exact(W * LANES)) {
        L::load(slot).add(moved::<L, W>(lines, &step)).store(slot);
    }
}

/// Sums over the lanes of each row, in all of its lanes.
#[inline(always)]
fn gather_lanes<L: Lanes, const W: usize>(mut sums: Sums<L, W>, per_row: usize) -> Sums<L, W> {
    let mut distance = 1;
    while distance < per_row {
        for n in 0..W {
            sums.pull[n] = sums.pull[n].add(sums.pull[n].swap(distance));
            for m in n..W {
                let sum = &mut sums.products[n][m];
                *sum = sum.add(sum.swap(distance));
            }
        }
        distance *= 2;
    }
    sums
}

/// Steps of `W` coordinates from position `at` of the block, one after the other.
#[inline(always)]
fn step_few<L: Lanes, const W: usize, const ONE: bool>(
    x: &Abreast<'_>,
    at: usize,
    floor: f32,
    g: &[L; LANES],
    sums: &Sums<L, W>,
) -> ([L; W], Option<(usize, f32)>) {
    let zero = L::splat(0.0);
    let (mut curvature, mut least, mut steps) = ([zero; W], [zero; W], [zero; W]);
    let mut lowest = zero;
    for n in 0..W {
        let base = missing::<L, ONE>(x, at + n, at + n);
        curvature[n] = base.add(sums.products[n][n]).add(L::load(x.penalty));
        least[n] = base.abs().mul(L::splat(floor));
        lowest = lowest.min(curvature[n].add(least[n]));
        steps[n] = curvature[n].reciprocal_above(least[n]);
    }
    for n in 0..W {
        let mut gradient = g[at + n].add(sums.pull[n]);
        for m in 0..n {
            let coupling = missing::<L, ONE>(x, at + n, at + m).add(sums.products[m][n]);
            gradient = coupling.mul_sub(steps[m], gradient);
        }
        steps[n] = gradient.mul(steps[n]);
    }
    if lowest.is_negative() {
        return (steps, first_negative(&curvature, &least));
    }
    (steps, None)
}

/// `Σ_t a_ut S_t[f, g]` of every lane, for coordinates of the block.
#[inline(always)]
fn missing<L: Lanes, const ONE: bool>(x: &Abreast<'_>, f: usize, g: usize) -> L {
    if ONE {
        return L::splat(x.diagonals[f * LANES + g]).mul(L::load(x.weights));
    }
    let z = x.weights.len() / LANES;
    let mut sum = L::splat(0.0);
    for (t, weight) in x.weights.chunks_exact(LANES).enumerate() {
        sum = L::splat(x.diagonals[(f * z + t) * LANES + g]).mul_add(L::load(weight), sum);
    }
    sum
}

/// What the steps from position `at` do, through missing entries, to the coordinates after them.
#[inline(always)]
fn follow<L: Lanes, const W: usize>(
    x: &Abreast<'_>,
    at: usize,
    steps: &[L; W],
    g: &mut [L; LANES],
) {
    let z = x.weights.len() / LANES;
    for (t, weight) in x.weights.chunks_exact(LANES).enumerate() {
        let weight = L::load(weight);
        for (f, slot) in g.iter_mut().enumerate().skip(at + W) {
            let row = &x.diagonals[(f * z + t) * LANES + at..][..W];
            let mut sum = L::splat(row[0]).mul(steps[0]);
            for n in 1..W {
                sum = L::splat(row[n]).mul_add(steps[n], sum);
            }
            *slot = weight.mul_sub(sum, *slot);
        }
    }
}

/// The first lane with a curvature below minus its margin, and that curvature.
#[inline(always)]
fn first_negative<L: Lanes>(curvature: &[L], least: &[L]) -> Option<(usize, f32)> {
    let mut first = None;
    for (curvature, least) in curvature.iter().zip(least) {
        let (mut found, mut margin) = ([0.0; LANES], [0.0; LANES]);
        curvature.store(&mut found);
        least.store(&mut margin);
        for (lane, (curvature, margin)) in found.into_iter().zip(margin).enumerate() {
            if curvature < -margin && first.is_none_or(|(before, _)| lane < before) {
                first = Some((lane, curvature));
            }
        }
    }
    first
}
