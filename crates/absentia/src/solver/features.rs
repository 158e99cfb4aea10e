//! Blocks whose entries are all observed with one weight, which is also that of the block's missing entries.
//!
//! The caches then hold all that such a block adds to `H`. What is left is the right-hand side
//! `y_u += Σ_j w x_uj q_j`: one matrix product for all rows before a half-sweep, which every solver adds to its
//! gradients. The slow solver and the one in double precision read the targets instead.

use std::ops::Range;

use rayon::prelude::*;

use super::Side;
use super::missing_weight;
use super::objective::dot;
use crate::error::Axis;
use crate::linalg::kernels::{Kernels, StridedRows};
use crate::linalg::{Dense, LANES};
use crate::relations::FeatureBlock;
use crate::row_sums::{CHUNK_ROWS, sum_rows};

/// Rows of the free side that are multiplied together.
const ROWS: usize = 64;

/// A block of features as a half-sweep reads it.
pub(crate) struct SideFeatures<'a> {
    /// Its rows among those of the free side.
    rows: Range<usize>,
    /// Its columns among the rows of the fixed side.
    columns: Range<usize>,
    targets: &'a Dense,
    /// `Σ_j w x_uj q_j` of its rows, padded.
    product: Dense,
}

impl<'a> SideFeatures<'a> {
    /// The block as the rows of `axis` see it, the factors of the other side being `fixed`.
    pub(crate) fn new(
        block: &'a FeatureBlock,
        axis: Axis,
        fixed: &Dense,
        kernels: Kernels,
    ) -> Self {
        let columns = block.ranges[axis.other()].clone();
        let targets = &block.targets[axis];
        Self {
            rows: block.ranges[axis].clone(),
            product: product(targets, fixed, columns.clone(), block.weight, kernels),
            columns,
            targets,
        }
    }

    /// `Σ_u p_u · Σ_j w x_uj q_j`.
    pub(crate) fn linear(&self, free: &Dense) -> f64 {
        let of_row = |row: usize| {
            dot(
                free.padded_row(self.rows.start + row),
                self.product.padded_row(row),
            )
        };
        sum_rows(self.rows.len(), |rows| rows.map(of_row).sum()).unwrap_or(0.0)
    }

    fn place(&self, row: usize) -> Option<usize> {
        self.rows.contains(&row).then(|| row - self.rows.start)
    }
}

impl Side<'_> {
    /// Adds to `out` what features add to the right-hand side of a row, from coordinate `at` on.
    pub(crate) fn add_products(&self, row: usize, at: usize, out: &mut [f32]) {
        for block in self.features {
            if let Some(place) = block.place(row) {
                let product = &block.product.padded_row(place)[at..at + out.len()];
                for (slot, x) in out.iter_mut().zip(product) {
                    *slot += x;
                }
            }
        }
    }

    /// The columns of the features of a row, with their targets.
    pub(crate) fn feature_targets(&self, row: usize) -> impl Iterator<Item = (usize, f32)> {
        let blocks = self.features.iter();
        let placed = blocks.filter_map(move |block| Some((block, block.place(row)?)));
        placed.flat_map(|(block, place)| {
            let targets = block.targets.row(place).iter().copied();
            block.columns.clone().zip(targets)
        })
    }
}

/// `w X Q` with X the targets and Q the rows of `fixed` in `columns`.
fn product(
    targets: &Dense,
    fixed: &Dense,
    columns: Range<usize>,
    weight: f32,
    kernels: Kernels,
) -> Dense {
    let stride = fixed.stride();
    let panels: Vec<Vec<f32>> = (0..stride / LANES)
        .into_par_iter()
        .map(|block| {
            let mut panel = Vec::with_capacity(columns.len() * LANES);
            for row in columns.clone() {
                let line = &fixed.padded_row(row)[block * LANES..(block + 1) * LANES];
                panel.extend_from_slice(line);
            }
            panel
        })
        .collect();
    let mut out = Dense::padded(targets.rows(), fixed.cols());
    let tiles = out.as_mut_slice().par_chunks_mut(ROWS * stride);
    tiles.enumerate().for_each(|(tile, out)| {
        let first = tile * ROWS;
        let rows = first..targets.rows().min(first + ROWS);
        for (block, panel) in panels.iter().enumerate() {
            let out = &mut out[block * LANES..];
            strip(targets, rows.clone(), panel, weight, kernels, (out, stride));
        }
    });
    out
}

/// Sixteen coordinates of the product for some rows: in `f32` over a chunk of columns, in `f64` between chunks.
fn strip(
    targets: &Dense,
    rows: Range<usize>,
    panel: &[f32],
    weight: f32,
    kernels: Kernels,
    (out, pitch): (&mut [f32], usize),
) {
    let (stride, columns) = (targets.stride(), targets.cols());
    let mut sums = [0.0_f64; ROWS * LANES];
    let mut part = [0.0_f32; ROWS * LANES];
    let (sums, part) = (
        &mut sums[..rows.len() * LANES],
        &mut part[..rows.len() * LANES],
    );
    for first in (0..columns).step_by(CHUNK_ROWS) {
        let width = CHUNK_ROWS.min(columns - first);
        let x = StridedRows {
            values: &targets.as_slice()[rows.start * stride + first..],
            stride,
            rows: rows.len(),
            k: width,
        };
        part.fill(0.0);
        kernels.panel_product(x, &panel[first * LANES..], None, part, LANES);
        for (sum, part) in sums.iter_mut().zip(&*part) {
            *sum += f64::from(*part);
        }
    }
    let weight = f64::from(weight);
    for (to, sums) in out.chunks_mut(pitch).zip(sums.chunks_exact(LANES)) {
        for (to, sum) in to.iter_mut().zip(sums) {
            *to = (weight * sum) as f32;
        }
    }
}

/// `Σ w (x − p·q)²` over the entries of a block, in `f64` throughout.
pub(crate) fn feature_loss(
    block: &FeatureBlock,
    (a, b): (&Dense, &Dense),
    (p, q): (&Dense, &Dense),
) -> f64 {
    let (users, items) = (&block.ranges.users, &block.ranges.items);
    let of_row = |row: usize| -> f64 {
        let user = users.start + row;
        let targets = items.clone().zip(block.targets.users.row(row));
        targets
            .map(|(item, target)| {
                let predicted = dot(p.padded_row(user), q.padded_row(item));
                let weight = missing_weight(a.row(user), b.row(item));
                weight * (f64::from(*target) - predicted).powi(2)
            })
            .sum()
    };
    sum_rows(users.len(), |rows| rows.map(of_row).sum()).unwrap_or(0.0)
}
