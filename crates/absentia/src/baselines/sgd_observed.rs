//! Stochastic gradient descent on observed entries alone (the paper's strategy 1; Koren, Bell and
//! Volinsky 2009).
//!
//! Missing entries have weight 0. A pass visits the entries in random order, with
//! `e = r_ui − p_u·q_i` and step η:
//!
//! ```text
//! p_u += η (c_ui e q_i − λ_u/n_u p_u),   q_i += η (c_ui e p_u − λ_i/n_i q_i)
//! ```
//!
//! A row's penalty is spread over its entries, so that a pass follows the gradient of J.

use super::random::{of_pass, shuffled};
use super::{Pass, PassInput, dot};
use crate::data::Entries;
use crate::linalg::Dense;

/// Entries between two looks at the flag that ends the run.
const ENTRIES_PER_LOOK: usize = 1 << 16;

pub(super) fn pass(input: &PassInput<'_>, iteration: usize, p: &mut Dense, q: &mut Dense) -> Pass {
    let observed = input.data.by_user();
    let rate = input.params.learning_rate;
    let users = users_of(observed);
    let items = input.data.by_item();
    let order = shuffled(&mut of_pass(input.params.seed, iteration), observed.len());
    let mut before = vec![0.0; p.stride()];
    for (visited, &at) in order.iter().enumerate() {
        if visited % ENTRIES_PER_LOOK == 0 && input.is_cancelled() {
            return Pass::Cancelled;
        }
        let at = at as usize;
        let (user, item) = (users[at] as usize, observed.indices()[at] as usize);
        let (p_u, q_i) = (padded_mut(p, user), padded_mut(q, item));
        let error = observed.targets().get(at) - dot(input.kernels, p_u, q_i);
        let pull = rate * observed.weights().get(at) * error;
        let share = |penalty: f32, n: usize| 1.0 - rate * penalty / n as f32;
        let keep = (
            share(input.penalty.users.get(user), observed.row_len(user)),
            share(input.penalty.items.get(item), items.row_len(item)),
        );
        before.copy_from_slice(p_u);
        for ((p_f, q_f), old) in p_u.iter_mut().zip(q_i).zip(&before) {
            *p_f = keep.0 * old + pull * *q_f;
            *q_f = keep.1 * *q_f + pull * old;
        }
    }
    Pass::Objective
}

/// The user of every entry.
pub(super) fn users_of(observed: &Entries<'_>) -> Vec<u32> {
    let mut users = Vec::with_capacity(observed.len());
    for user in 0..observed.rows() {
        users.resize(users.len() + observed.row_len(user), user as u32);
    }
    users
}

/// Row `row` with its padding.
pub(super) fn padded_mut(matrix: &mut Dense, row: usize) -> &mut [f32] {
    let stride = matrix.stride();
    &mut matrix.as_mut_slice()[row * stride..(row + 1) * stride]
}
