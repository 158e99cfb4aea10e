//! The exact solve of one block of coordinates, safe where the block is nearly singular.

use std::ops::Range;

use crate::linalg::kernels::Kernels;

/// The quadratic `δᵀ h δ − 2 δᵀ g` of one row's window, of which `h` holds at least the lower triangle.
pub(super) struct BlockStep<'a> {
    pub(super) h: &'a [f32],
    pub(super) width: usize,
    /// Least curvature that is more than rounding, per coordinate.
    pub(super) floor: &'a [f32],
    pub(super) kernels: Kernels,
}

impl BlockStep<'_> {
    /// Puts the minimiser over the coordinates of `range` into `delta`; yields a negative pivot, if
    /// there was one.
    ///
    /// A block with more coordinates than its row has entries is singular but for the penalty and
    /// the missing entries. A pivot then is a small difference of large numbers: below the rounding
    /// of its diagonal it counts as zero, and a step that would still not improve the row gives way
    /// to coordinate steps, which always do.
    pub(super) fn solve(
        &mut self,
        range: Range<usize>,
        g: &[f32],
        delta: &mut [f32],
        work: &mut [f32],
    ) -> Option<f32> {
        let block = range.len();
        let (column, rest) = work.split_at_mut(self.width);
        let (floor, copy) = rest.split_at_mut(block);
        for (n, f) in range.clone().enumerate() {
            let line = &self.h[f * self.width + range.start..][..=n];
            copy[n * block..=n * block + n].copy_from_slice(line);
            floor[n] = self.floor[f].max(block as f32 * f32::EPSILON * line[n].abs());
        }
        let step = &mut delta[range.clone()];
        step.copy_from_slice(&g[range.clone()]);
        let negative =
            self.kernels
                .solve_semidefinite(&mut copy[..block * block], block, floor, step, column);
        if !self.improves(range.clone(), &g[range.clone()], step) {
            self.coordinate_steps(range.clone(), &g[range], step, column);
        }
        negative
    }

    /// Whether `2 δᵀ g − δᵀ h δ`, what the step takes off the objective, is more than the rounding of
    /// the numbers it is made of.
    fn improves(&self, range: Range<usize>, g: &[f32], step: &[f32]) -> bool {
        let (mut gain, mut size) = (0.0_f64, 0.0_f64);
        for (n, f) in range.clone().enumerate() {
            let line = &self.h[f * self.width + range.start..][..=n];
            // Twice the lower triangle is both triangles, with the diagonal twice as well.
            let (mut below, mut around) = (0.0_f32, 0.0_f32);
            for (h, x) in line.iter().zip(step) {
                below += h * x;
                around += (h * x).abs();
            }
            let along = 2.0 * f64::from(below) - f64::from(line[n]) * f64::from(step[n]);
            gain += f64::from(step[n]) * (2.0 * f64::from(g[n]) - along);
            size += f64::from(step[n].abs()) * (f64::from(g[n].abs()) + f64::from(around));
        }
        gain >= f64::from(f32::EPSILON) * size
    }

    fn coordinate_steps(
        &self,
        range: Range<usize>,
        g: &[f32],
        step: &mut [f32],
        gradient: &mut [f32],
    ) {
        let gradient = &mut gradient[..range.len()];
        gradient.copy_from_slice(g);
        let at = |f: usize, g: usize| {
            self.h[(range.start + f.max(g)) * self.width + range.start + f.min(g)]
        };
        for f in 0..range.len() {
            let curvature = at(f, f);
            step[f] = if curvature > self.floor[range.start + f] {
                gradient[f] / curvature
            } else {
                0.0
            };
            for (g, slot) in gradient.iter_mut().enumerate() {
                *slot -= at(f, g) * step[f];
            }
        }
    }
}
