//! Rankings and metrics against independent brute force, ties included.
#![allow(clippy::unwrap_used)]

use absentia::Triplets;
use absentia::data::{Duplicates, Interactions};
use absentia::evaluate::{
    CandidateKind, Candidates, EvaluateError, EvaluateOptions, History, Metric, TestSet, evaluate,
};
use absentia::ranking::{
    FactorRows, FactorScorer, FnScorer, ItemLists, PopularityScorer, RankError, RankRequest,
    Ranking, UserItems, rank,
};
use proptest::prelude::*;

/// Even bits of two numbers.
fn bits(seed: u64, at: u64) -> u64 {
    let mut x = seed.wrapping_mul(0x2545_f491_4f6c_dd1d) ^ at.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    x ^= x >> 29;
    x = x.wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x ^ (x >> 32)
}

/// Numbers that collide often, so that ties are the rule.
fn coarse(seed: u64, at: u64) -> f32 {
    (bits(seed, at) % 5) as f32 - 2.0
}

fn table(seed: u64, rows: usize, cols: usize) -> Vec<f32> {
    (0..(rows * cols) as u64)
        .map(|at| coarse(seed, at))
        .collect()
}

/// Whether a pair is chosen, about one time in `one_in`.
fn chosen(seed: u64, user: u32, item: u32, one_in: u64) -> bool {
    bits(seed, u64::from(user) << 32 | u64::from(item)).is_multiple_of(one_in)
}

/// Candidates of one user by a full sort: score falling, then item rising.
fn naive_order(scores: &[f32], candidates: impl Iterator<Item = u32>) -> Vec<u32> {
    let mut order: Vec<u32> = candidates.collect();
    order.sort_by(|&a, &b| {
        let (x, y) = (scores[a as usize], scores[b as usize]);
        y.partial_cmp(&x).unwrap().then(a.cmp(&b))
    });
    order
}

struct Problem {
    users: usize,
    items: usize,
    k: usize,
    p: Vec<f32>,
    q: Vec<f32>,
    scale: Vec<f32>,
    seen: ItemLists,
    targets: ItemLists,
}

impl Problem {
    fn new(users: usize, items: usize, k: usize, seed: u64) -> Self {
        let lists = |seed, one_in| -> ItemLists {
            let open = |user| move |&item: &u32| chosen(seed, user, item, one_in);
            let row = |user| (0..items as u32).filter(open(user)).collect::<Vec<u32>>();
            (0..users as u32).map(row).collect()
        };
        let scale = |at| 0.5 + coarse(seed + 2, at).abs();
        Self {
            users,
            items,
            k,
            p: table(seed, users, k),
            q: table(seed + 1, items, k),
            scale: (0..items as u64).map(scale).collect(),
            seen: lists(seed + 3, 4),
            targets: lists(seed + 4, 6),
        }
    }

    fn scorer(&self) -> FactorScorer<'_> {
        let p = FactorRows::new(&self.p, self.users, self.k, self.k).unwrap();
        let q = FactorRows::new(&self.q, self.items, self.k, self.k).unwrap();
        FactorScorer::new(p, q)
            .unwrap()
            .scaled(&self.scale)
            .unwrap()
    }

    /// Every value is a small multiple of a half, so that sums are exact in any order.
    fn scores(&self, user: u32) -> Vec<f32> {
        let p = &self.p[user as usize * self.k..(user as usize + 1) * self.k];
        let dot = |q: &[f32]| p.iter().zip(q).map(|(p, q)| p * q).sum::<f32>();
        let scaled = |(q, s): (&[f32], &f32)| dot(q) * s;
        self.q.chunks(self.k).zip(&self.scale).map(scaled).collect()
    }

    fn pairs(&self, lists: &ItemLists) -> (Vec<u32>, Vec<u32>) {
        let of = |user| lists.row(user).iter().map(move |&item| (user as u32, item));
        (0..self.users).flat_map(of).unzip()
    }

    fn test_set(&self) -> TestSet {
        let (users, items) = self.pairs(&self.targets);
        TestSet::from_pairs(&users, &items).unwrap()
    }

    fn train(&self) -> Interactions<'static> {
        let (users, items) = self.pairs(&self.seen);
        let triplets = Triplets::new(&users, &items);
        triplets
            .build(self.users, self.items, Duplicates::Error)
            .unwrap()
    }

    /// Some items of every user, item 0 always.
    fn negatives(&self, seed: u64) -> UserItems {
        let items = self.items as u32;
        let all = (0..self.users as u32).flat_map(|u| (0..items).map(move |i| (u, i)));
        let picked = all.filter(|&(u, i)| i == 0 || chosen(seed + 9, u, i, 3));
        let (users, items): (Vec<u32>, Vec<u32>) = picked.unzip();
        UserItems::from_pairs(&users, &items).unwrap()
    }
}

