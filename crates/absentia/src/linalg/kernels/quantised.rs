//! Rows quantised to bytes, and which of their inner products may reach a threshold.
//!
//! A row `x` is `s · y` with the largest `|y_f|` being 127; `c` is `y` rounded to whole numbers. For
//! two rows the Cauchy–Schwarz inequality bounds the rounding error of their inner product:
//!
//! ```text
//! |y_u·y_i − c_u·c_i| ≤ |y_u − c_u| |y_i| + |c_u| |y_i − c_i|
//! ```
//!
//! A machine that multiplies bytes four times as fast as floats can screen items at that speed. Only
//! the few products that may reach the threshold are then computed in floats. Lengths are rounded up,
//! so that the bound also covers the rounding of the products in floats.
//!
//! A word holds four bytes: signed on the left side; unsigned and 128 larger on the right side, as
//! the instruction requires.

use super::lanes::{LANES, Lanes, Simd};

/// Bytes in a word.
const BYTES: usize = 4;

/// Rows whose largest number is not in this range are not quantised: reciprocals or products could
/// overflow.
const TOO_SMALL: f32 = 1e-15;
const TOO_LARGE: f32 = 1e15;

/// Words of a row of `k` numbers.
pub(crate) fn words(k: usize) -> usize {
    k.div_ceil(BYTES)
}

/// A row of the left side.
#[derive(Clone, Debug)]
pub(crate) struct QuantisedRow {
    /// Four signed bytes each.
    words: Vec<i32>,
    /// `s`.
    scale: f32,
    /// Cancels the 128 that was added to the bytes of the right side.
    bias: i32,
    /// `|y − c|` plus the rounding error of computing it.
    error: f32,
    /// `|c|`.
    length: f32,
}

/// The lengths of a row and of its rounding error.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rounded {
    /// The largest absolute value of the row.
    largest: f32,
    /// `|y|²`.
    square: f32,
    /// `|y − c|²`.
    error: f32,
}

/// Quantises `row · scale`: stretches its largest absolute value to 127 and rounds each number to a
/// byte.
#[inline(always)]
pub(super) fn round<L: Lanes>(_: Simd<L>, row: &[f32], scale: f32, bytes: &mut [i8]) -> Rounded {
    assert!(bytes.len() == row.len());
    // The bits of absolute values, as integers, have the order of the floats, and NaN comes last.
    let size = |x: &f32| (x * scale).to_bits() & (u32::MAX >> 1);
    let largest = f32::from_bits(row.iter().map(size).fold(0, u32::max));
    let mut sums = ([0.0; LANES], [0.0; LANES]);
    if !(TOO_SMALL..TOO_LARGE).contains(&largest) {
        bytes.fill(0);
        return Rounded {
            largest,
            square: 0.0,
            error: 0.0,
        };
    }
    let stretch = 127.0 / largest;
    let mut put = |row: &[f32; LANES], bytes: &mut [i8; LANES]| {
        for lane in 0..LANES {
            let y = row[lane] * scale * stretch;
            let whole = y.round_ties_even();
            bytes[lane] = whole as i32 as i8;
            sums.0[lane] += y * y;
            sums.1[lane] += (y - whole) * (y - whole);
        }
    };
    let (rows, rest) = row.as_chunks::<LANES>();
    let (all, last) = bytes.as_chunks_mut::<LANES>();
    for (row, bytes) in rows.iter().zip(all) {
        put(row, bytes);
    }
    let (mut padded, mut end) = ([0.0; LANES], [0; LANES]);
    padded[..rest.len()].copy_from_slice(rest);
    put(&padded, &mut end);
    last.copy_from_slice(&end[..rest.len()]);
    Rounded {
        largest,
        square: sums.0.iter().sum(),
        error: sums.1.iter().sum(),
    }
}

impl Rounded {
    /// Factor that covers the rounding error of a length computed in `f32`.
    fn slack(k: usize) -> f32 {
        1.0 + (k + 8) as f32 * f32::EPSILON
    }

    fn length(self, k: usize) -> f32 {
        self.square.sqrt() * Self::slack(k)
    }

    /// Upper bound of `|y − c|`. Stretching rounds each number by less than two units in the last place.
    fn error(self, k: usize) -> f32 {
        (self.error.sqrt() + 4.0 * f32::EPSILON * self.length(k)) * Self::slack(k)
    }
}

