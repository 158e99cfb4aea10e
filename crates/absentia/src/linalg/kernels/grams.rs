//! Small Gram matrices of packed rows, with the contribution of missing entries.
//!
//! The matrices are symmetric, so little more than half of each is summed. [`Form`] says which half
//! and in which order.

mod folded;
mod square;

use super::body::Gathered;
use super::lanes::{LANES, Lanes, Simd};
pub(super) use square::cross;

/// Coordinates of each half of a block.
const HALF: usize = LANES / 2;

/// How a symmetric matrix of sixteen rows is laid out in lines of sixteen numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// Row after row. Only rows 0 to 7 and the upper eight lanes of rows 8 to 15 are filled: the
    /// upper triangle and a little more.
    Square,
    /// First the diagonal and the four diagonals next to it, of both halves of the coordinates in one
    /// line, wrapping around within each half; then the lower half times the upper one, two rows per
    /// line. Only the numbers of the fourth diagonal are stored twice: a quarter less than a square.
    Folded,
}

impl Form {
    /// Both of them.
    pub(crate) const ALL: [Self; 2] = [Self::Square, Self::Folded];

    /// Lines of a matrix.
    pub(crate) const fn lines(self) -> usize {
        match self {
            Self::Square => LANES,
            Self::Folded => folded::LINES,
        }
    }

    /// Numbers of a matrix.
    pub(crate) const fn floats(self) -> usize {
        self.lines() * LANES
    }

    /// Row and column of the number at a place.
    pub(crate) const fn entry(self, at: usize) -> (usize, usize) {
        match self {
            Self::Square => (at / LANES, at % LANES),
            Self::Folded => folded::entry(at),
        }
    }
}

/// The entries of one row: `d` and error of each, and its line.
#[derive(Clone, Copy)]
pub(crate) struct RowLines<'a> {
    /// `d` of each entry.
    pub(crate) d: &'a [f32],
    /// Error of each entry.
    pub(crate) error: &'a [f32],
    /// A line per entry.
    pub(crate) lines: &'a [f32],
    /// Rows to prefetch because they will be packed next, one per entry or fewer.
    pub(crate) next: Gathered<'a>,
    /// First of the sixteen coordinates of those rows to prefetch.
    pub(crate) at: usize,
}

impl RowLines<'_> {
    /// Prefetches a line of the rows that will be packed next.
    #[inline(always)]
    fn prefetch<L: Lanes>(&self, n: usize) {
        if let Some(&index) = self.next.indices.get(n) {
            L::prefetch_early(
                self.next.matrix,
                index as usize * self.next.stride + self.at,
            );
        }
    }
}

/// `h = scale · base + Σ d q qᵀ` and `g += Σ error q` over the entries of a row.
///
/// With `WIDE`, all sums fit into registers at once.
#[inline(always)]
pub(super) fn gram<L: Lanes, const WIDE: bool>(
    simd: Simd<L>,
    form: Form,
    row: RowLines<'_>,
    scale: f32,
    base: &[f32],
    h: &mut [f32],
    g: &mut [f32],
) {
    assert!(row.error.len() == row.d.len() && row.lines.len() >= row.d.len() * LANES);
    let floats = form.floats();
    assert!(base.len() >= floats && h.len() >= floats);
    match form {
        Form::Square => square::gram::<L, WIDE>(row, simd.splat(scale), base, h, g),
        Form::Folded => folded::gram::<L, WIDE>(row, simd.splat(scale), base, h, g),
    }
}

/// The packed rows of a tile.
#[derive(Clone, Copy)]
pub(crate) struct TileLines<'a> {
    /// Where the entries of each row start, and where those of the last end.
    pub(crate) starts: &'a [usize],
    /// The entries of all rows, as if they were one.
    pub(crate) entries: RowLines<'a>,
    /// Minus the factor of each row's base; 1 for all rows if there are none.
    pub(crate) scales: Option<&'a [f32]>,
    /// One base for all rows if there are scales, otherwise one per row.
    pub(crate) bases: &'a [f32],
}

/// [`gram`] for every row of a tile.
#[inline(always)]
pub(super) fn grams<L: Lanes, const WIDE: bool>(
    simd: Simd<L>,
    form: Form,
    tile: TileLines<'_>,
    h: &mut [f32],
    g: &mut [f32],
) {
    let all = tile.entries;
    let outs = h
        .chunks_exact_mut(form.floats())
        .zip(g.chunks_exact_mut(LANES));
    for (at, (pair, (h, g))) in tile.starts.windows(2).zip(outs).enumerate() {
        let (start, end) = (pair[0], pair[1]);
        let row = RowLines {
            d: &all.d[start..end],
            error: &all.error[start..end],
            lines: &all.lines[start * LANES..end * LANES],
            next: Gathered {
                indices: all.next.indices.get(start..).unwrap_or_default(),
                ..all.next
            },
            at: all.at,
        };
        let (scale, base) = match tile.scales {
            Some(scales) => (-scales[at], tile.bases),
            None => (1.0, &tile.bases[at * form.floats()..]),
        };
        gram::<L, WIDE>(simd, form, row, scale, base, h, g);
    }
}