fn assert_ranking(ranking: &Ranking, order: &[u32], scores: &[f32], top: usize, targets: &[u32]) {
    let with_score = |&item: &u32| (item, scores[item as usize]);
    let expected: Vec<_> = order.iter().take(top).map(with_score).collect();
    let got: Vec<_> = ranking.top.iter().map(|s| (s.item, s.score)).collect();
    assert_eq!(got, expected);
    assert_eq!(ranking.candidates, order.len());
    let place = |target: &u32| order.iter().position(|item| item == target);
    let ranks: Vec<_> = targets
        .iter()
        .map(|t| place(t).map(|at| at as u32 + 1))
        .collect();
    assert_eq!(ranking.ranks, ranks);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn blocked_ranking_equals_a_full_sort(
        users in 1..70_usize, items in 1..600_usize, k in 1..6_usize, top in 0..40_usize,
        seed in 0..1_000_u64, restricted in any::<bool>(),
    ) {
        let problem = Problem::new(users, items, k, seed);
        let all: Vec<u32> = (0..users as u32).rev().collect();
        let targets: ItemLists =
            all.iter().map(|&u| problem.targets.row(u as usize).to_vec()).collect();
        let allow: Vec<u32> = (0..items as u32).filter(|&i| chosen(seed, 0, i, 2)).collect();
        let deny: Vec<u32> = (0..items as u32).filter(|&i| chosen(seed, 1, i, 9)).collect();
        let request = RankRequest {
            users: &all,
            top,
            exclude: Some(&problem.seen),
            allow: restricted.then_some(&allow[..]),
            deny: &deny,
            targets: Some(&targets),
        };
        let rankings = rank(&problem.scorer(), &request).unwrap();
        for (at, &user) in all.iter().enumerate() {
            let scores = problem.scores(user);
            let seen = problem.seen.row(user as usize);
            let allowed = |item: &u32| !restricted || allow.contains(item);
            let open = |i: &u32| allowed(i) && !seen.contains(i) && !deny.contains(i);
            let order = naive_order(&scores, (0..items as u32).filter(open));
            assert_ranking(&rankings[at], &order, &scores, top, targets.row(at));
        }
    }

    #[test]
    fn metrics_equal_brute_force(
        users in 1..40_usize, items in 2..120_usize, seed in 0..1_000_u64,
        exclude_seen in any::<bool>(), sampled in any::<bool>(),
    ) {
        let problem = Problem::new(users, items, 2, seed);
        let (test, train, negatives) = (problem.test_set(), problem.train(), problem.negatives(seed));
        prop_assume!(!test.users().is_empty());
        let options = EvaluateOptions {
            cutoffs: vec![20, 1, 5, 20, 500],
            metrics: Metric::ALL.to_vec(),
            exclude_seen,
            candidates: if sampled { Candidates::Sampled(negatives.clone()) } else { Candidates::All },
        };
        let history = History::of(&train);
        let found = evaluate(&problem.scorer(), &history, &test, &options, &|_, _| {}).unwrap();
        let order = |&user: &u32| {
            let (seen, test) = (problem.seen.row(user as usize), test.get(user).unwrap());
            let listed = |i: &u32| negatives.get(user).unwrap().contains(i) || test.contains(i);
            let unseen = |i: &u32| !exclude_seen || !seen.contains(i);
            let open = |i: &u32| if sampled { listed(i) } else { unseen(i) };
            naive_order(&problem.scores(user), (0..items as u32).filter(open))
        };
        let orders: Vec<Vec<u32>> = test.users().iter().map(order).collect();
        for result in &found.metrics {
            let value = |(user, order): (&u32, &Vec<u32>)| {
                brute_force(result.name.metric, result.name.cutoff, order, test.get(*user).unwrap())
            };
            let values: Vec<f64> = test.users().iter().zip(&orders).map(value).collect();
            let mean = values.iter().sum::<f64>() / values.len() as f64;
            prop_assert!((result.summary.mean - mean).abs() < 1e-12, "{}", result.name);
            for (got, want) in result.per_user.iter().zip(&values) {
                prop_assert!((f64::from(*got) - want).abs() < 1e-7, "{}", result.name);
            }
        }
        prop_assert_eq!(found.metrics.len(), 6 * 4 + 2);
        prop_assert_eq!(found.catalogue.is_empty(), sampled);
        for result in &found.catalogue {
            assert_catalogue(result, &orders, &train.item_counts());
        }
    }
}