impl QuantisedRow {
    /// Yields the quantised row, or `None` if its numbers are too small or too large.
    pub(super) fn new(rounded: Rounded, bytes: &[i8]) -> Option<Self> {
        if !(TOO_SMALL..TOO_LARGE).contains(&rounded.largest) {
            return None;
        }
        let k = bytes.len();
        let squares: i64 = bytes.iter().map(|&c| i64::from(c) * i64::from(c)).sum();
        let total: i32 = bytes.iter().map(|&c| i32::from(c)).sum();
        // Upper bound of the rounding error of the products in `f32`.
        let sums = (k + 32) as f32 * f32::EPSILON * rounded.length(k);
        let word = |four: &[i8]| {
            let mut bytes = [0; BYTES];
            for (slot, &c) in bytes.iter_mut().zip(four) {
                *slot = c.cast_unsigned();
            }
            i32::from_le_bytes(bytes)
        };
        Some(Self {
            words: bytes.chunks(BYTES).map(word).collect(),
            scale: rounded.largest / 127.0,
            bias: -128 * total,
            error: rounded.error(k) + sums,
            length: (squares as f32).sqrt() * (1.0 + 4.0 * f32::EPSILON),
        })
    }

    /// The limit for products of this row, so that they reach `threshold`.
    pub(crate) fn limit(&self, threshold: f32) -> Limit {
        Limit {
            bias: self.bias,
            error: self.error,
            length: self.length,
            least: threshold / self.scale,
        }
    }

    /// The row, four signed bytes per word.
    pub(crate) fn words(&self) -> &[i32] {
        &self.words
    }
}

/// What a row contributes to the bounds on its products, and the least product that counts.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Limit {
    bias: i32,
    error: f32,
    length: f32,
    least: f32,
}

/// Sixteen rows of the right side.
#[derive(Clone, Copy, Debug)]
pub(crate) struct QuantisedPanel<'a> {
    /// For every `f`, word `f` of all sixteen rows.
    pub(crate) words: &'a [i32],
    /// What the sixteen rows contribute to the bounds.
    pub(crate) scales: &'a PanelScales,
}

/// `s`, `|y|` and `|y − c|` of sixteen rows.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C, align(64))]
pub(crate) struct PanelScales {
    scale: [f32; LANES],
    length: [f32; LANES],
    error: [f32; LANES],
}

impl PanelScales {
    /// Writes a quantised row into a lane of a panel. A row that cannot be quantised passes every screen.
    pub(super) fn put(&mut self, lane: usize, rounded: Rounded, bytes: &[i8], words: &mut [i32]) {
        let lanes = words[lane..].iter_mut().step_by(LANES);
        for (slot, four) in lanes.zip(bytes.chunks(BYTES)) {
            let mut raised = [128; BYTES];
            for (slot, &c) in raised.iter_mut().zip(four) {
                *slot = c.cast_unsigned() ^ 128;
            }
            *slot = i32::from_le_bytes(raised);
        }
        let k = bytes.len();
        let numbers = if rounded.largest == 0.0 {
            [0.0; 3]
        } else if (TOO_SMALL..TOO_LARGE).contains(&rounded.largest) {
            let scale = rounded.largest / 127.0;
            [scale, rounded.length(k), rounded.error(k)]
        } else {
            [1.0, 0.0, f32::INFINITY]
        };
        [self.scale[lane], self.length[lane], self.error[lane]] = numbers;
    }
}

/// The left side of a screen: rows of words, a `pitch` apart, and the limit of each.
#[derive(Clone, Copy, Debug)]
pub(crate) struct QuantisedRows<'a> {
    /// The rows.
    pub(crate) words: &'a [i32],
    /// Words of a row.
    pub(crate) pitch: usize,
    /// One per row.
    pub(crate) limits: &'a [Limit],
}

impl QuantisedRows<'_> {
    /// Checks the lengths that a screen relies on.
    pub(super) fn check(&self, panel: QuantisedPanel<'_>, passed: &[u16], apart: usize) {
        let rows = self.limits.len();
        assert!(self.words.len() == rows * self.pitch && panel.words.len() == self.pitch * LANES);
        assert!(rows == 0 || passed.len() > (rows - 1) * apart);
    }
}

