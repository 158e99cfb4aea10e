//! Every way through a ranking against sorting all scores.

use super::index::{ItemIndex, LazyIndex};
use super::{FactorScorer, ItemLists, RankRequest, Scored, rank};
use crate::linalg::Dense;
use crate::linalg::kernels::Kernels;

const ITEMS: usize = 1500;
const K: usize = 27;

fn value(row: usize, col: usize) -> f32 {
    ((row * 37 + col * 101) as f32 * 0.7).sin()
}

/// Users of usual size; among them some of zeros, some far too small or large for bytes, and one
/// along a single factor.
fn users(n: usize) -> Dense {
    Dense::from_fn(n, K, |row, col| match row % 11 {
        3 => 0.0,
        4 => value(row, col) * 1e-25,
        5 => value(row, col) * 1e17,
        6 if col > 0 => 0.0,
        _ => value(row, col),
    })
}

/// Items that are there two or three times, with lengths from falling fast to nearly the same.
fn items(steepness: f32) -> Dense {
    Dense::from_fn(ITEMS, K, |row, col| match row % 97 {
        13 => 0.0,
        14 => value(row, col) * 1e-22,
        _ => {
            let row = row / 2 - row / 2 % 5 / 4;
            value(row + 999, col) * steepness.powf((row * 7 % 23) as f32)
        }
    })
}

/// Sorts the scores of all items that are left.
fn oracle(
    (p, q, scale): (&[f32], &Dense, &[f32]),
    (seen, request): (&[u32], &RankRequest<'_>),
) -> Vec<Scored> {
    let is_left = |item: &u32| {
        let allowed = request.allow.is_none_or(|allow| allow.contains(item));
        allowed && !request.deny.contains(item) && !seen.contains(item)
    };
    // A list has no negative zeros: they would be equal to zeros, and are sorted as such.
    let score = |item: u32| Scored {
        item,
        score: Kernels::in_use().score(p, q.row(item as usize), scale[item as usize]) + 0.0,
    };
    let mut all: Vec<Scored> = (0..ITEMS as u32).filter(is_left).map(score).collect();
    all.sort_by(|a, b| b.score.total_cmp(&a.score).then(a.item.cmp(&b.item)));
    all.truncate(request.top);
    all
}

#[test]
fn lists_are_those_of_sorting_every_score() {
    let scale: Vec<f32> = (0..ITEMS).map(|item| 1.0 + (item / 2 % 5) as f32).collect();
    let allow: Vec<u32> = (0..ITEMS as u32).filter(|item| item % 7 != 2).collect();
    // One user and a few are scored as items lie, or with an index; many are screened.
    for (steepness, n_users) in [(0.5, 90), (0.99, 200), (0.99, 20), (0.7, 1)] {
        let (p, q) = (users(n_users), items(steepness));
        let scorer = FactorScorer::new(&p, &q).unwrap().scaled(&scale).unwrap();
        let index = ItemIndex::new(&scorer);
        let indexed = scorer.with_index(index.as_ref());
        let seen: ItemLists = (0..n_users as u32)
            .map(|user| (0..40).map(|n| (user * 13 + n * 7) % 1500).collect())
            .collect();
        let all: Vec<u32> = (0..n_users as u32).rev().collect();
        for (top, allow, deny) in [
            (0, None, &[][..]),
            (1, None, &[]),
            (10, Some(&allow[..]), &[3, 4, 5, 700][..]),
            (90, None, &[]),
            (2000, None, &[]),
        ] {
            let request = RankRequest {
                users: &all,
                top,
                exclude: Some(&seen),
                allow,
                deny,
                targets: None,
            };
            let rankings = on_threads(1, || rank(&scorer, &request).unwrap());
            assert_eq!(rankings, on_threads(3, || rank(&scorer, &request).unwrap()));
            assert_eq!(rankings, rank(&indexed, &request).unwrap());
            for (&user, ranking) in all.iter().zip(&rankings) {
                let seen = seen.row(user as usize);
                let want = oracle((p.row(user as usize), &q, &scale), (seen, &request));
                let bits = |scored: &Scored| (scored.item, scored.score.to_bits());
                let differ = |(got, want): (&Scored, &Scored)| bits(got) != bits(want);
                let first = ranking.top.iter().zip(&want).position(differ);
                assert_eq!(first, None, "user {user}, top {top}");
                assert_eq!(ranking.top.len(), want.len(), "user {user}, top {top}");
            }
        }
    }
}

#[test]
fn an_index_comes_after_some_calls_where_the_machine_can_screen() {
    let (p, q) = (users(3), items(0.9));
    let scorer = FactorScorer::new(&p, &q).unwrap();
    let lazy = LazyIndex::default();
    assert!(lazy.get(&scorer).is_none());
    let after = (0..100).position(|_| lazy.get(&scorer).is_some());
    assert_eq!(after.is_some(), Kernels::in_use().can_screen());
    assert_eq!(after.is_some(), lazy.get(&scorer).is_some());
}

fn on_threads<T: Send>(threads: usize, work: impl FnOnce() -> T + Send) -> T {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
    pool.unwrap().install(work)
}
