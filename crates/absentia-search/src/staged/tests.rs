use super::*;
use crate::{Origin, testing};

fn staged(budget: usize, max_factors: usize) -> StagedSearch<'static> {
    search_on(&[3], 1, budget, max_factors)
}

/// A search by rows that are held out in several ways.
fn search_on(
    ways: &[usize],
    threads: usize,
    budget: usize,
    max_factors: usize,
) -> StagedSearch<'static> {
    let options = SearchOptions {
        metric: "ndcg@5".parse().unwrap(),
        budget: Budget::Trials(budget),
        max_factors,
        threads: Some(threads),
        ..SearchOptions::default()
    };
    let fold = |&first: &usize| {
        let (train, held_out) = testing::fold_from(first);
        Fold { train, held_out }
    };
    StagedSearch::new(ways.iter().map(fold).collect(), options).unwrap()
}

fn search(staged: &StagedSearch<'_>, logged: Vec<Trial>) -> SearchResult {
    staged
        .search(logged, &Cancel::new(), &mut |_| true)
        .unwrap()
}

/// Everything but the time it took.
fn timeless(trials: &[Trial]) -> Vec<Trial> {
    let timeless = |trial: &Trial| Trial {
        seconds: 0.0,
        training_seconds: 0.0,
        ..trial.clone()
    };
    trials.iter().map(timeless).collect()
}

#[test]
fn a_search_repeats_with_its_seed_and_takes_its_budget() {
    let staged = staged(24, 32);
    let (first, second) = (search(&staged, Vec::new()), search(&staged, Vec::new()));
    assert_eq!(timeless(&first.trials), timeless(&second.trials));
    assert_eq!(first.trials.len(), 24);
    assert!(!first.interrupted);
    let top = first.not_kept().unwrap_or(first.best());
    assert_eq!(top.rung, staged.schedule(&first.trials).last());
    let recipes = first
        .trials
        .iter()
        .filter(|trial| trial.origin == Origin::Recipe);
    let recipe = recipes.filter_map(|trial| trial.score).fold(0.0, f64::max);
    assert!(
        top.score.unwrap() >= 0.99 * recipe,
        "{} {recipe}",
        top.score.unwrap()
    );
}

#[test]
fn the_smallest_budgets_end_and_leave_no_rung_out() {
    for (max_factors, rungs) in [(8, 1), (32, 2), (128, 3)] {
        for budget in 1..=10 {
            let mut staged = staged(budget, max_factors);
            staged.options.max_factors = max_factors;
            assert_eq!(staged.schedule(&[]).rungs.len(), rungs);
            let found = search(&staged, Vec::new());
            assert_eq!(found.trials.len(), budget, "{rungs} rungs");
            for rung in 0..rungs.min(budget) {
                let is_here = |trial: &Trial| trial.rung == rung;
                assert!(
                    found.trials.iter().any(is_here),
                    "{budget} of {rungs}: {rung}"
                );
            }
        }
    }
}

#[test]
fn folds_side_by_side_give_the_trials_of_folds_one_by_one() {
    let ways = [0, 2, 5];
    let trials = |threads| {
        let staged = search_on(&ways, threads, 20, 32);
        timeless(&search(&staged, Vec::new()).trials)
    };
    let alone = trials(1);
    assert_eq!(trials(2), alone);
    assert_eq!(trials(7), alone);
    let one_way = search(&search_on(&ways[..1], 1, 20, 32), Vec::new());
    assert_ne!(timeless(&one_way.trials), alone);
}

#[test]
fn the_first_rung_with_all_factors_searches_the_best_penalty_before_anything_else() {
    let mut staged = staged(40, 32);
    staged.options.max_factors = 128;
    let found = search(&staged, Vec::new());
    let full = staged.schedule(&found.trials).first_full();
    let here: Vec<&Trial> = found.trials.iter().filter(|t| t.rung == full).collect();
    let is_neighbour = |trial: &&&Trial| trial.origin == Origin::Neighbour;
    let tried = 1 + here[1..].iter().take_while(is_neighbour).count();
    assert!(tried > 2 && here[tried..].iter().all(|t| t.origin != Origin::Neighbour));
    let tried = &here[..tried];
    let of = |trial: &&&Trial| trial.score.unwrap_or(f64::MIN);
    let best = tried.iter().max_by(|a, b| of(a).total_cmp(&of(b))).unwrap();
    let was_tried = |times: f64| {
        let Some(point) = staged.space().penalised(&best.point, times) else {
            return true;
        };
        let near = |trial: &&Trial| {
            let apart = trial.point.iter().zip(&point).map(|(x, y)| (x - y).abs());
            apart.fold(0.0, f64::max) < 0.01
        };
        tried.iter().any(near)
    };
    assert!(was_tried(3.0) && was_tried(1.0 / 3.0));
}

