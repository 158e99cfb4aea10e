use absentia::fit::{Cancel, ProblemSize};

use super::*;
use crate::error::SearchError;
use crate::fold::Fold;
use crate::sensitivity::sensitivity;
use crate::staged::SearchResult;
use crate::testing;
use crate::trial::Origin;

fn staged(scope: Scope, budget: Budget) -> StagedSearch<'static> {
    let (train, held_out) = testing::fold();
    let options = SearchOptions {
        metric: "ndcg@5".parse().unwrap(),
        scope,
        budget,
        max_factors: 32,
        threads: Some(1),
        ..SearchOptions::default()
    };
    StagedSearch::new(vec![Fold { train, held_out }], options).unwrap()
}

fn search(staged: &StagedSearch<'_>, logged: &[Trial]) -> SearchResult {
    let found = staged.search(logged.to_vec(), &Cancel::new(), &mut |_| true);
    let mut found = found.unwrap();
    for trial in &mut found.trials {
        (trial.seconds, trial.training_seconds) = (0.0, 0.0);
    }
    found
}

/// A search whose trials are planned but not made, for as many seconds, with up to 1024 factors.
fn planned_only(seconds: u64) -> StagedSearch<'static> {
    let mut staged = staged(Scope::All, time(seconds));
    staged.options.max_factors = 1024;
    staged
}

fn time(seconds: u64) -> Budget {
    Budget::Time(Duration::from_secs(seconds))
}

/// The trial that a plan would give with this score and time.
fn made(staged: &StagedSearch<'_>, plan: PlannedTrial, number: usize, seconds: f64) -> Trial {
    let settings = staged.space_of(plan.scope).settings(&plan.point);
    let mut trial = testing::trial(number, plan.point, 0.1 + number as f64 / 1e4);
    (trial.rung, trial.scope, trial.origin) = (plan.rung, plan.scope, plan.origin);
    (trial.params.factors, trial.parent) = (plan.factors, plan.parent);
    (trial.weights, trial.seconds) = (Some(settings.weights), seconds);
    trial
}

/// Trials that are planned after some until the search ends, with scores that rise; those with more factors take longer.
fn simulated(staged: &StagedSearch<'_>, mut trials: Vec<Trial>, per_factor: f64) -> Vec<Trial> {
    while let Some(plan) = staged.next(&trials) {
        let seconds = per_factor * plan.factors as f64;
        trials.push(made(staged, plan, trials.len(), seconds));
    }
    trials
}

/// A trial whose score depends on its point alone, so that rungs end by themselves.
fn with_score_of_point(trial: Trial) -> Trial {
    Trial {
        score: Some(0.2 + trial.point[0] / 100.0),
        ..trial
    }
}

/// Trials with such scores, until the search ends.
fn simulated_to_the_end(staged: &StagedSearch<'_>, per_factor: f64) -> Vec<Trial> {
    let mut trials = Vec::new();
    while let Some(plan) = staged.next(&trials) {
        let seconds = per_factor * plan.factors as f64;
        let trial = made(staged, plan, trials.len(), seconds);
        trials.push(with_score_of_point(trial));
    }
    trials
}

fn of_first(trials: &[Trial]) -> usize {
    let is_first = |trial: &&Trial| trial.scope == Scope::Uniform;
    trials.iter().take_while(is_first).count()
}

/// Whether a trial is the best of the first phase, with any penalty.
fn is_repeated(staged: &StagedSearch<'_>, trials: &[Trial], trial: &Trial) -> bool {
    let first = staged.phases(trials).first.unwrap().best().unwrap();
    let point = staged.in_space(&staged.space, first).point;
    let penalties = staged.space.penalty_over(&trial.point, &point);
    trial.scope == Scope::All && penalties.is_some()
}

#[test]
fn the_first_phase_is_the_search_over_uniform_weights() {
    let uniform = search(&staged(Scope::Uniform, Budget::Trials(20)), &[]);
    for scope in [Scope::All, Scope::Popularity] {
        let whole = search(&staged(scope, Budget::Trials(80)), &[]);
        assert_eq!(whole.trials.len(), 80);
        assert_eq!(whole.trials[..20], uniform.trials);
        assert!(whole.trials[20..].iter().all(|trial| trial.scope == scope));
    }
    let short = simulated(&staged(Scope::All, Budget::Trials(79)), Vec::new(), 1.0);
    assert_eq!((short.len(), of_first(&short)), (79, 0));
}

