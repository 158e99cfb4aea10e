//! The micro-kernel of ranking: a few users by one panel of sixteen items.
//!
//! A panel holds sixteen items transposed, `K × 16`, so that factor `f` of all of them is one
//! vector. Each score is the sum `((0 + p_0 q_0) + p_1 q_1) + …` in this order wherever its user
//! and item stand, which is what makes one user alone and all users in bulk agree to the last bit.

use crate::linalg::LANES;

/// Users the inner loop holds in registers at a time.
const GROUP: usize = 4;

/// Writes the scores of `rows` users for one panel to the first lanes of each row of `out`.
///
/// `users` is `rows × k` without gaps, `panel` is `k × 16`, rows of `out` are `stride` apart.
///
/// # Panics
/// If a slice is too short.
pub(super) fn score_tile(
    users: &[f32],
    rows: usize,
    k: usize,
    panel: &[f32],
    out: &mut [f32],
    stride: usize,
) {
    assert!(users.len() == rows * k && panel.len() == k * LANES && stride >= LANES);
    assert!(rows == 0 || out.len() >= (rows - 1) * stride + LANES);
    let whole = rows - rows % GROUP;
    for row in (0..whole).step_by(GROUP) {
        let scores = score_group::<GROUP>(&users[row * k..(row + GROUP) * k], k, panel);
        store(&scores, &mut out[row * stride..], stride);
    }
    for row in whole..rows {
        let scores = score_group::<1>(&users[row * k..(row + 1) * k], k, panel);
        store(&scores, &mut out[row * stride..], stride);
    }
}

#[inline]
fn score_group<const R: usize>(users: &[f32], k: usize, panel: &[f32]) -> [[f32; LANES]; R] {
    let rows: [&[f32]; R] = std::array::from_fn(|row| &users[row * k..(row + 1) * k]);
    let mut scores = [[0.0_f32; LANES]; R];
    for (f, q) in panel.as_chunks::<LANES>().0.iter().enumerate() {
        for (scores, row) in scores.iter_mut().zip(&rows) {
            let p = row[f];
            for (score, q) in scores.iter_mut().zip(q) {
                *score += p * q;
            }
        }
    }
    scores
}

#[inline]
fn store<const R: usize>(scores: &[[f32; LANES]; R], out: &mut [f32], stride: usize) {
    for (row, scores) in scores.iter().enumerate() {
        out[row * stride..row * stride + LANES].copy_from_slice(scores);
    }
}

/// Writes up to sixteen rows of length `k` into a zeroed panel, transposed.
pub(super) fn pack_panel<'a>(rows: impl Iterator<Item = (&'a [f32], f32)>, panel: &mut [f32]) {
    for (lane, (row, scale)) in rows.take(LANES).enumerate() {
        for (slot, q) in panel[lane..].iter_mut().step_by(LANES).zip(row) {
            *slot = q * scale;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scores_do_not_depend_on_the_place_of_the_user() {
        let k = 37;
        let users: Vec<f32> = (0..11 * k).map(|x| (x as f32 * 0.37).sin()).collect();
        let items: Vec<f32> = (0..LANES * k).map(|x| (x as f32 * 0.11).cos()).collect();
        let mut panel = vec![0.0; k * LANES];
        pack_panel(items.chunks(k).map(|row| (row, 1.0)), &mut panel);
        let mut bulk = vec![0.0; 11 * 32];
        score_tile(&users, 11, k, &panel, &mut bulk, 32);
        for row in 0..11 {
            let mut alone = [0.0; LANES];
            score_tile(
                &users[row * k..(row + 1) * k],
                1,
                k,
                &panel,
                &mut alone,
                LANES,
            );
            assert_eq!(alone, bulk[row * 32..row * 32 + LANES]);
        }
    }
}
