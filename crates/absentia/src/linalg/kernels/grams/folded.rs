//! Matrices folded along their diagonals, for exact solves.
//!
//! A line of q times the same line with both halves rotated by s holds `q_i q_(i+s)` of either half,
//! indices wrapping around. With s up to four, these are all pairs within a half. The pairs of the
//! lower half with the upper one are summed separately.

use super::{HALF, LANES, Lanes, RowLines};

/// Diagonals of each half.
const DIAGONALS: usize = HALF / 2 + 1;
/// Where the lower half times the upper one starts.
const CROSSED: usize = DIAGONALS * LANES;
/// Lines of a matrix.
pub(super) const LINES: usize = DIAGONALS + HALF / 2;

/// Row and column of the number at a place.
pub(super) const fn entry(at: usize) -> (usize, usize) {
    if at < CROSSED {
        let (turn, lane) = (at / LANES, at % LANES);
        let half = lane / HALF * HALF;
        (lane, half + (lane - half + turn) % HALF)
    } else {
        let crossed = at - CROSSED;
        (crossed / HALF, HALF + crossed % HALF)
    }
}

/// See [`super::gram`].
#[inline(always)]
pub(super) fn gram<L: Lanes, const WIDE: bool>(
    row: RowLines<'_>,
    scale: L,
    base: &[f32],
    h: &mut [f32],
    g: &mut [f32],
) {
    let simd = scale.simd();
    let mut diagonals = Diagonals::start(scale, base);
    let mut crossed = Crossed::start(scale, base);
    let mut gradient = simd.load(g);
    // `d` and error are read where they are used, so that they take no register.
    let (len, lines) = (row.d.len(), row.lines.as_chunks::<LANES>().0);
    let (d, error, lines) = (row.d, &row.error[..len], &lines[..len]);
    if WIDE {
        for n in 0..len {
            row.prefetch::<L>(n);
            let q = simd.load(&lines[n]);
            let scaled = simd.splat(d[n]).mul(q);
            diagonals.add_first(q, scaled);
            diagonals.add_last(q, scaled);
            crossed.add(&lines[n], scaled);
            gradient = simd.splat(error[n]).mul_add(q, gradient);
        }
    } else {
        for n in 0..len {
            let q = simd.load(&lines[n]);
            diagonals.add_first(q, simd.splat(d[n]).mul(q));
            gradient = simd.splat(error[n]).mul_add(q, gradient);
        }
        for n in 0..len {
            row.prefetch::<L>(n);
            let q = simd.load(&lines[n]);
            let scaled = simd.splat(d[n]).mul(q);
            diagonals.add_last(q, scaled);
            crossed.add(&lines[n], scaled);
        }
    }
    diagonals.finish(h);
    crossed.finish(h);
    gradient.store(g);
}

/// Sums along the diagonals of both halves.
struct Diagonals<L>([L; DIAGONALS]);

impl<L: Lanes> Diagonals<L> {
    #[inline(always)]
    fn start(scale: L, base: &[f32]) -> Self {
        let simd = scale.simd();
        let mut sums = [scale; DIAGONALS];
        for (sum, line) in sums.iter_mut().zip(base.chunks_exact(LANES)) {
            *sum = scale.mul(simd.load(line));
        }
        Self(sums)
    }

    #[inline(always)]
    fn add_first(&mut self, q: L, scaled: L) {
        let sums = &mut self.0;
        sums[0] = q.mul_add(scaled, sums[0]);
        sums[1] = q.rotated::<1>().mul_add(scaled, sums[1]);
        sums[2] = q.rotated::<2>().mul_add(scaled, sums[2]);
    }

    #[inline(always)]
    fn add_last(&mut self, q: L, scaled: L) {
        let sums = &mut self.0;
        sums[3] = q.rotated::<3>().mul_add(scaled, sums[3]);
        sums[4] = q.rotated::<4>().mul_add(scaled, sums[4]);
    }

    #[inline(always)]
    fn finish(self, h: &mut [f32]) {
        for (sum, line) in self.0.into_iter().zip(h.chunks_exact_mut(LANES)) {
            sum.store(line);
        }
    }
}

/// Sums of the lower half times the upper one.
struct Crossed<L: Lanes>([L::Upper; HALF]);

impl<L: Lanes> Crossed<L> {
    #[inline(always)]
    fn start(scale: L, base: &[f32]) -> Self {
        let simd = scale.simd();
        let mut sums = [scale.upper(); HALF];
        for (f, sum) in sums.iter_mut().enumerate() {
            // The sixteen numbers that end with the eight needed.
            *sum = scale
                .mul(simd.load(&base[CROSSED + f * HALF - HALF..]))
                .upper();
        }
        Self(sums)
    }

    #[inline(always)]
    fn add(&mut self, line: &[f32], scaled: L) {
        let upper = scaled.upper();
        for (sum, &q) in self.0.iter_mut().zip(&line[..HALF]) {
            *sum = L::add_upper(q, upper, *sum);
        }
    }

    #[inline(always)]
    fn finish(self, h: &mut [f32]) {
        for (sum, to) in self.0.into_iter().zip(h[CROSSED..].chunks_exact_mut(HALF)) {
            L::store_upper(sum, to);
        }
    }
}
