//! Every user gets the items that most users took: `p_u = 1`, `q_i = Σ_u c_ui`. Without confidence this is the number
//! of interactions; confidence that decays makes it recent popularity.

use super::{Pass, PassInput};
use crate::linalg::Dense;
use crate::solver::Objective;

/// Writes the factors; sums above 2²⁴ are rounded.
pub(super) fn pass(input: &PassInput<'_>, p: &mut Dense, q: &mut Dense) -> Pass {
    for user in 0..p.rows() {
        p.row_mut(user).fill(1.0);
    }
    let mut totals = vec![0.0_f64; q.rows()];
    let entries = input.data.by_user();
    for user in 0..p.rows() {
        for at in entries.range(user).filter(|&at| !input.data.is_exposed(at)) {
            totals[entries.indices()[at] as usize] += f64::from(entries.weights().get(at));
        }
    }
    for (item, total) in totals.into_iter().enumerate() {
        q.row_mut(item).fill(total as f32);
    }
    Pass::Own(Objective::default())
}
