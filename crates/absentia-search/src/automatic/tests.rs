use super::*;
use absentia::data::{Duplicates, Triplets, mix};
use absentia::weights::Strength;

const WEIGHTS: Scheme = Scheme::popularity(Strength::Mean(0.02), 0.25);
const BOTH: Automatic = Automatic {
    regularization: true,
    post_scale: true,
    recipe: false,
    by_time: false,
};

/// Users of forty tastes who take what is to their taste, mostly, or whatever is popular.
fn data(users: u32, has_taste: bool) -> Interactions<'static> {
    let (mut rows, mut cols) = (Vec::new(), Vec::new());
    for user in 0..users {
        for draw in 0..24 {
            let random = mix(1, u64::from(user), draw);
            let unit = (random >> 40) as f64 / (1 << 24) as f64;
            let item = if has_taste && draw % 3 > 0 {
                (20.0 * unit) as u32 * 40 + user % 40
            } else {
                (800.0 * unit * unit) as u32
            };
            rows.push(user);
            cols.push(item);
        }
    }
    let built = Triplets::new(&rows, &cols).build(users as usize, 800, Duplicates::Sum);
    built.unwrap().into_owned()
}

fn chosen(data: &Interactions<'_>, params: &Params, automatic: Automatic) -> ChosenSettings {
    let count = std::cell::Cell::new(0);
    let observer = || count.set(count.get() + 1);
    let chosen = choose_settings(
        (data, None),
        &WEIGHTS,
        params,
        automatic,
        &Cancel::new(),
        &observer,
    )
    .unwrap();
    assert_eq!(chosen.tried, count.get());
    assert!(chosen.tried <= automatic.max_models());
    chosen
}

fn choose(
    data: &Interactions<'_>,
    scheme: &Scheme,
    params: &Params,
    automatic: Automatic,
) -> ChosenSettings {
    choose_settings(
        (data, None),
        scheme,
        params,
        automatic,
        &Cancel::new(),
        &|| {},
    )
    .unwrap()
}

#[test]
fn too_weak_and_too_strong_penalties_are_left_behind() {
    let params = Params::new().factors(32);
    let given = |data: &Interactions<'_>, lambda: f32| {
        let automatic = Automatic {
            regularization: false,
            ..BOTH
        };
        let params = params.clone().regularization(lambda);
        chosen(data, &params, automatic).score.unwrap()
    };
    let (taste, noise) = (data(600, true), data(600, false));
    let (found, weak) = (chosen(&noise, &params, BOTH), given(&noise, 0.005));
    assert!(
        found.tried > 1 && found.score > Some(1.1 * weak),
        "{weak} {found:?}"
    );
    let (found, strong) = (chosen(&taste, &params, BOTH), given(&taste, 2.0));
    assert!(
        found.tried > 1 && found.score > Some(1.1 * strong),
        "{strong} {found:?}"
    );
}

#[test]
fn what_was_given_is_kept_and_the_rest_does_not_depend_on_threads() {
    let (data, params) = (
        data(300, false),
        Params::new().factors(8).regularization(0.3),
    );
    let automatic = Automatic {
        regularization: false,
        ..BOTH
    };
    let one = chosen(&data, &params.clone().threads(1), automatic);
    let two = chosen(&data, &params.clone().threads(2), automatic);
    assert_eq!(one.params.regularization.to_bits(), 0.3_f32.to_bits());
    assert_eq!(
        one.params.post_scale.to_bits(),
        two.params.post_scale.to_bits()
    );
    assert_eq!((one.tried, one.score), (1, two.score));
    let given = chosen(&data, &params, Automatic::default());
    assert_eq!((given.params, given.tried), (params.clone(), 0));
    let baseline = params.solver(absentia::Baseline::Bpr);
    assert_eq!(chosen(&data, &baseline, BOTH).params, baseline);
}

/// A recipe is only left for one that does better.
#[test]
fn a_recipe_is_found_that_does_no_worse_and_does_not_depend_on_threads() {
    let automatic = Automatic {
        recipe: true,
        ..BOTH
    };
    for has_taste in [false, true] {
        let data = data(300, has_taste);
        let params = Params::new().factors(8);
        let given = chosen(&data, &params, BOTH);
        let one = chosen(&data, &params.clone().threads(1), automatic);
        let two = chosen(&data, &params.clone().threads(2), automatic);
        assert!(one.score >= given.score && one.tried >= given.tried + 3);
        assert_eq!((&one.scheme, one.score), (&two.scheme, two.score));
        assert_eq!(one.params.targets, two.params.targets);
        // Given the chosen settings, the same penalty does as well again.
        let scheme = one.scheme.unwrap_or(WEIGHTS);
        let only = Automatic {
            post_scale: true,
            ..Automatic::default()
        };
        let again = choose(&data, &scheme, &one.params, only);
        let again = again.score.unwrap();
        assert!(again > 0.8 * one.score.unwrap(), "{again} {:?}", one.score);
    }
    // Weights that no single number makes stronger stay as they are, or give way as a whole.
    let uniform = Scheme::uniform(0.05);
    let (data, params) = (data(300, true), Params::new().factors(8));
    let found = choose(&data, &uniform, &params, automatic);
    let is_other = found.params.targets != params.targets;
    assert_eq!(found.scheme.is_some(), is_other);
}

