//! How the rows of one side are cut into tiles.

use std::ops::Range;
use std::sync::OnceLock;

use super::lane_parallel::LaneLayout;
use super::long_rows::SEGMENT;
use crate::data::Entries;
use crate::linalg::{Dense, LANES};
use crate::row_sums::CHUNK_ROWS;

/// Maximum rows of a tile: enough to make products with the caches matrix products, few enough for
/// their small Gram matrices to stay in cache.
const TILE_ROWS: usize = 32;

/// Bytes of packed lines of a tile, unless a single row has more. The second-level cache should
/// hold them, the rows to be packed next, and the caches' panels.
pub(super) const TILE_BYTES: usize = 512 << 10;

/// Maximum bytes of packed lines; longer rows are gathered again for every window.
pub(super) const PACKED_BYTES: usize = 4 << 20;

/// Maximum rows of a tile whose rows are sorted. More rows means more of similar length, but there
/// should be tiles for all cores of a machine. Divides a chunk, whatever the number of rows.
const SORTED_ROWS: usize = 512;
/// Entries of such a tile.
pub(super) const SORTED_ENTRIES: usize = 32_768;

/// Number of entries whose lines fit into `bytes`.
pub(super) fn entries_in(bytes: usize, stride: usize) -> usize {
    bytes / (4 * stride.max(LANES))
}

/// Entries of the longest row that is packed whole and summed in one segment.
pub(super) fn longest(stride: usize) -> usize {
    entries_in(PACKED_BYTES, stride).min(SEGMENT)
}

/// Whether a row with `entries` entries is longer than that.
pub(super) fn is_long(entries: usize, stride: usize) -> bool {
    entries > longest(stride)
}

/// Bytes that one worker's tile takes at most where no row has more than `row` entries.
pub(crate) fn scratch_bytes(row: usize, stride: usize) -> u64 {
    let packed = entries_in(PACKED_BYTES, stride).min(row.max(entries_in(TILE_BYTES, stride)));
    ((packed + 1) * 4 * stride + packed * 4 * 6) as u64
}

/// Maximum entries of a side whose layouts of sorted tiles are stored for the next sweep. Storing them
/// saves a tenth of the time at 32 factors, less with more factors, and nothing if the factors do not
/// fit into the caches: at five million entries, computing a layout is as fast as reading it.
pub(crate) const MAX_STORED_ENTRIES: usize = 1 << 21;

/// Bytes of the layouts of both sides' sorted tiles, with `values` numbers per entry besides its column.
pub(crate) fn stored_layout_bytes(rows: usize, entries: usize, values: usize) -> u64 {
    if entries > MAX_STORED_ENTRIES {
        return 0;
    }
    let slots = entries + entries / 10;
    (2 * 4 * slots * (1 + values) + 12 * rows) as u64
}

/// How the rows of one side are cut into tiles; depends on the data and on K only.
pub(crate) struct Tiles {
    /// The chunk of the whole matrix that the first row is the first of.
    first_chunk: usize,
    rows: Vec<Range<usize>>,
    /// The layout of each sorted tile after its first use; empty if layouts are not stored.
    layouts: Vec<OnceLock<LaneLayout>>,
}

/// One tile of a half-sweep.
pub(crate) struct TilePart<'f> {
    pub(super) rows: Range<usize>,
    /// Its rows of factors before and after the half-sweep.
    pub(super) before: &'f [f32],
    pub(super) after: &'f mut [f32],
    /// Where its layout is stored.
    pub(super) layout: Option<&'f OnceLock<LaneLayout>>,
}

impl Tiles {
    /// Tiles whose entries are packed together; sixteen rows are solved at once.
    pub(crate) fn new(observed: &Entries<'_>, stride: usize) -> Self {
        let limit = entries_in(TILE_BYTES, stride) as u64;
        Self {
            first_chunk: 0,
            rows: cut(observed, TILE_ROWS, limit, limit, LANES),
            layouts: Vec::new(),
        }
    }

    /// Tiles whose rows are sorted by length and packed group by group; a long row is alone. Layouts
    /// are stored for sides of up to `most` entries.
    pub(crate) fn sorted(observed: &Entries<'_>, stride: usize, most: usize) -> Self {
        let (longest, all) = (longest(stride) as u64, SORTED_ENTRIES as u64);
        let rows = cut(observed, SORTED_ROWS, all, longest, 1);
        let kept = if observed.len() > most { 0 } else { rows.len() };
        Self {
            first_chunk: 0,
            rows,
            layouts: (0..kept).map(|_| OnceLock::new()).collect(),
        }
    }

    /// The same tiles, of rows that begin with this chunk of a larger matrix.
    pub(crate) fn starting_at(self, first_chunk: usize) -> Self {
        Self {
            first_chunk,
            ..self
        }
    }

    /// The chunk of the whole matrix that a row of these is in.
    pub(crate) fn chunk_of(&self, row: usize) -> usize {
        self.first_chunk + row / CHUNK_ROWS
    }

    /// The rows of each tile.
    pub(crate) fn rows(&self) -> impl Iterator<Item = &Range<usize>> {
        self.rows.iter()
    }

    /// Yields each tile with its rows of both matrices.
    pub(crate) fn split<'f>(
        &'f self,
        before: &'f Dense,
        after: &'f mut Dense,
    ) -> Vec<TilePart<'f>> {
        let stride = before.stride();
        let before = before.as_slice();
        let mut rest = after.as_mut_slice();
        let mut parts = Vec::with_capacity(self.rows.len());
        for (at, rows) in self.rows.iter().enumerate() {
            let (after, tail) = rest.split_at_mut(rows.len() * stride);
            parts.push(TilePart {
                rows: rows.clone(),
                before: &before[rows.start * stride..rows.end * stride],
                after,
                layout: self.layouts.get(at),
            });
            rest = tail;
        }
        parts
    }
}

/// Tiles of up to `rows` rows and `limit` entries, where possible of a multiple of `at_once` rows. A
/// row longer than `longest` is alone.
fn cut(
    observed: &Entries<'_>,
    rows: usize,
    limit: u64,
    longest: u64,
    at_once: usize,
) -> Vec<Range<usize>> {
    let offsets = observed.offsets();
    let is_long = |row: usize| offsets[row + 1] - offsets[row] > longest;
    let mut tiles = Vec::new();
    let mut start = 0;
    while start < observed.rows() {
        let mut end = start + 1;
        while end < observed.rows()
            && end - start < rows
            && !end.is_multiple_of(CHUNK_ROWS)
            && offsets[end + 1] - offsets[start] <= limit
            && !is_long(start)
            && !is_long(end)
        {
            end += 1;
        }
        if end - start > at_once {
            end -= (end - start) % at_once;
        }
        tiles.push(start..end);
        start = end;
    }
    tiles
}
