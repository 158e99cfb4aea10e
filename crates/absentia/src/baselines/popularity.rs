//! Every user gets the items that most users took: `p_u = 1`, `q_i = n_i`.

use super::{Pass, PassInput};
use crate::linalg::Dense;
use crate::solver::Objective;

/// Writes the factors; counts above 2²⁴ are rounded.
pub(super) fn pass(input: &PassInput<'_>, p: &mut Dense, q: &mut Dense) -> Pass {
    for user in 0..p.rows() {
        p.row_mut(user).fill(1.0);
    }
    for (item, count) in input.data.item_counts().into_iter().enumerate() {
        q.row_mut(item).fill(count as f32);
    }
    Pass::Own(Objective::default())
}