#[test]
fn a_search_that_was_cut_short_goes_on_as_if_it_had_not_been() {
    // Three rungs, so that factors of dropped trials must be trained again.
    let mut staged = staged(30, 32);
    staged.options.max_factors = 128;
    assert_eq!(staged.schedule(&[]).rungs.len(), 3);
    let whole = search(&staged, Vec::new());
    for kept in [1, 10, 20, 24, 29] {
        let resumed = search(&staged, whole.trials[..kept].to_vec());
        assert_eq!(timeless(&whole.trials), timeless(&resumed.trials), "{kept}");
    }
}

#[test]
fn middle_rungs_start_from_the_rung_below() {
    let search = staged(1, 8);
    let (pool, cancel) = (thread_pool(Some(1)).unwrap(), Cancel::new());
    let runner = search.runner(&pool, &cancel).unwrap();
    let planned = |factors, rung| PlannedTrial {
        rung,
        scope: Scope::All,
        origin: Origin::Random,
        point: search.space().recipes()[0].clone(),
        parent: None,
        factors,
        post_scale: 0.0,
    };
    let run = |factors, rung, start| {
        let rung_of = Rung {
            factors,
            sample: 0,
            is_last: false,
        };
        let made = search.run(&runner, &planned(factors, rung), &rung_of, start);
        let (trial, trained, _) = made.unwrap().unwrap();
        (trial, trained)
    };
    let (_, small) = run(4, 0, None);
    let (warm, grown) = run(8, 1, Some(&small));
    let (cold, _) = run(8, 1, None);
    assert_eq!((small[0].0.cols(), grown[0].0.cols()), (4, 8));
    assert!(warm.params.iterations < cold.params.iterations);
    assert!(warm.score.is_some() && cold.score.is_some());
}

#[test]
fn a_log_of_another_search_is_refused() {
    let mut other = staged(8, 8);
    let mut trials = search(&other, Vec::new()).trials;
    other.options.seed = 1;
    let refused = other.search(trials.clone(), &Cancel::new(), &mut |_| true);
    assert!(
        matches!(refused, Err(SearchError::Log { .. })),
        "{refused:?}"
    );
    trials[3].point.pop();
    let refused = staged(8, 8).search(trials, &Cancel::new(), &mut |_| true);
    assert!(
        matches!(refused, Err(SearchError::Log { number: 3, .. })),
        "{refused:?}"
    );
}

#[test]
fn nothing_held_out_and_folds_of_other_shapes_are_refused() {
    let (train, held_out) = testing::fold();
    let none = StagedSearch::new(Vec::new(), SearchOptions::default());
    assert!(matches!(none.err(), Some(SearchError::NothingHeldOut)));
    let empty = Fold {
        train: train.clone(),
        held_out: absentia::evaluate::TestSet::default(),
    };
    let staged = StagedSearch::new(vec![empty], SearchOptions::default()).unwrap();
    let found = staged.search(Vec::new(), &Cancel::new(), &mut |_| true);
    assert!(matches!(found.err(), Some(SearchError::NothingHeldOut)));
    let transposed = Fold {
        train: train.transposed(),
        held_out: held_out.clone(),
    };
    let folds = vec![Fold { train, held_out }, transposed];
    let mixed = StagedSearch::new(folds, SearchOptions::default());
    assert!(matches!(
        mixed.err(),
        Some(SearchError::Folds { fold: 1, .. })
    ));
}

#[test]
fn the_observer_and_a_cancelled_flag_end_the_search() {
    let staged = staged(20, 16);
    let stopped = staged
        .search(Vec::new(), &Cancel::new(), &mut |trials| trials.len() < 3)
        .unwrap();
    assert_eq!((stopped.trials.len(), stopped.interrupted), (3, true));
    let cancel = Cancel::new();
    cancel.cancel();
    let none = staged.search(Vec::new(), &cancel, &mut |_| true);
    assert!(matches!(none.err(), Some(SearchError::Cancelled)));
    let kept = staged
        .search(stopped.trials, &cancel, &mut |_| true)
        .unwrap();
    assert_eq!((kept.trials.len(), kept.interrupted), (3, true));
}