#[test]
fn the_shortest_first_phase_has_random_trials_and_two_on_its_last_rung() {
    let data = ProblemSize {
        users: 2e4,
        items: 1e3,
        entries: 1e5,
        rank: 1.0,
    };
    let space = Space::of(&testing::blocks(), Scope::Uniform);
    let options = SearchOptions {
        budget: Budget::Trials(FEWEST),
        max_factors: 1024,
        ..SearchOptions::default()
    };
    let planner = Planner::new(&space, options, data);
    let staged = planned_only(1);
    let mut trials = Vec::new();
    while let Some(plan) = planner.next(&trials) {
        trials.push(made(&staged, plan, trials.len(), 1.0));
    }
    let on = |rung| {
        trials
            .iter()
            .filter(move |trial: &&Trial| trial.rung == rung)
    };
    let random = on(0).filter(|trial| trial.origin == Origin::Random);
    assert_eq!((random.count(), on(3).count()), (6, 2));
}

#[test]
fn a_search_that_was_cut_short_in_either_phase_goes_on_as_if_it_had_not_been() {
    let staged = staged(Scope::All, Budget::Trials(80));
    let whole = search(&staged, &[]);
    for made in [4, 19, 20, 21, 70] {
        let resumed = search(&staged, &whole.trials[..made]);
        assert_eq!(resumed.trials, whole.trials, "after {made}");
        assert_eq!(resumed.best().number, whole.best().number, "after {made}");
    }
}

/// Nothing of the whole space is better than what the first phase found: that is kept.
#[test]
fn the_best_of_uniform_weights_is_kept_if_nothing_beats_it() {
    let staged = staged(Scope::All, Budget::Trials(80));
    let mut trials = simulated(&staged, Vec::new(), 1.0);
    let uniform = staged.phases(&trials).first.unwrap().final_best().unwrap();
    let uniform = uniform.number;
    for trial in trials.iter_mut().filter(|trial| trial.scope == Scope::All) {
        trial.score = trial.score.map(|score| score / 10.0);
    }
    let found = staged.result(trials, false).unwrap();
    assert_eq!(found.best().number, uniform);
    assert!(found.measured_alike().any(|trial| trial.number == uniform));
    let lifted = staged.in_space(staged.space(), found.best());
    assert_eq!(lifted.point.len(), staged.space().dimensions().len());
    let settings = staged.space().settings(&lifted.point);
    assert_eq!(Some(settings.weights), found.best().weights);
}

#[test]
fn a_log_of_another_order_or_number_is_refused() {
    let whole = staged(Scope::All, Budget::Trials(80));
    let trials = simulated(&whole, Vec::new(), 1.0);
    let refused = |budget, trials: &[Trial]| {
        let staged = staged(Scope::All, budget);
        match staged.search(trials.to_vec(), &Cancel::new(), &mut |_| false) {
            Err(SearchError::Log { number, what }) => (number, what),
            other => panic!("{other:?}"),
        }
    };
    let mut swapped = trials.clone();
    swapped.swap(19, 20);
    (swapped[19].number, swapped[20].number) = (19, 20);
    let order = "the order of the trials";
    assert_eq!(refused(Budget::Trials(80), &swapped), (20, order));
    let number = "the number of trials";
    let mut high = trials.clone();
    high[79].rung = 9;
    assert_eq!(refused(Budget::Trials(80), &high), (79, number));
    // The first phase of 400 trials has 100, that of 79 has none.
    assert_eq!(refused(Budget::Trials(400), &trials[..40]), (20, number));
    assert_eq!(refused(Budget::Trials(79), &trials[..40]), (0, number));
    let one_phase = simulated(&staged(Scope::All, Budget::Trials(20)), Vec::new(), 1.0);
    assert_eq!(refused(Budget::Trials(80), &one_phase[..8]), (0, number));
}

#[test]
fn a_log_with_more_trials_than_are_wanted_gives_its_result() {
    let trials = simulated(&staged(Scope::All, Budget::Trials(100)), Vec::new(), 1.0);
    for fewer in [80, 20] {
        let staged = staged(Scope::All, Budget::Trials(fewer));
        assert_eq!(staged.difference(&trials), None);
        assert_eq!(staged.next(&trials), None);
    }
}

/// What was begun in one phase must not lose uniform weights.
#[test]
fn a_log_of_one_phase_is_continued_in_one_phase_with_all_families() {
    let one_phase = simulated(&staged(Scope::All, Budget::Trials(20)), Vec::new(), 1.0);
    let staged = staged(Scope::All, time(600));
    let logged = &one_phase[..8];
    assert_eq!(staged.difference(logged), None);
    let phases = staged.phases(logged);
    assert!(phases.first.is_none());
    assert_eq!(phases.whole.planner.families, staged.space.families());
    assert_eq!(phases.whole.planner.options.budget, time(600));
}