/// Each metric straight from its definition on the ordered candidates.
fn brute_force(metric: Metric, cutoff: Option<usize>, order: &[u32], test: &[u32]) -> f64 {
    let k = cutoff.unwrap_or(order.len());
    let relevant: Vec<bool> = order.iter().map(|item| test.contains(item)).collect();
    let head = &relevant[..k.min(relevant.len())];
    let hits = |head: &[bool]| head.iter().filter(|&&hit| hit).count() as f64;
    match metric {
        Metric::HitRate => f64::from(u8::from(hits(head) > 0.0)),
        Metric::Recall => hits(head) / test.len() as f64,
        Metric::Precision => hits(head) / k as f64,
        Metric::Ndcg => {
            let discount = |at: usize| 1.0 / (at as f64 + 2.0).log2();
            let gains = (0..head.len()).filter(|&at| head[at]).map(discount);
            let best = (0..k.min(test.len())).map(discount);
            gains.sum::<f64>() / best.sum::<f64>()
        }
        Metric::Map => {
            let precision = |at: usize| hits(&head[..=at]) / (at + 1) as f64;
            let found = (0..head.len()).filter(|&at| head[at]).map(precision);
            found.sum::<f64>() / k.min(test.len()) as f64
        }
        Metric::Mrr | Metric::MrrAll => head
            .iter()
            .position(|&hit| hit)
            .map_or(0.0, |at| 1.0 / (at + 1) as f64),
        Metric::Auc => brute_force_auc(order, test),
    }
}

/// Pair by pair; a test item that is not ranked loses against every other candidate.
fn brute_force_auc(order: &[u32], test: &[u32]) -> f64 {
    let (mut won, mut pairs) = (0.0, 0.0);
    for positive in test {
        let place = order.iter().position(|item| item == positive);
        for (at, _) in order.iter().enumerate().filter(|(_, i)| !test.contains(i)) {
            pairs += 1.0;
            won += f64::from(u8::from(place.is_some_and(|place| place < at)));
        }
    }
    if pairs == 0.0 { 1.0 } else { won / pairs }
}

fn assert_catalogue(
    result: &absentia::evaluate::CatalogueResult,
    orders: &[Vec<u32>],
    counts: &[u32],
) {
    let mut times = vec![0_u32; counts.len()];
    let mut popularity = Vec::new();
    for order in orders.iter().filter(|order| !order.is_empty()) {
        let list = &order[..order.len().min(result.cutoff)];
        for &item in list {
            times[item as usize] += 1;
        }
        let total: u32 = list.iter().map(|&item| counts[item as usize]).sum();
        popularity.push(f64::from(total) / list.len() as f64);
    }
    let covered = times.iter().filter(|&&n| n > 0).count() as f64 / times.len() as f64;
    assert!((result.coverage - covered).abs() < 1e-12);
    let mean = popularity.iter().sum::<f64>() / popularity.len().max(1) as f64;
    assert!((result.popularity - mean).abs() < 1e-9);
    // Gini as half the relative mean absolute difference.
    let (n, total) = (times.len() as f64, f64::from(times.iter().sum::<u32>()));
    let gap = |a: &u32| times.iter().map(|b| a.abs_diff(*b)).sum::<u32>();
    let gaps: u32 = times.iter().map(gap).sum();
    let gini = f64::from(gaps) / (2.0 * n * total).max(1.0);
    assert!((result.gini - gini).abs() < 1e-12);
}

/// More users than a batch and more items than a block, with real-valued factors.
#[test]
fn one_user_alone_gets_the_bits_of_the_bulk() {
    let (users, items, k) = (4_200, 8_300, 19);
    let wave = |n: usize, pace: f64| -> Vec<f32> {
        (0..n).map(|x| (x as f64 * pace).sin() as f32).collect()
    };
    let (p, q) = (wave(users * k, 0.731), wave(items * k, 0.417));
    let p = FactorRows::new(&p, users, k, k).unwrap();
    let q = FactorRows::new(&q, items, k, k).unwrap();
    let scorer = FactorScorer::new(p, q).unwrap();
    let seen: ItemLists = (0..users as u32).map(|u| vec![u % 7, u % 1_500]).collect();
    let all: Vec<u32> = (0..users as u32).collect();
    let request = |users| RankRequest {
        users,
        top: 25,
        exclude: Some(&seen),
        ..RankRequest::default()
    };
    let bulk = rank(&scorer, &request(&all)).unwrap();
    for user in [0_usize, 1, 31, 32, 33, 2_047, 4_095, 4_096, 4_199] {
        let alone = rank(&scorer, &request(&all[user..=user])).unwrap();
        assert_eq!(alone[0], bulk[user]);
        let bits = |ranking: &Ranking| -> Vec<u32> {
            ranking.top.iter().map(|s| s.score.to_bits()).collect()
        };
        assert_eq!(bits(&alone[0]), bits(&bulk[user]));
    }
}