#[test]
fn a_setting_that_cannot_be_trained_is_a_trial_without_a_score() {
    let (train, held_out) = testing::fold();
    let options = SearchOptions {
        budget: Budget::Trials(3),
        max_factors: 4,
        memory_limit: Some(1),
        ..SearchOptions::default()
    };
    let staged = StagedSearch::new(vec![Fold { train, held_out }], options).unwrap();
    let mut seen = Vec::new();
    let failed = staged.search(Vec::new(), &Cancel::new(), &mut |trials| {
        seen = trials.to_vec();
        true
    });
    assert!(matches!(
        failed.err(),
        Some(SearchError::AllFailed { trials: 3, .. })
    ));
    assert!(
        seen.iter()
            .all(|trial| trial.score.is_none() && trial.failure.is_some())
    );
}

/// Settings that nothing speaks for must not be handed on as the best.
#[test]
fn a_search_without_a_score_above_zero_fails() {
    let staged = staged(2, 8);
    let mut trials = search(&staged, Vec::new()).trials;
    for trial in &mut trials {
        trial.score = Some(0.0);
    }
    let error = staged.result(trials, false).unwrap_err();
    assert!(matches!(
        error,
        SearchError::NothingScored { trials: 2, .. }
    ));
    assert!(error.to_string().starts_with("ndcg@5 is 0 in all of 2"));
}

/// A search of three trials: of uniform weights, without times, and with weights by age.
#[test]
fn the_richest_settings_are_kept_only_if_they_beat_the_simpler_by_more_than_noise() {
    let (train, held_out) = testing::timed_fold();
    let options = SearchOptions {
        metric: "ndcg@5".parse().unwrap(),
        budget: Budget::Trials(3),
        max_factors: 4,
        threads: Some(1),
        ..SearchOptions::default()
    };
    let staged = StagedSearch::new(vec![Fold { train, held_out }], options).unwrap();
    let (pool, cancel) = (thread_pool(Some(1)).unwrap(), Cancel::new());
    let runner = staged.runner(&pool, &cancel).unwrap();
    let rich = vec![0.95; staged.space().dimensions().len()];
    let points = [
        staged.space().within(Family::Uniform, &rich),
        staged.space().within(Family::Timeless, &rich),
        rich,
    ];
    // Noise that differs between trials and has a mean of 0.
    let noise = |at: u8| f32::from(at % 7) / 50.0 - 0.06;
    let scores = |gain: f32, number: usize| -> Vec<f32> {
        let shift = 2 * number as u8;
        (0..63).map(|at| 0.2 + gain + noise(at + shift)).collect()
    };
    let kept = |gains: [f32; 3]| {
        let trial = |(number, point): (usize, &Vec<f64>)| {
            let mut trial = testing::trial(number, point.clone(), 0.2 + f64::from(gains[number]));
            trial.params.factors = 4;
            trial
        };
        let trials: Vec<Trial> = points.iter().enumerate().map(trial).collect();
        let users = gains
            .iter()
            .enumerate()
            .map(|(number, &gain)| (number, UserScores::made_up(&scores(gain, number))));
        let mut kept = Kept {
            users: users.collect(),
            ..Kept::default()
        };
        let mut result = staged.result(trials, false).unwrap();
        staged
            .keep_simpler(&runner, &mut result, &mut kept)
            .unwrap();
        (
            result.best().number,
            result.not_kept().map(|trial| trial.number),
        )
    };
    assert_eq!(kept([0.0, 0.3, 0.6]), (2, None));
    assert_eq!(kept([0.0, 0.3, 0.301]), (1, Some(2)), "times gain nothing");
    assert_eq!(kept([0.0, 0.001, 0.002]), (0, Some(2)), "nothing gains");
    assert_eq!(kept([0.3, 0.0, 0.1]), (0, None), "uniform weights are best");
}

