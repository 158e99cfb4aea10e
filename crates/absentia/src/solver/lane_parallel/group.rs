//! Solving one group of rows.

use super::layout::{Group, LaneLayout};
use crate::linalg::kernels::{
    EntryWeights, Form, LaneBlock, LaneUpdates, LossSlots, Slots, SteppedEntries, StridedRows,
    packed_floats, prefetch,
};
use crate::linalg::{Buffer, LANES};
use crate::solver::block::CURVATURE_FLOOR;
use crate::solver::{NotConvex, Side, Tile};

/// Solves one group of rows after another; holds the buffers.
#[derive(Default)]
pub(super) struct GroupSolver {
    /// Number of slots in which each lane has an entry.
    held: [f32; LANES],
    /// Per entry: the factor that its scale leaves, its weight if it were missing, the reciprocal of
    /// its scale, its error, and its lines.
    left: Buffer,
    missing: Buffer,
    inverse: Buffer,
    error: Buffer,
    lines: Buffer,
    /// Whether every entry is scaled by its weight.
    plain: bool,
    /// Current factors, row by row; and factors before the sweep, a line of lanes per coordinate.
    factors: Buffer,
    p: Buffer,
    steps: Buffer,
    /// Weights of the rows: negative, one number per component and row; and in lanes.
    scales: Vec<f32>,
    weights: Buffer,
    penalty: Vec<f32>,
    /// `−Σ_t a_ut (S_t p_u)` on a block, row by row.
    g: Buffer,
    /// Where all rows of the group have the same weights, `Σ_t a_t S_t` on a block and on its diagonal.
    is_alike: bool,
    shared: Buffer,
    shared_diagonal: Buffer,
}

/// The fewest rows for which summing the caches once pays.
const ALIKE_ROWS: usize = 4;

impl GroupSolver {
    /// Improves the rows of a group.
    pub(super) fn solve(
        &mut self,
        group: &Group,
        layout: &LaneLayout,
        tile: &mut Tile<'_>,
        side: &Side<'_>,
    ) -> Result<(), NotConvex> {
        self.load_rows(group, layout, tile, side);
        self.pack(group, layout, side);
        for block in 0..tile.stride / LANES {
            self.start_gradients((group, layout), block, tile, side);
            let negative = self.step(group, layout, block, side);
            if let Some((n, curvature)) = negative.filter(|_| side.may_be_negative) {
                let row = tile.row(layout.rows(group)[n].1 as usize);
                return Err(NotConvex { row, curvature });
            }
        }
        let factors = self.factors.as_slice().chunks_exact(tile.stride);
        for (from, &(_, at)) in factors.zip(layout.rows(group)) {
            tile.factors_of(at as usize).copy_from_slice(from);
        }
        Ok(())
    }

    /// Factors, weights and penalties of a group, and how many entries its lanes have.
    fn load_rows(&mut self, group: &Group, layout: &LaneLayout, tile: &Tile<'_>, side: &Side<'_>) {
        let (order, stride) = (layout.rows(group), tile.stride);
        let (rows, per_row) = (order.len(), group.per_row);
        let mut picked = [0; LANES];
        for (place, &(_, at)) in picked.iter_mut().zip(order) {
            *place = at as usize;
        }
        // Rows are scattered over the tile: prefetch those written soon and those read next.
        for &row in &picked[..rows] {
            prefetch(&tile.factors[row * stride..(row + 1) * stride]);
        }
        for &(_, next) in layout.rows_after(group) {
            let next = next as usize * stride;
            prefetch(&tile.before[next..next + stride]);
        }
        let (factors, p) = (
            self.factors.room(rows * stride),
            self.p.room(stride * LANES),
        );
        side.kernels
            .spread(tile.before, stride, &picked[..rows], factors, per_row, p);
        self.held = [0.0; LANES];
        self.penalty.clear();
        // Lanes without a row must not look like a row without a minimum.
        self.penalty.resize(LANES, 1.0);
        let z = side.cache.rank();
        self.scales.clear();
        self.scales.resize(z * rows, 0.0);
        let weights = self.weights.room(z * LANES);
        weights.fill(0.0);
        for (n, &(entries, at)) in order.iter().enumerate() {
            let (lanes, row) = (n * per_row..(n + 1) * per_row, tile.row(at as usize));
            for (lane, held) in self.held[lanes.clone()].iter_mut().enumerate() {
                *held = (entries as f32 - lane as f32) / per_row as f32;
            }
            self.penalty[lanes.clone()].fill(side.penalty.get(row));
            for (t, &a) in side.own_weights.row(row).iter().enumerate() {
                self.scales[t * rows + n] = -a;
                weights[t * LANES..][lanes.clone()].fill(a);
            }
        }
        // Features give most rows one more weight, the same for all; sums of other weights keep their bits.
        let alike = |scale: &[f32]| scale.iter().all(|a| a.to_bits() == scale[0].to_bits());
        let may_share = !side.features.is_empty() && rows >= ALIKE_ROWS;
        self.is_alike = may_share && self.scales.chunks_exact(rows).all(alike);
    }