/// For every row of the left side, a bit for each row of the panel whose product with it may reach
/// the limit. The bits of successive rows are `apart` numbers from each other.
pub(super) fn screen(
    rows: QuantisedRows<'_>,
    panel: QuantisedPanel<'_>,
    passed: &mut [u16],
    apart: usize,
) {
    rows.check(panel, passed, apart);
    for (row, limit) in rows.limits.iter().enumerate() {
        let passed = &mut passed[row * apart];
        let left = &rows.words[row * rows.pitch..(row + 1) * rows.pitch];
        let mut sums = [limit.bias; LANES];
        for (word, line) in left.iter().zip(panel.words.chunks_exact(LANES)) {
            let signed = word.to_le_bytes().map(|byte| i32::from(byte.cast_signed()));
            for (sum, word) in sums.iter_mut().zip(line) {
                for (a, b) in signed.iter().zip(word.to_le_bytes()) {
                    *sum += a * i32::from(b);
                }
            }
        }
        *passed = 0;
        for (lane, sum) in sums.into_iter().enumerate() {
            let scales = panel.scales;
            let bound = sum as f32 + limit.error * scales.length[lane];
            let bound = (bound + limit.length * scales.error[lane]) * scales.scale[lane];
            *passed |= u16::from(bound >= limit.least) << lane;
        }
    }
}

#[cfg(target_arch = "x86_64")]
pub(super) mod vnni {
    //! Screening on machines that multiply sixty-four bytes at a time.

    use std::arch::x86_64::{
        __m512i, _CMP_GE_OQ, _mm512_cmp_ps_mask, _mm512_cvtepi32_ps, _mm512_dpbusd_epi32,
        _mm512_fmadd_ps, _mm512_loadu_ps, _mm512_loadu_si512, _mm512_mul_ps, _mm512_set1_epi32,
        _mm512_set1_ps,
    };

    use super::{LANES, QuantisedPanel, QuantisedRows};

    /// Rows whose sums are held in registers.
    const ROWS: usize = 8;

    /// As [`super::screen`].
    #[target_feature(enable = "avx512f,avx512vnni")]
    pub(in super::super) fn screen(
        rows: QuantisedRows<'_>,
        panel: QuantisedPanel<'_>,
        passed: &mut [u16],
        apart: usize,
    ) {
        rows.check(panel, passed, apart);
        let len = rows.limits.len();
        let mut row = 0;
        while row + ROWS <= len {
            some::<ROWS>(rows, row, panel, passed, apart);
            row += ROWS;
        }
        if row + 4 <= len {
            some::<4>(rows, row, panel, passed, apart);
            row += 4;
        }
        while row < len {
            some::<1>(rows, row, panel, passed, apart);
            row += 1;
        }
    }

    #[inline]
    #[target_feature(enable = "avx512f,avx512vnni")]
    fn some<const N: usize>(
        rows: QuantisedRows<'_>,
        first: usize,
        panel: QuantisedPanel<'_>,
        passed: &mut [u16],
        apart: usize,
    ) {
        let mut lefts: [&[i32]; N] = [&[]; N];
        let mut sums = [_mm512_set1_epi32(0); N];
        let limits = &rows.limits[first..first + N];
        for row in 0..N {
            lefts[row] = &rows.words[(first + row) * rows.pitch..][..rows.pitch];
            sums[row] = _mm512_set1_epi32(limits[row].bias);
        }
        let (lines, _) = panel.words.as_chunks::<LANES>();
        for (f, line) in lines[..rows.pitch].iter().enumerate() {
            // SAFETY: a line is an array of sixteen words.
            let line: __m512i = unsafe { _mm512_loadu_si512(line.as_ptr().cast()) };
            for row in 0..N {
                let word = _mm512_set1_epi32(lefts[row][f]);
                sums[row] = _mm512_dpbusd_epi32(sums[row], line, word);
            }
        }
        let scales = panel.scales;
        // SAFETY: each is an array of sixteen floats.
        let (scale, length, error) = unsafe {
            (
                _mm512_loadu_ps(scales.scale.as_ptr()),
                _mm512_loadu_ps(scales.length.as_ptr()),
                _mm512_loadu_ps(scales.error.as_ptr()),
            )
        };
        for (row, limit) in limits.iter().enumerate() {
            let sum = _mm512_cvtepi32_ps(sums[row]);
            let bound = _mm512_fmadd_ps(_mm512_set1_ps(limit.error), length, sum);
            let bound = _mm512_fmadd_ps(_mm512_set1_ps(limit.length), error, bound);
            let bound = _mm512_mul_ps(bound, scale);
            passed[(first + row) * apart] =
                _mm512_cmp_ps_mask::<_CMP_GE_OQ>(bound, _mm512_set1_ps(limit.least));
        }
    }
}