#[test]
fn a_finished_search_keeps_the_same_settings_when_it_is_resumed() {
    let staged = staged(24, 32);
    let whole = search(&staged, Vec::new());
    let resumed = search(&staged, whole.trials.clone());
    assert_eq!(whole.best().number, resumed.best().number);
    assert_eq!(
        whole.not_kept().map(|trial| trial.number),
        resumed.not_kept().map(|trial| trial.number)
    );
    assert_eq!(whole.baselines, resumed.baselines);
    assert_eq!(whole.baselines.len(), 1, "there are no times");
    assert!(whole.baselines[0].score > 0.0);
}

/// Parents that are trained again must not add up over a long search.
#[test]
fn factors_of_the_best_trials_alone_are_kept() {
    let staged = staged(40, 8);
    let point = vec![0.5; staged.space.dimensions().len()];
    let trial = |number: usize| {
        let settings = staged.space.settings(&point);
        let mut trial = Trial::unmeasured(Some(settings.weights), settings.params);
        (trial.number, trial.score) = (number, Some(number as f64));
        trial
    };
    let trials: Vec<Trial> = (0..9).map(trial).collect();
    let mut kept = Kept::default();
    for number in 0..9 {
        kept.factors.insert(number, TrainedFactors::new());
    }
    kept.keep_best(&trials);
    let left: Vec<usize> = kept.factors.into_keys().collect();
    assert_eq!(left, [5, 6, 7, 8]);
}

/// Folds that wait for a thread have their models in memory while others are trained.
#[test]
fn every_fold_counts_in_the_estimate_on_any_number_of_threads() {
    let mut one = staged(40, 8);
    let fold = one.folds[0].clone();
    one.options.threads = Some(1);
    let of_one = one.stage().total();
    one.folds = vec![fold; 3];
    let rows = (one.folds[0].train.n_users() + one.folds[0].train.n_items()) as u64;
    assert!(one.stage().total() >= of_one + 2 * 4 * 16 * rows);
}

/// Scores of users must not add up over a long search either.
#[test]
fn scores_of_users_are_kept_of_the_trials_that_are_compared() {
    // A search of two phases.
    let staged = staged(80, 8);
    let last = staged.schedule(&[]).last();
    let (pool, cancel) = (thread_pool(Some(1)).unwrap(), Cancel::new());
    let runner = staged.runner(&pool, &cancel).unwrap();
    let (mut kept, mut trials) = (Kept::default(), Vec::new());
    while let Some(planned) = staged.next(&trials) {
        let trial = staged.make(&runner, &planned, &trials, &mut kept).unwrap();
        trials.push(trial.unwrap());
        let best = staged
            .best(&trials)
            .filter(|best| staged.is_final(best, &trials));
        assert!(best.is_none_or(|best| kept.users.contains_key(&best.number)));
    }
    let of_first = kept.users.keys().filter(|number| **number < 20);
    assert_eq!(of_first.count(), 1, "the best of the first phase");
    let made = ranked(&trials, last).len();
    assert!(
        made >= 10 && kept.users.len() <= made / 2,
        "{} of {made}",
        kept.users.len()
    );
}

#[test]
fn the_memory_of_a_trial_with_more_factors_is_known_before_it() {
    let mut staged = staged(8, 64);
    staged.options.max_factors = 1792;
    let dimensions = staged.space.dimensions().len();
    let of = |number: usize| {
        let rung = number.min(2);
        let mut trial = testing::trial(number, vec![0.3; dimensions], 0.1 + number as f64 / 100.0);
        (trial.rung, trial.params.factors) = (rung, staged.schedule(&[]).rungs[rung].factors);
        trial
    };
    let trials: Vec<Trial> = (0..7).map(of).collect();
    assert_eq!(staged.larger_stage(&trials[..6]), None);
    let larger = staged
        .larger_stage(&trials)
        .expect("the last trial has more factors");
    assert!(larger.total() > staged.stage().total());
}

#[test]
fn folds_that_wait_for_a_thread_take_no_memory() {
    let bytes = |ways: &[usize]| search_on(ways, 2, 8, 16).stage().total();
    let (two, three, four) = (bytes(&[0, 1]), bytes(&[0, 1, 2]), bytes(&[0, 1, 2, 3]));
    // The third is trained alone, beside the models of the first two.
    assert!(two <= three && three < four, "{two} {three} {four}");
    assert!(three - two < four - three, "{two} {three} {four}");
}
