//! What generated data must be, whatever the seed.

use rayon::prelude::*;

use super::{ExposureModel, GenerateError, Generator, GeneratorParams, TestItems, User};
use absentia::Fault;
use absentia::data::Interactions;

const SEGMENTED: ExposureModel = ExposureModel::Segmented { strength: 1.5 };

fn generator(exposure: ExposureModel, seed: u64) -> Generator {
    let params = GeneratorParams {
        exposure,
        seed,
        ..GeneratorParams::new(800, 400, 16_000)
    };
    Generator::new(params).unwrap()
}

fn walked(generator: &Generator) -> Vec<(u32, u32)> {
    let users = generator.params().users as u32;
    let rows: Vec<Vec<u32>> = generator.rows(0..users).collect();
    let entries = (0..users).zip(&rows);
    let entries = entries.flat_map(|(user, row)| row.iter().map(move |&item| (user, item)));
    entries.collect()
}

/// Chance that one draw shows the item to the user.
fn draw_probability(generator: &Generator, user: &User<'_>, item: u32) -> f64 {
    let (showing, catalogue) = (&generator.showing, &generator.catalogue);
    showing.probability(user.segment(), item, catalogue)
}

fn share_of_top(mut counts: Vec<u32>, share: f64) -> f64 {
    counts.sort_unstable_by(|x, y| y.cmp(x));
    let total: u32 = counts.iter().sum();
    let top = (counts.len() as f64 * share) as usize;
    f64::from(counts[..top].iter().sum::<u32>()) / f64::from(total)
}

#[test]
fn the_same_seed_gives_the_same_data_on_every_walk() {
    let first = generator(SEGMENTED, 5);
    let entries = walked(&first);
    assert_eq!(entries, walked(&first));
    assert_eq!(entries, walked(&generator(SEGMENTED, 5)));
    assert_ne!(entries, walked(&generator(SEGMENTED, 6)));
}

#[test]
fn every_way_to_the_entries_gives_the_same() {
    let generator = generator(SEGMENTED, 1);
    let data = generator.interactions().unwrap();
    let rows: Vec<Vec<u32>> = generator.rows(100..300).collect();
    for (user, row) in (100..300).zip(rows).rev() {
        assert_eq!(row, generator.user(user).feedback().liked);
        assert_eq!(row, data.by_user().row(user as usize).indices);
    }
}

#[test]
fn the_number_of_threads_does_not_matter() {
    let generator = generator(SEGMENTED, 2);
    let on = |threads| {
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(threads)
            .build()
            .unwrap();
        pool.install(|| generator.interactions().unwrap())
    };
    assert_eq!(on(1), on(5));
}

#[test]
fn the_number_of_entries_is_exact() {
    for exposure in [SEGMENTED, ExposureModel::Popularity, ExposureModel::Uniform] {
        assert_eq!(walked(&generator(exposure, 3)).len(), 16_000);
    }
    let yelp = Generator::new(GeneratorParams::yelp_shape()).unwrap();
    assert_eq!(yelp.interactions().unwrap().len(), 731_671);
    let amazon = Generator::new(GeneratorParams::amazon_shape()).unwrap();
    let quotas: u64 = (0..117_176).map(|user| amazon.quota(user)).sum();
    assert_eq!(quotas, 5_020_705);
}

#[test]
fn a_billion_entries_need_no_more_memory_than_the_items() {
    let params = GeneratorParams::new(10_000_000, 1_000_000, 1_000_000_000);
    let generator = Generator::new(params).unwrap();
    for user in [0, 5_000_000, 9_999_999] {
        let liked = generator.user(user).feedback().liked;
        assert_eq!(liked.len() as u64, generator.quota(user));
    }
}

#[test]
fn what_is_liked_and_what_is_refused_never_meet_and_never_repeat() {
    let generator = generator(SEGMENTED, 4);
    for user in 0..800 {
        let feedback = generator.user(user).feedback();
        let mut shown = [feedback.liked.clone(), feedback.refused].concat();
        assert!(feedback.liked.windows(2).all(|pair| pair[0] < pair[1]));
        shown.sort_unstable();
        assert!(shown.windows(2).all(|pair| pair[0] < pair[1]));
        assert!(shown.len() as u64 <= feedback.draws);
        assert_eq!(feedback.liked.len() as u64, generator.quota(user));
    }
}

