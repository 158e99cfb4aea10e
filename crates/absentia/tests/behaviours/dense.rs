//! A second backend: every entry of the matrix in `f64`, one row after the other, no caches.
//!
//! It shares nothing with the first but the problem, so that a test that passes on both depends on
//! the loop and on what the method is, not on how it is computed. Factors are rounded to `f32` after
//! each half-sweep, because that is what a run stores.
#![allow(clippy::needless_range_loop, reason = "several arrays share an index")]

use absentia::Dense;
use absentia::fit::Cancel;
use absentia::fit::backend::{
    Backend, Device, Halt, LocalBackend, NotConvex, ObjectiveSums, Precision, Problem,
};
use absentia::model::Factors;
use absentia::{Axis, Objective, Sides, Solver};

/// A pivot below this share of its diagonal element is rounding.
const PIVOT: f64 = 1e-12;

pub(crate) struct DenseDevice;

impl Device for DenseDevice {
    type Backend<'p> = DenseBackend<'p>;

    fn backend<'p>(
        &self,
        problem: &'p Problem<'p>,
        solver: Solver,
        start: Sides<Dense>,
    ) -> DenseBackend<'p> {
        DenseBackend {
            problem,
            solver,
            factors: start,
            before: Sides::default(),
            summed: Sides::default(),
        }
    }
}

pub(crate) struct DenseBackend<'p> {
    problem: &'p Problem<'p>,
    solver: Solver,
    factors: Sides<Dense>,
    before: Sides<Option<Dense>>,
    /// Whether the caches of each side would be those of its factors.
    summed: Sides<bool>,
}

/// Weight and target of every entry of a row, observed or not.
struct DenseRow {
    w: Vec<f64>,
    r: Vec<f64>,
    is_observed: Vec<bool>,
    lambda: f64,
}

impl DenseBackend<'_> {
    fn row(&self, axis: Axis, row: usize) -> DenseRow {
        let problem = self.problem;
        let columns = self.factors[axis.other()].rows();
        let own = problem.weights(axis).row(row);
        let missing = |column: usize| match problem.dense(axis) {
            Some(w) => f64::from(w.row(row)[column]),
            None => dot(own, problem.weights(axis.other()).row(column)),
        };
        let mut dense = DenseRow {
            w: (0..columns).map(missing).collect(),
            r: vec![0.0; columns],
            is_observed: vec![false; columns],
            lambda: f64::from(problem.penalty(axis).get(row)),
        };
        let observed = problem.entries(axis).row(row);
        for (n, &column) in observed.indices.iter().enumerate() {
            let column = column as usize;
            dense.w[column] = f64::from(observed.c.get(n));
            dense.r[column] = f64::from(observed.r.get(n));
            dense.is_observed[column] = true;
        }
        dense
    }

    /// The improved factors of a row, or its curvature if that is negative.
    fn improved(&self, axis: Axis, row: usize) -> Result<Vec<f64>, f64> {
        let k = self.factors.users.cols();
        let quadratic = Quadratic {
            row: &self.row(axis, row),
            fixed: &self.factors[axis.other()],
        };
        let start = self.factors[axis].row(row);
        let p: Vec<f64> = start.iter().map(|x| f64::from(*x)).collect();
        match self.solver {
            Solver::Eals | Solver::EalsVanilla => quadratic.in_blocks(p, 1),
            Solver::Subspace { block } => quadratic.in_blocks(p, block.min(k)),
            Solver::Als => quadratic.in_blocks(p, k),
            Solver::AlsCg { steps } => quadratic.conjugate_gradients(p, steps),
        }
    }
}

impl Backend for DenseBackend<'_> {
    fn half_sweep(&mut self, axis: Axis, _: bool, cancel: &Cancel) -> Result<(), Halt> {
        assert!(
            self.summed[axis.other()],
            "the caches of the fixed side are summed before they are read"
        );
        let mut after = self.factors[axis].clone();
        for row in 0..after.rows() {
            if cancel.is_cancelled() {
                return Err(Halt::Cancelled);
            }
            let improved = self.improved(axis, row).map_err(|curvature| {
                let curvature = curvature as f32;
                Halt::NotConvex(NotConvex { row, curvature })
            })?;
            for (slot, x) in after.row_mut(row).iter_mut().zip(improved) {
                *slot = x as f32;
            }
        }
        let before = std::mem::replace(&mut self.factors[axis], after);
        self.before[axis] = Some(before);
        self.summed[axis] = false;
        Ok(())
    }

    fn sum_caches(&mut self, axis: Axis) -> Result<(), Halt> {
        self.summed[axis] = true;
        Ok(())
    }

    fn undo(&mut self, axis: Axis) -> Result<(), Halt> {
        self.factors[axis] = self.before[axis].take().expect("a half-sweep to undo");
        Ok(())
    }

    fn objective_sums(&mut self, _: Precision) -> Result<ObjectiveSums, Halt> {
        assert!(self.summed.users && self.summed.items);
        let mut objective = Objective::default();
        let (p, q) = (&self.factors.users, &self.factors.items);
        for user in 0..p.rows() {
            let dense = self.row(Axis::User, user);
            for item in 0..q.rows() {
                let error = dense.r[item] - dot(p.row(user), q.row(item));
                let part = if dense.is_observed[item] {
                    &mut objective.observed
                } else {
                    &mut objective.missing
                };
                *part += dense.w[item] * error * error;
            }
        }
        for axis in [Axis::User, Axis::Item] {
            let factors = &self.factors[axis];
            for row in 0..factors.rows() {
                let lambda = f64::from(self.problem.penalty(axis).get(row));
                objective.regularization += lambda * dot(factors.row(row), factors.row(row));
            }
        }
        Ok(ObjectiveSums {
            objective,
            rounding: 0.0,
        })
    }
}