    /// Sums the caches of rows that have the same weights, which then are rows of rank one.
    fn share_caches(&mut self, rows: usize, block: usize, side: &Side<'_>) {
        let (z, stride) = (side.cache.rank(), side.fixed.stride());
        let shared = &mut self.shared.room(stride * LANES)[..stride * LANES];
        let diagonal = self.shared_diagonal.room(LANES * LANES);
        shared.fill(0.0);
        diagonal.fill(0.0);
        let lines = side.cache.diagonals(Form::Square, block);
        for (t, scale) in self.scales.chunks_exact(rows).enumerate() {
            if scale[0] == 0.0 {
                continue;
            }
            side.kernels
                .axpy(-scale[0], side.cache.panel(block, t), shared);
            for (lines, slot) in lines
                .chunks_exact(z * LANES)
                .zip(diagonal.chunks_exact_mut(LANES))
            {
                let line = &lines[t * LANES..(t + 1) * LANES];
                side.kernels.axpy(-scale[0], line, slot);
            }
        }
    }

    /// Packs the rows of the fixed side that the entries name, weighs the entries and predicts.
    fn pack(&mut self, group: &Group, layout: &LaneLayout, side: &Side<'_>) {
        let (entries, stride) = (group.entries(), side.fixed.stride());
        let lines = packed_floats(group.slots.len(), stride);
        let picked = side.gathered(&layout.picks[entries.start..]);
        let floats = entries.len();
        let weights = EntryWeights {
            a: &self.weights.as_slice()[..side.cache.rank() * LANES],
            b: side.fixed_weights.as_slice(),
            c: layout.c.of(entries.clone()),
            r: layout.r.of(entries),
            held: &self.held,
        };
        let mut slots = Slots {
            left: self.left.room(floats),
            error: self.error.room(floats),
            loss: side.wants_loss.then(|| LossSlots {
                missing: self.missing.room(floats),
                inverse: self.inverse.room(floats),
            }),
        };
        let (p, lines) = (self.p.as_slice(), self.lines.room(lines));
        self.plain = side
            .kernels
            .pack_lanes(picked, p, weights, lines, &mut slots);
    }

    /// The part of the objective that the entries contribute after all steps.
    pub(super) fn losses(
        &mut self,
        group: &Group,
        layout: &LaneLayout,
        side: &Side<'_>,
    ) -> [f64; 2] {
        let (entries, stride) = (group.entries(), side.fixed.stride());
        let weights = EntryWeights {
            a: &[],
            b: &[],
            c: layout.c.of(entries.clone()),
            r: layout.r.of(entries.clone()),
            held: &self.held,
        };
        let stepped = SteppedEntries {
            plain: self.plain,
            lines: self.lines.as_slice(),
            p: self.p.as_slice(),
            steps: &self.steps.as_slice()[..stride * LANES],
            error: &self.error.as_slice()[..entries.len()],
            missing: self.missing.as_slice(),
            inverse: self.inverse.as_slice(),
        };
        side.kernels.lane_losses(weights, stepped)
    }

    /// `−Σ_t a_ut (S_t p_u)` of its rows on one block, with what features add.
    fn start_gradients(
        &mut self,
        (group, layout): (&Group, &LaneLayout),
        block: usize,
        tile: &Tile<'_>,
        side: &Side<'_>,
    ) {
        let (rows, stride) = (group.places.len(), side.fixed.stride());
        if self.is_alike {
            self.share_caches(rows, block, side);
        }
        let g = &mut self.g.room(rows * LANES)[..rows * LANES];
        g.fill(0.0);
        if !side.features.is_empty() {
            for (line, &(_, at)) in g.chunks_exact_mut(LANES).zip(layout.rows(group)) {
                side.add_products(tile.row(at as usize), block * LANES, line);
            }
        }
        let x = StridedRows {
            values: self.factors.as_slice(),
            stride,
            rows,
            k: stride,
        };
        if self.is_alike {
            let panel = &self.shared.as_slice()[..stride * LANES];
            let scale = [-1.0; LANES];
            side.kernels.panel_product(x, panel, Some(&scale), g, LANES);
            return;
        }
        for (t, scale) in self.scales.chunks_exact(rows).enumerate() {
            // Weights of groups of users or items are mostly zero.
            if scale.iter().any(|&a| a != 0.0) {
                let panel = side.cache.panel(block, t);
                side.kernels.panel_product(x, panel, Some(scale), g, LANES);
            }
        }
    }

    fn step(
        &mut self,
        group: &Group,
        layout: &LaneLayout,
        block: usize,
        side: &Side<'_>,
    ) -> Option<(usize, f32)> {
        let (entries, rows) = (group.entries(), group.places.len());
        let (stride, z) = (side.fixed.stride(), side.cache.rank());
        // Lanes without a row have no weight: they must not look like a row without a minimum.
        let mut ones = [0.0; LANES];
        ones[..rows * group.per_row].fill(1.0);
        let (weights, diagonals) = if self.is_alike {
            let diagonal = &self.shared_diagonal.as_slice()[..LANES * LANES];
            (&ones[..], diagonal)
        } else {
            let weights = &self.weights.as_slice()[..z * LANES];
            (weights, side.cache.diagonals(Form::Square, block))
        };
        let x = LaneBlock {
            block,
            per_row: group.per_row,
            lines: self.lines.as_slice(),
            p: self.p.as_slice(),
            next: side.gathered(&layout.picks[entries.end..]),
            left: (!self.plain).then(|| self.left.as_slice()),
            penalty: &self.penalty,
            weights,
            diagonals,
            g: &self.g.as_slice()[..rows * LANES],
        };
        let mut updates = LaneUpdates {
            steps: self.steps.room(stride * LANES),
            error: self.error.room(entries.len()),
            factors: self.factors.room(rows * stride),
        };
        side.kernels.descend_lanes(x, CURVATURE_FLOOR, &mut updates)
    }
}