/// Popular items were shown more, and the weights say so. By held-out rows alone, popular items would be
/// scaled up again.
#[test]
fn a_given_exposure_is_not_undone_by_post_scaling() {
    let data = data(400, false);
    let counts = data.item_counts();
    let shown = |item: usize, _| 0.002 * (1 + counts[item]) as f32;
    let scheme = Scheme::low_rank(
        absentia::Dense::from_fn(data.n_users(), 1, |_, _| 1.0),
        absentia::Dense::from_fn(data.n_items(), 1, shown),
    );
    let params = Params::new().factors(8);
    let found = choose(&data, &scheme, &params, BOTH);
    assert!(found.states_exposure && found.tried > 1);
    assert!(found.params.post_scale == 0.0, "{found:?}");
    let kept = choose(&data, &scheme, &params.clone().post_scale(0.25), BOTH);
    assert_eq!(kept.params.post_scale.to_bits(), 0.25_f32.to_bits());
    let by_data = chosen(&data, &params, BOTH);
    assert!(
        !by_data.states_exposure && by_data.params.post_scale > 0.0,
        "{by_data:?}"
    );
}

/// Weights so far below zero that no model of four fifths of the rows can be trained.
#[test]
fn weights_below_zero_leave_the_choice_to_a_rule_of_thumb() {
    let data = data(300, true);
    let column = |rows, value| absentia::Dense::from_fn(rows, 1, |_, _| value);
    let scheme = Scheme::low_rank(column(data.n_users(), -1.0), column(data.n_items(), 1.0));
    let params = Params::new().factors(4).reg_exponent(0.0);
    let found = choose(&data, &scheme, &params, BOTH);
    assert_eq!((found.tried, found.score), (0, None));
    let none = Triplets::new(&[], &[])
        .build(3, 3, Duplicates::Error)
        .unwrap();
    assert_eq!(chosen(&none, &params, BOTH).params, params);
}

#[test]
fn few_users_can_tell_nothing() {
    let found = chosen(&data(50, true), &Params::new(), BOTH);
    assert_eq!((found.tried, found.score), (0, None));
    assert!(found.params.regularization > 0.0 && found.params.post_scale == 0.0);
}

/// Users who come at all times and take what is new then, of items that appear one after the other. Times that are
/// `shuffled` say nothing.
fn dated(shuffled: bool) -> Interactions<'static> {
    let (mut rows, mut cols, mut times) = (Vec::new(), Vec::new(), Vec::new());
    for user in 0..700_u32 {
        for draw in 0..12 {
            let random = mix(2, u64::from(user), draw);
            let unit = (random >> 40) as f64 / (1 << 24) as f64;
            let day = random % 700;
            // An item of the last fifty that are there, the newest more than the others.
            let newest = 60.0 + day as f64 * 0.6;
            rows.push(user);
            cols.push((newest - 50.0 * unit * unit) as u32);
            let said = if shuffled {
                mix(3, u64::from(user), draw) % 700
            } else {
                day
            };
            times.push(86_400 * (said.cast_signed() + 15_000) + draw.cast_signed());
        }
    }
    let built = Triplets::new(&rows, &cols).times(&times);
    let built = built.build(700, 480, Duplicates::Last);
    built.unwrap().into_owned()
}

#[test]
fn weights_by_age_and_recent_counts_are_kept_where_they_pay() {
    let params = Params::new().factors(4);
    let recipe = Automatic {
        recipe: true,
        ..BOTH
    };
    let by_time = Automatic {
        by_time: true,
        ..recipe
    };
    let data = dated(false);
    let (with, without) = (
        chosen(&data, &params, by_time),
        chosen(&data, &params, recipe),
    );
    let is_by_time = |found: &ChosenSettings| {
        let by_age = found.scheme.as_ref().is_some_and(Scheme::needs_times);
        by_age || found.params.post_scale_half_life.is_some()
    };
    assert!(is_by_time(&with), "{with:?}");
    assert!(with.score > without.score, "{with:?} {without:?}");
    // The same on any number of threads.
    let one = chosen(&data, &params.clone().threads(1), by_time);
    assert_eq!((&one.scheme, one.score), (&with.scheme, with.score));
    let (with, without) = (dated(true), without);
    let found = chosen(&with, &params, by_time);
    assert!(!is_by_time(&found) && !is_by_time(&without), "{found:?}");
    // Without times there is nothing to try.
    let bare = data_without_times();
    assert_eq!(
        chosen(&bare, &params, by_time).tried,
        chosen(&bare, &params, recipe).tried
    );
}

fn data_without_times() -> Interactions<'static> {
    data(300, true)
}