/// The first phase of a short search ends on what is no last rung of a longer one.
#[test]
fn a_first_phase_that_a_longer_budget_would_have_continued_keeps_uniform_weights_in_the_search() {
    let per_factor = 0.01;
    let mut short = simulated(&planned_only(120), Vec::new(), per_factor);
    short.truncate(of_first(&short) + 5);
    let long = planned_only(6000);
    assert_eq!(long.difference(&short), None);
    let phases = long.phases(&short);
    assert_eq!(phases.first.unwrap().final_best(), None);
    assert_eq!(phases.whole.planner.families, long.space.families());
    let trials = simulated(&long, short.clone(), per_factor);
    let full = long.schedule(&trials).first_full();
    let is_repeated = |trial: &&Trial| is_repeated(&long, &trials, trial);
    let repeated: Vec<usize> = trials.iter().filter(is_repeated).map(|t| t.rung).collect();
    assert!(repeated.contains(&full), "{repeated:?}");
}

/// It can be compared as it is.
#[test]
fn the_winner_of_a_first_phase_that_reached_its_last_rung_is_not_repeated() {
    let mut staged = staged(Scope::All, Budget::Trials(120));
    staged.options.max_factors = 1024;
    let trials = simulated(&staged, Vec::new(), 1.0);
    assert!(
        !trials
            .iter()
            .any(|trial| is_repeated(&staged, &trials, trial))
    );
}

#[test]
fn before_the_last_rungs_the_best_has_the_most_factors_and_then_the_highest_score() {
    let staged = planned_only(6000);
    let of = |number: usize, scope, rung, score| {
        let dimensions = staged.space_of(scope).dimensions().len();
        let trial = testing::trial(number, vec![0.3; dimensions], score);
        Trial {
            rung,
            scope,
            ..trial
        }
    };
    let best = |trials: &[Trial]| staged.best(trials).map(|best| best.number);
    let uniform = of(0, Scope::Uniform, 0, 0.2);
    let small = of(2, Scope::All, 0, 0.3);
    let large = of(1, Scope::Uniform, 1, 0.1);
    assert_eq!(best(&[uniform.clone(), large, small]), Some(1));
    let worse = of(1, Scope::All, 0, 0.1);
    // Both phases have the same first rung.
    assert_eq!(best(&[uniform, worse]), Some(0));
}

#[test]
fn a_time_that_is_too_short_for_a_trial_on_every_rung_has_no_first_phase() {
    let first = |seconds: f64, may_shrink| {
        let mut staged = planned_only(1);
        staged.options.budget = Budget::Time(Duration::from_secs_f64(seconds));
        staged.options.may_shrink = may_shrink;
        staged.plans_first_phase()
    };
    assert!(first(10.0, false) && !first(1e-3, false));
    assert!(first(1e-2, true), "it may have fewer factors");
}

/// The search over uniform weights with the same time.
fn uniform_only(seconds: u64) -> StagedSearch<'static> {
    let mut staged = staged(Scope::Uniform, time(seconds));
    staged.options.max_factors = 1024;
    staged
}

#[test]
fn a_first_phase_that_ends_by_itself_has_the_trials_of_the_search_over_uniform_weights() {
    let per_factor = 0.001;
    let uniform = simulated_to_the_end(&uniform_only(600), per_factor);
    let spent = seconds(&uniform);
    assert!((20.0..60.0).contains(&spent), "{spent}");
    for whole in [600, 4 * spent.ceil() as u64] {
        let uniform = simulated_to_the_end(&uniform_only(whole), per_factor);
        let staged = planned_only(whole);
        let trials = simulated_to_the_end(&staged, per_factor);
        assert_eq!(trials[..of_first(&trials)], uniform);
        let winner = uniform_only(whole).best(&uniform).unwrap().number;
        assert_eq!(staged.simplest_first(&trials)[0], winner);
    }
}

/// Whatever other uniform weights score on the last rung of the second phase, they come after those of the first.
#[test]
fn the_winner_of_uniform_weights_is_kept_unless_something_beats_it() {
    let (uniform, whole) = (
        search(&staged(Scope::Uniform, time(600)), &[]),
        search(&staged(Scope::All, time(600)), &[]),
    );
    let made = of_first(&whole.trials);
    assert_eq!(whole.trials[..made], uniform.trials);
    let winner = uniform.best().number;
    assert_eq!(whole.trials[winner], *uniform.best());
    let staged = staged(Scope::All, time(600));
    let mut trials = whole.trials;
    for trial in &mut trials[made..] {
        // By as little as noise: the users' scores are the same.
        trial.point = staged.in_space(staged.space(), uniform.best()).point;
        (trial.weights, trial.params) = (
            uniform.best().weights.clone(),
            uniform.best().params.clone(),
        );
        trial.score = uniform.best().score.map(|score| score * 1.001);
    }
    let found = search(&staged, &trials);
    assert_eq!(found.trials.len(), trials.len(), "nothing is left to try");
    assert_eq!(found.best().number, winner);
    assert!(found.not_kept().is_some_and(|trial| trial.number >= made));
}