impl LocalBackend for DenseBackend<'_> {
    fn factors(&self) -> Sides<Factors> {
        self.factors.clone().map(Factors::from)
    }
}

fn dot(x: &[f32], y: &[f32]) -> f64 {
    x.iter()
        .zip(y)
        .map(|(x, y)| f64::from(*x) * f64::from(*y))
        .sum()
}

/// `p ↦ Σ_i w_i (r_i − p·q_i)² + λ|p|²`.
struct Quadratic<'q> {
    row: &'q DenseRow,
    fixed: &'q Dense,
}

impl Quadratic<'_> {
    fn q(&self, column: usize, f: usize) -> f64 {
        f64::from(self.fixed.row(column)[f])
    }

    /// Exact steps over blocks of coordinates, one after the other.
    fn in_blocks(&self, mut p: Vec<f64>, block: usize) -> Result<Vec<f64>, f64> {
        let (row, columns) = (self.row, self.fixed.rows());
        let predict = |column: usize| (0..p.len()).map(|f| p[f] * self.q(column, f)).sum();
        let mut predicted: Vec<f64> = (0..columns).map(predict).collect();
        for first in (0..p.len()).step_by(block) {
            let size = block.min(p.len() - first);
            let (mut h, mut g) = (vec![0.0; size * size], vec![0.0; size]);
            for (column, predicted) in predicted.iter().enumerate() {
                let (w, error) = (row.w[column], row.r[column] - predicted);
                for f in 0..size {
                    let wq = w * self.q(column, first + f);
                    g[f] += wq * error;
                    for (other, slot) in h[f * size..=f * size + f].iter_mut().enumerate() {
                        *slot += wq * self.q(column, first + other);
                    }
                }
            }
            for f in 0..size {
                h[f * size + f] += row.lambda;
                g[f] -= row.lambda * p[first + f];
            }
            let step = solve(h, g)?;
            for (f, step) in step.iter().enumerate() {
                p[first + f] += step;
                for (column, predicted) in predicted.iter_mut().enumerate() {
                    *predicted += step * self.q(column, first + f);
                }
            }
        }
        Ok(p)
    }

    /// `H x` for the curvature H of the quadratic.
    fn image(&self, x: &[f64]) -> Vec<f64> {
        let mut image: Vec<f64> = x.iter().map(|x| self.row.lambda * x).collect();
        for column in 0..self.fixed.rows() {
            let along: f64 = (0..x.len()).map(|f| x[f] * self.q(column, f)).sum();
            for (f, slot) in image.iter_mut().enumerate() {
                *slot += self.row.w[column] * along * self.q(column, f);
            }
        }
        image
    }

    fn conjugate_gradients(&self, mut p: Vec<f64>, steps: usize) -> Result<Vec<f64>, f64> {
        let mut residual: Vec<f64> = self.image(&p).iter().map(|x| -x).collect();
        for column in 0..self.fixed.rows() {
            for (f, slot) in residual.iter_mut().enumerate() {
                *slot += self.row.w[column] * self.row.r[column] * self.q(column, f);
            }
        }
        let square = |x: &[f64]| x.iter().map(|x| x * x).sum::<f64>();
        let (mut direction, first) = (residual.clone(), square(&residual));
        for _ in 0..steps {
            let (image, norm) = (self.image(&direction), square(&residual));
            let curvature: f64 = direction.iter().zip(&image).map(|(x, y)| x * y).sum();
            if norm <= 1e-28 * first || curvature == 0.0 {
                break;
            }
            if curvature < 0.0 {
                return Err(curvature / square(&direction));
            }
            for (f, p) in p.iter_mut().enumerate() {
                *p += norm / curvature * direction[f];
                residual[f] -= norm / curvature * image[f];
            }
            let turn = square(&residual) / norm;
            for (direction, residual) in direction.iter_mut().zip(&residual) {
                *direction = residual + turn * *direction;
            }
        }
        Ok(p)
    }
}

/// Solves `H x = g` by an `LDLᵀ` decomposition of the lower triangle; a coordinate without curvature of
/// its own stays at 0. A negative pivot is the error.
fn solve(mut h: Vec<f64>, mut g: Vec<f64>) -> Result<Vec<f64>, f64> {
    let n = g.len();
    let mut pivots = vec![0.0; n];
    for f in 0..n {
        let whole = h[f * n + f];
        let taken: f64 = (0..f).map(|e| h[f * n + e].powi(2) * pivots[e]).sum();
        let pivot = whole - taken;
        let size = whole.abs().max(taken.abs());
        if pivot < -1e-9 * size {
            return Err(pivot);
        }
        pivots[f] = if pivot > PIVOT * size { pivot } else { 0.0 };
        for row in f + 1..n {
            let shared: f64 = (0..f)
                .map(|e| h[row * n + e] * h[f * n + e] * pivots[e])
                .sum();
            h[row * n + f] = if pivots[f] > 0.0 {
                (h[row * n + f] - shared) / pivots[f]
            } else {
                0.0
            };
        }
    }
    for f in 0..n {
        for e in 0..f {
            g[f] -= h[f * n + e] * g[e];
        }
    }
    for (g, pivot) in g.iter_mut().zip(&pivots) {
        *g = if *pivot > 0.0 { *g / pivot } else { 0.0 };
    }
    for f in (0..n).rev() {
        for row in f + 1..n {
            g[f] -= h[row * n + f] * g[row];
        }
    }
    Ok(g)
}