#[test]
fn popularity_and_activity_have_long_tails() {
    let generator = Generator::new(GeneratorParams::yelp_shape()).unwrap();
    let data = generator.interactions().unwrap();
    let items = share_of_top(data.item_counts(), 0.01);
    let users = share_of_top(data.user_counts(), 0.01);
    assert!((0.1..0.4).contains(&items), "{items}");
    assert!((0.05..0.3).contains(&users), "{users}");
    let control = GeneratorParams {
        exposure: ExposureModel::Uniform,
        ..generator.params().clone()
    };
    let control = Generator::new(control).unwrap().interactions().unwrap();
    assert!(share_of_top(control.item_counts(), 0.01) < 0.03);
}

/// The log-log slope of popularity over rank is the requested exponent.
#[test]
fn popularity_follows_its_exponent() {
    let params = GeneratorParams {
        popularity_exponent: 0.8,
        exposure: ExposureModel::Popularity,
        taste: 0.0,
        ..GeneratorParams::new(20_000, 4000, 100_000)
    };
    let data = Generator::new(params).unwrap().interactions().unwrap();
    let mut counts = data.item_counts();
    counts.sort_unstable_by(|x, y| y.cmp(x));
    let (high, low) = (f64::from(counts[99]), f64::from(counts[999]));
    let slope = (high / low).ln() / 10_f64.ln();
    assert!((slope - 0.8).abs() < 0.08, "{slope}");
}

/// A·Bᵀ, as the chance 1 − exp(−a·b) of being shown at all, against how many items of a category
/// the users of a segment were really shown.
#[test]
fn expected_exposures_match_what_was_shown() {
    for exposure in [SEGMENTED, ExposureModel::Popularity, ExposureModel::Uniform] {
        let generator = generator(exposure, 8);
        let expected = generator.expected_exposures();
        let (mut predicted, mut shown) = (vec![0.0; 8 * 24], vec![0.0; 8 * 24]);
        for number in 0..800 {
            let user = generator.user(number);
            let cell = |item| user.segment() * 24 + generator.category(item);
            for item in 0..400 {
                let a_u = expected.users.row(number as usize);
                let b_i = expected.items.row(item as usize);
                let times: f32 = a_u.iter().zip(b_i).map(|(a, b)| a * b).sum();
                predicted[cell(item)] -= f64::from((-times).exp_m1());
            }
            let feedback = user.feedback();
            for &item in feedback.liked.iter().chain(&feedback.refused) {
                shown[cell(item)] += 1.0;
            }
        }
        for (predicted, shown) in predicted.iter().zip(shown) {
            let off: f64 = shown - predicted;
            assert!(
                off.abs() < 5.0 * predicted.sqrt() + 3.0,
                "{predicted} {shown}"
            );
        }
    }
}

/// Distinct items shown, by item: the sum of exposure probabilities against the number of users.
#[test]
fn exposure_probabilities_match_what_was_shown() {
    let generator = generator(SEGMENTED, 9);
    let (mut expected, mut shown) = (vec![0.0; 400], vec![0.0; 400]);
    for user in 0..800 {
        let user = generator.user(user);
        let feedback = user.feedback();
        for item in feedback.liked.iter().chain(&feedback.refused) {
            shown[*item as usize] += 1.0;
        }
        for (item, expected) in (0..).zip(&mut expected) {
            let shown = draw_probability(&generator, &user, item);
            *expected += -(feedback.draws as f64 * (-shown).ln_1p()).exp_m1();
        }
    }
    let chi: f64 = expected
        .iter()
        .zip(&shown)
        .map(|(e, s): (&f64, &f64)| (s - e) * (s - e) / e)
        .sum();
    // Variances are below Poisson's: exposure is at most once per user and item.
    assert!(chi / 400.0 < 1.2, "{chi}");
}

/// What is drawn is liked as often as the truth says, in training and held out.
#[test]
fn like_probabilities_match_what_was_liked() {
    let generator = generator(SEGMENTED, 10);
    for how in [TestItems::Uniform, TestItems::Exposure] {
        let (mut expected, mut liked, mut count) = (0.0, 0.0, 0.0_f64);
        for user in 0..800 {
            let user = generator.user(user);
            let test = user.held_out(how, 40);
            liked += test.liked.len() as f64;
            for &item in test.liked.iter().chain(&test.refused) {
                expected += user.like_probability(item);
                count += 1.0;
            }
        }
        assert!((liked - expected).abs() < 4.0 * (0.2 * count).sqrt());
        assert!((liked / count - 0.2).abs() < 0.02, "{}", liked / count);
    }
}

