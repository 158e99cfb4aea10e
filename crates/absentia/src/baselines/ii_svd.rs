//! ii-SVD: the decomposition of item-to-item neighbour scores (Volkovs and Yu 2015).
//!
//! A binary matrix says little entry by entry, so it is first turned into scores: user u's score for
//! item i is the similarity of i to everything u took,
//!
//! ```text
//! S = R̂ C,   C_ij = n_ij / √(n_i n_j)   (R̂ binary, n_ij users who took both)
//! ```
//!
//! and `S ≈ U Σ Vᵀ` gives `P = U √Σ`, `Q = V √Σ`. The published cost, `O(MN log K)`, is that of a
//! dense S; here S is never formed: `C = N^−½ R̂ᵀR̂ N^−½` with N the item counts, so a product with
//! S is three products with the sparse matrix. The cosine in C is our choice of normalisation.

use super::svd::{decompose, write};
use super::{BaselineError, Pass, Problem};
use crate::data::Interactions;
use crate::linalg::{Block, Dense, LinearOperator};
use crate::solver::Objective;

pub(super) fn pass(
    problem: &Problem<'_>,
    p: &mut Dense,
    q: &mut Dense,
) -> Result<Pass, BaselineError> {
    let scores = NeighbourScores::new(problem.data);
    let svd = decompose(&scores, p.cols(), problem.params.seed)?;
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
    /// `n_i^−½`.
    scale: Vec<f64>,
}

impl<'a> NeighbourScores<'a> {
    fn new(taken: &'a Interactions<'a>) -> Self {
        let scale = |count: u32| f64::from(count.max(1)).sqrt().recip();
        Self {
            taken,
            scale: taken.item_counts().into_iter().map(scale).collect(),
        }
    }

    /// `N^−½ x`.
    fn scaled(&self, x: &Block) -> Block {
        let mut scaled = x.clone();
        for (row, scale) in self.scale.iter().enumerate() {
            scaled.row_mut(row).iter_mut().for_each(|x| *x *= scale);
        }
        scaled
    }

    /// `C x`.
    fn similarity(&self, x: &Block) -> Block {
        let users = LinearOperator::apply(self.taken, &self.scaled(x));
        self.scaled(&self.taken.apply_transposed(&users))
    }
}

impl LinearOperator for NeighbourScores<'_> {
    fn rows(&self) -> usize {
        self.taken.n_users()
    }

    fn cols(&self) -> usize {
        self.taken.n_items()
    }

    fn apply(&self, x: &Block) -> Block {
        LinearOperator::apply(self.taken, &self.similarity(x))
    }

    fn apply_transposed(&self, y: &Block) -> Block {
        self.similarity(&self.taken.apply_transposed(y))
    }

    /// Not needed for a decomposition of fixed rank; computed column block by column block.
    fn squared_norm(&self) -> f64 {
        let n = self.cols();
        (0..n)
            .step_by(64)
            .map(|first| {
                let width = 64.min(n - first);
                let unit =
                    Block::from_fn(n, width, |row, col| f64::from(u8::from(row == first + col)));
                self.apply(&unit)
                    .values()
                    .iter()
                    .map(|x| x * x)
                    .sum::<f64>()
            })
            .sum()
    }
}
