//! The micro-kernel of ranking: a few users by one panel of sixteen items.
//!
//! A panel holds sixteen items transposed, `K × 16`, so that factor `f` of all of them is one
//! vector. Each score is the sum `((0 + p_0 q_0) + p_1 q_1) + …` in this order, wherever its user and
//! item are stored. One user alone and all users together therefore get the same bits.

use crate::linalg::LANES;
use crate::linalg::kernels::{Kernels, StridedRows};

/// Writes the scores of users for one panel to the first lanes of each row of `out`.
///
/// `panel` is `k × 16`, rows of `out` are `stride` apart.
///
/// # Panics
/// If a slice is too short.
pub(super) fn score_tile(users: StridedRows<'_>, panel: &[f32], out: &mut [f32], stride: usize) {
    for row in 0..users.rows {
        out[row * stride..row * stride + LANES].fill(0.0);
    }
    Kernels::in_use().panel_product(users, panel, None, out, stride);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linalg::kernels::ScaledRows;

    #[test]
    fn scores_do_not_depend_on_the_place_of_the_user() {
        let k = 37;
        let users: Vec<f32> = (0..11 * k).map(|x| (x as f32 * 0.37).sin()).collect();
        let items: Vec<f32> = (0..LANES * k).map(|x| (x as f32 * 0.11).cos()).collect();
        let mut panel = vec![0.0; k * LANES];
        let (rows, picked) = (
            ScaledRows {
                matrix: &items,
                stride: k,
                k,
                scale: None,
            },
            std::array::from_fn::<_, LANES, _>(|item| item as u32),
        );
        Kernels::in_use().transpose_rows(rows, &picked, &mut panel);
        let tile = |users, rows| StridedRows {
            values: users,
            rows,
            k,
            stride: k,
        };
        let mut bulk = vec![f32::NAN; 11 * 32];
        score_tile(tile(&users, 11), &panel, &mut bulk, 32);
        for row in 0..11 {
            let mut alone = [0.0; LANES];
            let user = &users[row * k..(row + 1) * k];
            score_tile(tile(user, 1), &panel, &mut alone, LANES);
            let bits = |scores: &[f32]| scores.iter().map(|s| s.to_bits()).collect::<Vec<_>>();
            assert_eq!(bits(&alone), bits(&bulk[row * 32..row * 32 + LANES]));
            // So does the user alone with items that are not in panels.
            let mut lying = [0.0; LANES];
            Kernels::in_use().products(user, rows, &picked, &mut lying);
            assert_eq!(bits(&alone), bits(&lying));
            // The pair scored alone, as a model does it, has the same bits too.
            let pair = Kernels::in_use().score(user, &items[3 * k..4 * k], 1.0);
            assert_eq!(pair.to_bits(), alone[3].to_bits());
        }
    }
}