#[test]
fn a_first_phase_has_half_of_the_time_on_its_last_rung() {
    let staged = planned_only(400);
    let mut trials: Vec<Trial> = Vec::new();
    loop {
        let plan = staged.next(&trials).unwrap();
        if plan.scope == Scope::All {
            break;
        }
        let seconds = plan.factors as f64 / 1000.0;
        let trial = made(&staged, plan, trials.len(), seconds);
        // Only the last rung goes on rising.
        trials.push(if staged.is_final(&trial, &trials) {
            trial
        } else {
            with_score_of_point(trial)
        });
    }
    let (last, before) = trials.split_last().unwrap();
    assert!(staged.is_final(last, &trials));
    let spent = seconds(before);
    assert!(spent < 200.0 && spent + last.seconds >= 200.0, "{spent}");
}

#[test]
fn a_first_phase_ends_when_its_time_is_over_on_a_slow_machine() {
    let mut staged = planned_only(100);
    staged.options.may_shrink = false;
    let mut trials = Vec::new();
    for _ in 0..3 {
        let plan = staged.next(&trials).unwrap();
        trials.push(made(&staged, plan, trials.len(), 30.0));
    }
    assert_eq!(of_first(&trials), 1);
}

#[test]
fn the_whole_space_has_the_rest_of_the_time_and_half_of_it_at_least() {
    let staged = staged(Scope::All, time(60));
    let after = |seconds: f64| {
        let mut trial = testing::trial(0, Vec::new(), 0.1);
        trial.seconds = seconds;
        staged.rest_of_budget(&[trial])
    };
    let half = Budget::Time(Duration::from_secs_f64(52.5));
    assert_eq!(after(7.5), half);
    assert_eq!(after(45.0), time(30));
    assert_eq!(after(100.0), time(30));
}

/// A smaller budget has fewer rungs: trials of those above still count.
#[test]
fn a_log_with_more_rungs_than_a_smaller_time_has_gives_its_result() {
    let trials = simulated(&planned_only(4000), Vec::new(), 0.05);
    let short = planned_only(20);
    let highest = trials.iter().map(|trial| trial.rung).max().unwrap();
    assert!(short.schedule(&trials).last() < highest);
    assert_eq!(short.difference(&trials), None);
    assert_eq!(short.next(&trials), None);
    let best = short.best(&trials).unwrap();
    assert_eq!(best.rung, highest);
    assert!(short.is_final(best, &trials));
}

/// Trials of a study are not trained to the end, and nothing is compared.
#[test]
fn trials_of_a_first_rung_alone_are_not_final() {
    let mut staged = staged(Scope::All, Budget::Trials(100));
    staged.options.first_rung_only = true;
    let trials = simulated(&staged, Vec::new(), 1.0);
    assert_eq!((trials.len(), of_first(&trials)), (100, 0));
    assert!(!staged.is_final(staged.best(&trials).unwrap(), &trials));
}

#[test]
fn the_best_of_the_phase_in_progress_is_known() {
    let staged = staged(Scope::All, Budget::Trials(80));
    let trials = simulated(&staged, Vec::new(), 1.0);
    let (first, later) = (&trials[..20], &trials[..25]);
    let best = staged.best(first).map(|best| best.number);
    assert_eq!(staged.best_of_phase(first).map(|best| best.number), best);
    assert_eq!(staged.best(later).map(|best| best.number), best);
    assert_eq!(
        staged.best_of_phase(later).map(|best| best.number),
        Some(24)
    );
}

#[test]
fn a_search_that_ended_in_its_first_phase_shows_what_matters_there() {
    let staged = staged(Scope::All, Budget::Trials(400));
    let trials = simulated(&staged, Vec::new(), 1.0);
    let scope = |trials: &[Trial]| {
        let space = staged.most_tried(trials);
        assert!(!sensitivity(space, trials).is_empty());
        space.scope()
    };
    assert_eq!(scope(&trials[..30]), Scope::Uniform);
    assert_eq!(scope(&trials[..102]), Scope::Uniform);
    assert_eq!(scope(&trials), Scope::All);
}

#[test]
fn the_phases_draw_different_random_points() {
    let staged = staged(Scope::All, Budget::Trials(200));
    let trials = simulated(&staged, Vec::new(), 1.0);
    let (first, whole) = trials.split_at(50);
    let random = |trials: &[Trial]| -> Vec<f64> {
        let random = trials.iter().filter(|trial| trial.origin == Origin::Random);
        random.map(|trial| trial.point[0]).collect()
    };
    let (first, whole) = (random(first), random(whole));
    assert!(first.len() > 8 && whole.len() > 8);
    assert!(
        whole
            .iter()
            .all(|x| !first.iter().any(|y| (x - y).abs() < 1e-12))
    );
}