#[test]
fn held_out_items_were_not_shown_in_training() {
    let generator = generator(SEGMENTED, 11);
    for user in (0..800).step_by(7) {
        let user = generator.user(user);
        let training = user.feedback();
        for (how, count) in [
            (TestItems::Uniform, 5),
            (TestItems::Uniform, 1000),
            (TestItems::Exposure, 20),
        ] {
            let test = user.held_out(how, count);
            let all = [test.liked.clone(), test.refused.clone()].concat();
            assert!(all.len() <= count);
            for item in all {
                assert!(training.liked.binary_search(&item).is_err());
                assert!(training.refused.binary_search(&item).is_err());
            }
            assert_eq!(test, user.held_out(how, count));
        }
    }
    let unseen = generator.user(3).feedback();
    let rest = generator.user(3).held_out(TestItems::Uniform, 400);
    let shown = [unseen.liked, unseen.refused, rest.liked, rest.refused].concat();
    assert_eq!(shown.len(), 400);
}

/// Taste has nothing to do with what a segment is shown: liking is as frequent among the items
/// shown most as among all.
#[test]
fn taste_is_independent_of_exposure() {
    let generator = generator(SEGMENTED, 12);
    let (mut by_exposure, mut weight) = (0.0, 0.0);
    for user in 0..800 {
        let user = generator.user(user);
        for item in 0..400 {
            let shown = draw_probability(&generator, &user, item);
            by_exposure += shown * user.like_probability(item);
            weight += shown;
        }
    }
    assert!((by_exposure / weight - 0.2).abs() < 0.015);
}

#[test]
fn more_categories_than_items_and_single_everything_work() {
    let tiny = GeneratorParams {
        categories: 50,
        segments: 1,
        rank: 1,
        ..GeneratorParams::new(1, 1, 1)
    };
    assert_eq!(walked(&Generator::new(tiny).unwrap()), [(0, 0)]);
    let sparse = GeneratorParams {
        categories: 500,
        ..GeneratorParams::new(50, 20, 40)
    };
    assert_eq!(walked(&Generator::new(sparse).unwrap()).len(), 40);
}

#[test]
fn users_who_like_nothing_still_meet_their_quota() {
    let params = GeneratorParams {
        taste: 100.0,
        noise: 0.0,
        rank: 1,
        like_rate: 0.05,
        ..GeneratorParams::new(200, 100, 400)
    };
    let data: Interactions<'_> = Generator::new(params).unwrap().interactions().unwrap();
    assert_eq!(data.len(), 400);
}

/// What the entries of a user cost is their draws; `cargo xtask bench --big` measures the seconds.
#[test]
fn the_entries_of_large_data_take_few_draws() {
    let generator = Generator::new(GeneratorParams::new(40_000, 20_000, 1_000_000)).unwrap();
    let (mut draws, mut entries) = (0, 0);
    for user in 0..1000 {
        let feedback = generator.user(user).feedback();
        draws += feedback.draws;
        entries += feedback.liked.len() as u64;
    }
    assert!(draws < 40 * entries, "{draws} draws of {entries} entries");
}

#[test]
fn impossible_parameters_are_named() {
    let refused = |change: fn(&mut GeneratorParams)| {
        let mut params = GeneratorParams::new(100, 100, 500);
        change(&mut params);
        let error = Generator::new(params).unwrap_err();
        assert_eq!(error.fault(), Fault::Caller);
        error.to_string()
    };
    assert!(refused(|params| params.users = 0).starts_with("users is 0"));
    assert!(refused(|params| params.entries = 0).starts_with("entries is 0"));
    assert!(refused(|params| params.segments = 5000).contains("4096"));
    assert!(refused(|params| params.noise = f32::NAN).starts_with("noise is NaN"));
    assert!(refused(|params| params.like_rate = 1.0).starts_with("like rate is 1"));
    assert!(
        refused(|params| params.exposure = ExposureModel::Segmented { strength: -1.0 })
            .contains("strength")
    );
    let error = Generator::new(GeneratorParams::new(100, 100, 801)).unwrap_err();
    assert_eq!(
        error,
        GenerateError::TooManyEntries {
            entries: 801,
            most: 800,
            users: 100
        }
    );
}