#[test]
fn popularity_is_evaluated_like_any_model() {
    let train = Triplets::new(&[0, 0, 1, 1, 2], &[0, 1, 0, 2, 0])
        .build(3, 4, Duplicates::Error)
        .unwrap();
    let test = TestSet::from_pairs(&[1, 2], &[1, 3]).unwrap();
    let scorer = PopularityScorer::new(3, &train.item_counts());
    let options = EvaluateOptions {
        cutoffs: vec![1, 2],
        ..EvaluateOptions::default()
    };
    let found = evaluate(&scorer, &History::of(&train), &test, &options, &|_, _| {}).unwrap();
    assert_eq!(found.users, [1, 2]);
    assert_eq!(found.candidates, CandidateKind::AllUnseen);
    // User 1 has seen 0 and 2, so 1 comes first; user 2 has 1 and 2 before 3.
    assert_eq!(found.get("hr@1").unwrap().per_user, [1.0, 0.0]);
    assert_eq!(found.get("recall@2").unwrap().per_user, [1.0, 0.0]);
    assert!(found.get("hr@3").is_none());
}

#[test]
fn folded_in_users_bring_their_own_rows_and_history() {
    // Two users that training never saw, with five training items.
    let scorer = FnScorer::new(2, 5, |user, item| (user * 10 + item) as f32);
    let seen: ItemLists = [vec![4], vec![3, 4]].into_iter().collect();
    let test = TestSet::from_pairs(&[0, 1], &[3, 1]).unwrap();
    let options = EvaluateOptions {
        cutoffs: vec![1],
        ..EvaluateOptions::default()
    };
    let history = History::new(&seen, vec![1; 5]);
    let found = evaluate(&scorer, &history, &test, &options, &|_, _| {}).unwrap();
    assert_eq!(found.get("hr@1").unwrap().per_user, [1.0, 0.0]);
}

#[test]
fn scores_that_are_no_numbers_never_win() {
    let scores = [f32::NAN, 1.0, f32::NEG_INFINITY];
    let scorer = FnScorer::new(1, 3, |_, item| scores[item as usize]);
    let targets: ItemLists = [vec![0, 1, 2]].into_iter().collect();
    let request = RankRequest {
        users: &[0],
        top: 3,
        targets: Some(&targets),
        ..RankRequest::default()
    };
    let ranking = &rank(&scorer, &request).unwrap()[0];
    assert_eq!(ranking.top.len(), 1);
    assert_eq!(ranking.ranks, [None, Some(1), None]);
}

fn attempt(test: &TestSet, options: &EvaluateOptions) -> Result<(), EvaluateError> {
    let scorer = FnScorer::new(2, 3, |_, item| item as f32);
    let seen = ItemLists::new();
    let history = History::new(&seen, vec![0; 3]);
    evaluate(&scorer, &history, test, options, &|_, _| {}).map(|_| ())
}

#[test]
fn options_that_ask_for_nothing_are_refused() {
    let test = TestSet::from_pairs(&[1], &[2]).unwrap();
    let with = |cutoffs: &[usize], metrics: &[Metric]| EvaluateOptions {
        cutoffs: cutoffs.to_vec(),
        metrics: metrics.to_vec(),
        ..EvaluateOptions::default()
    };
    let attempt = |cutoffs: &[usize], metrics: &[Metric]| attempt(&test, &with(cutoffs, metrics));
    assert_eq!(
        attempt(&[5, 0], &[Metric::Ndcg]),
        Err(EvaluateError::ZeroCutoff)
    );
    assert_eq!(
        attempt(&[], &[Metric::Ndcg]),
        Err(EvaluateError::NoCutoffs { metric: "ndcg" })
    );
    assert_eq!(attempt(&[5], &[]), Err(EvaluateError::NoMetrics));
    assert_eq!(attempt(&[], &[Metric::Auc]), Ok(()));
}

#[test]
fn test_sets_that_do_not_fit_the_scorer_are_refused() {
    let default = EvaluateOptions::default();
    let none = TestSet::default();
    assert_eq!(attempt(&none, &default), Err(EvaluateError::NoTestUsers));
    for (user, item) in [(1, 3), (2, 0)] {
        let outside = TestSet::from_pairs(&[user], &[item]).unwrap();
        let refused = attempt(&outside, &default);
        assert!(matches!(
            refused,
            Err(EvaluateError::Ranking(RankError::OutOfRange { .. }))
        ));
    }
    let sampled = EvaluateOptions {
        candidates: Candidates::Sampled(UserItems::from_pairs(&[0], &[1]).unwrap()),
        ..default
    };
    let test = TestSet::from_pairs(&[1], &[2]).unwrap();
    assert_eq!(
        attempt(&test, &sampled),
        Err(EvaluateError::NoNegatives { user: 1 })
    );
}
