//! Matrices stored row after row, for coordinate steps, and whole blocks off the diagonal.

use super::{LANES, Lanes, RowLines, Simd};

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
    let RowLines {
        d, error, lines, ..
    } = row;
    let mut gradient = simd.load(g);
    if WIDE {
        let mut sums = start::<L, 8>(0, scale, base);
        let mut uppers = start_uppers::<L>(scale, base);
        let entries = lines.chunks_exact(LANES).zip(d).zip(error).enumerate();
        for (n, ((line, &d), &error)) in entries {
            row.prefetch::<L>(n);
            let q = simd.load(line);
            let scaled = simd.splat(d).mul(q);
            add_rows(&line[..8], scaled, &mut sums);
            add_uppers::<L>(&line[8..], scaled.upper(), &mut uppers);
            gradient = simd.splat(error).mul_add(q, gradient);
        }
        finish(0, sums, h);
        finish_uppers::<L>(uppers, h);
        gradient.store(g);
        return;
    }
    for first in [0, 4] {
        let mut sums = start::<L, 4>(first, scale, base);
        for ((line, &d), &error) in lines.chunks_exact(LANES).zip(d).zip(error) {
            let q = simd.load(line);
            add_rows(&line[first..first + 4], simd.splat(d).mul(q), &mut sums);
            if first == 0 {
                gradient = simd.splat(error).mul_add(q, gradient);
            }
        }
        finish(first, sums, h);
    }
    gradient.store(g);
    let mut uppers = start_uppers::<L>(scale, base);
    for (n, (line, &d)) in lines.chunks_exact(LANES).zip(d).enumerate() {
        row.prefetch::<L>(n);
        let scaled = simd.splat(d).mul(simd.load(line)).upper();
        add_uppers::<L>(&line[8..], scaled, &mut uppers);
    }
    finish_uppers::<L>(uppers, h);
}

#[inline(always)]
fn start<L: Lanes, const ROWS: usize>(first: usize, scale: L, base: &[f32]) -> [L; ROWS] {
    let simd = scale.simd();
    let mut sums = [scale; ROWS];
    for (f, sum) in sums.iter_mut().enumerate() {
        *sum = scale.mul(simd.load(&base[(first + f) * LANES..]));
    }
    sums
}

/// Upper halves of rows 8 to 15.
#[inline(always)]
fn start_uppers<L: Lanes>(scale: L, base: &[f32]) -> [L::Upper; 8] {
    let simd = scale.simd();
    let mut sums = [scale.upper(); 8];
    for (f, sum) in sums.iter_mut().enumerate() {
        *sum = scale.mul(simd.load(&base[(8 + f) * LANES..])).upper();
    }
    sums
}

#[inline(always)]
fn add_rows<L: Lanes>(column: &[f32], scaled: L, sums: &mut [L]) {
    let simd = scaled.simd();
    for (sum, &q) in sums.iter_mut().zip(column) {
        *sum = simd.splat(q).mul_add(scaled, *sum);
    }
}

#[inline(always)]
fn add_uppers<L: Lanes>(column: &[f32], scaled: L::Upper, sums: &mut [L::Upper; 8]) {
    for (sum, &q) in sums.iter_mut().zip(column) {
        *sum = L::add_upper(q, scaled, *sum);
    }
}

#[inline(always)]
fn finish<L: Lanes, const ROWS: usize>(first: usize, sums: [L; ROWS], h: &mut [f32]) {
    for (f, sum) in sums.into_iter().enumerate() {
        sum.store(&mut h[(first + f) * LANES..]);
    }
}

#[inline(always)]
fn finish_uppers<L: Lanes>(sums: [L::Upper; 8], h: &mut [f32]) {
    for (f, sum) in sums.into_iter().enumerate() {
        L::store_upper(sum, &mut h[(8 + f) * LANES + 8..]);
    }
}

/// `h += Σ d left rightᵀ` over entries, all of a `16 × 16` block whose rows are a `pitch` apart;
/// `ROWS` rows of it are held in registers at a time.
#[inline(always)]
pub(in super::super) fn cross<L: Lanes, const ROWS: usize>(
    simd: Simd<L>,
    d: Option<&[f32]>,
    left: &[f32],
    right: &[f32],
    h: &mut [f32],
    pitch: usize,
) {
    assert!(left.len() == right.len() && d.is_none_or(|d| d.len() * LANES <= left.len()));
    assert!(h.len() >= (LANES - 1) * pitch + LANES);
    for first in (0..LANES).step_by(ROWS) {
        let mut sums = [simd.splat(0.0); ROWS];
        for (f, sum) in sums.iter_mut().enumerate() {
            *sum = simd.load(&h[(first + f) * pitch..]);
        }
        let lines = left.chunks_exact(LANES).zip(right.chunks_exact(LANES));
        match d {
            Some(d) => {
                for ((left, right), &d) in lines.zip(d) {
                    let scaled = simd.splat(d).mul(simd.load(right));
                    add_rows(&left[first..first + ROWS], scaled, &mut sums);
                }
            }
            None => {
                for (left, right) in lines {
                    add_rows(&left[first..first + ROWS], simd.load(right), &mut sums);
                }
            }
        }
        for (f, sum) in sums.into_iter().enumerate() {
            sum.store(&mut h[(first + f) * pitch..]);
        }
    }
}
