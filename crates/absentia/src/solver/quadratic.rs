//! What a row minimises while the other side is held fixed, in double precision.

/// `p ↦ pᵀ H p − 2 pᵀ y` of one row.
pub(crate) struct Quadratic {
    /// H, K × K.
    pub(crate) h: Vec<f64>,
    pub(crate) y: Vec<f64>,
    /// `c r` of the entries, in the order in which they were added.
    pub(crate) pulls: Vec<f64>,
}

impl Quadratic {
    /// The missing entries alone: takes `Σ_t a_t S_t`, of which only the lower triangle is used.
    pub(crate) fn of_missing(h: Vec<f64>, k: usize) -> Self {
        Self {
            h,
            y: vec![0.0; k],
            pulls: Vec::new(),
        }
    }

    /// Adds an entry: its row of the fixed side, its target and weight, and its weight if it were missing.
    pub(crate) fn add(&mut self, q: &[f32], (r, c): (f64, f64), missing: f64) {
        add_square(&mut self.h, c - missing, q);
        let pull = c * r;
        for (y, q) in self.y.iter_mut().zip(q) {
            *y += pull * f64::from(*q);
        }
        self.pulls.push(pull);
    }

    /// Adds the penalty, and fills in the upper triangle.
    pub(crate) fn with_penalty(mut self, lambda: f64) -> Self {
        let k = self.y.len();
        for f in 0..k {
            self.h[f * k + f] += lambda;
            for g in 0..f {
                self.h[g * k + f] = self.h[f * k + g];
            }
        }
        self
    }
}

/// Adds `weight q qᵀ` to the lower triangle of a K × K matrix.
fn add_square(matrix: &mut [f64], weight: f64, q: &[f32]) {
    for (f, line) in matrix.chunks_exact_mut(q.len()).enumerate() {
        add_line(&mut line[..=f], weight, q);
    }
}

/// Adds the line of `weight q qᵀ` that ends on the diagonal.
pub(super) fn add_line(line: &mut [f64], weight: f64, q: &[f32]) {
    let Some(last) = line.len().checked_sub(1) else {
        return;
    };
    let scaled = weight * f64::from(q[last]);
    for (slot, q) in line.iter_mut().zip(q) {
        *slot += scaled * f64::from(*q);
    }
}
