//! Small Gram matrices of packed rows, each with what missing entries contribute.
//!
//! A matrix is symmetric, so that little more than half of it is summed; [`Form`] says which half,
//! and in which order, as those who read it need it.

mod folded;
mod square;

use super::body::Gathered;
use super::lanes::{LANES, Lanes, Simd};
pub(super) use square::cross;

/// Coordinates of each half of a block.
const HALF: usize = LANES / 2;

/// How a symmetric matrix of sixteen rows stands in lines of sixteen numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// Row after row. Rows 0 to 7 and the upper eight lanes of rows 8 to 15 are meant: the upper
    /// triangle and a little more.
    Square,
    /// Of both halves of the coordinates together, the diagonal and the four beside it, going round
    /// within each half; then the lower half times the upper one, two rows a line. No number but
    /// those of the fourth diagonal is there twice: a quarter less to sum than in a square.
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
    /// Rows that will be packed next, one per entry, to be asked for while there is time; there may
    /// be fewer.
    pub(crate) next: Gathered<'a>,
    /// Coordinate from which sixteen of those rows are asked for.
    pub(crate) at: usize,
}

impl RowLines<'_> {
    /// Asks for a line of what comes next.
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

/// Packed rows of a tile, all of whose Gram matrices are wanted.
#[derive(Clone, Copy)]
pub(crate) struct TileLines<'a> {
    /// Where the entries of each row start, and where those of the last end.
    pub(crate) starts: &'a [usize],
    /// The entries of all rows, as if they were one.
    pub(crate) entries: RowLines<'a>,
    /// What a row's base is multiplied by, negative; one for all where there are none.
    pub(crate) scales: Option<&'a [f32]>,
    /// The base of all rows where there are scales, otherwise one for each.
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
