//! Weights estimated from the data.
#![allow(clippy::unwrap_used)]

use absentia::data::{Duplicates, Interactions, Triplets};
use absentia::fit::{Run, fit};
use absentia::weights::{Learned, MissingWeights, Scheme, Strength};
use absentia::{Axis, Params, Solver};
use absentia_lab::generate::{Generator, GeneratorParams};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

use crate::new_row;

fn scheme(learned: Learned) -> Scheme {
    Scheme::learned(learned)
}

fn fitted(data: &Interactions<'_>, scheme: &Scheme, threads: usize) -> MissingWeights {
    let params = Params::new()
        .factors(8)
        .iterations(1)
        .solver(Solver::Eals)
        .threads(threads);
    let params = params.check().unwrap();
    let run = fit(data, scheme, &params, Run::default()).unwrap();
    run.model.weights().clone()
}

/// Every user meets every item of a block three times as often as the others.
fn blocks() -> Interactions<'static> {
    let (mut users, mut items) = (Vec::new(), Vec::new());
    let mut rng = ChaCha8Rng::seed_from_u64(5);
    for user in 0..200_u32 {
        for item in 0..150_u32 {
            let chance = if user % 2 == item % 2 { 0.45 } else { 0.15 };
            if f64::from(rng.next_u32()) < chance * 4_294_967_296.0 {
                users.push(user);
                items.push(item);
            }
        }
    }
    Triplets::new(&users, &items)
        .build(200, 150, Duplicates::Error)
        .unwrap()
}

#[test]
fn one_component_of_observed_entries_is_popularity_times_activity() {
    let data = blocks();
    let learned = Learned {
        rank: 1,
        alpha: 1.0,
        rounds: 0,
        ..Learned::new(0.1)
    };
    let got = scheme(learned).resolve(&data).unwrap();
    let counts = Scheme::popularity_activity(Strength::Mean(0.1), 1.0, 1.0);
    let want = counts.resolve(&data).unwrap();
    for (user, item) in [(0, 1), (3, 3), (77, 120), (199, 149)] {
        let (got, want) = (got.weight(user, item), want.weight(user, item));
        // The prior pulls each of some sixty exposures a row towards the mean by one.
        assert!((got / want - 1.0).abs() < 0.02, "{got} against {want}");
    }
}

#[test]
fn two_components_find_two_blocks() {
    let data = blocks();
    let learned = Learned {
        rank: 2,
        alpha: 1.0,
        ..Learned::new(0.1)
    };
    let weights = fitted(&data, &scheme(learned), 2);
    let (mut inside, mut outside) = (0.0, 0.0);
    for user in 0..200 {
        for item in 0..150 {
            let sum = if user % 2 == item % 2 {
                &mut inside
            } else {
                &mut outside
            };
            *sum += f64::from(weights.weight(user, item));
        }
    }
    assert!(inside > 1.8 * outside, "{inside} against {outside}");
    assert!((weights.mean_missing(&data) - 0.1).abs() < 1e-6);
}

#[test]
fn what_was_shown_and_refused_weighs_more_than_under_popularity() {
    // Users of a segment are shown other items than the rest.
    let generator = Generator::new(GeneratorParams::new(1200, 800, 30_000)).unwrap();
    let data = generator.interactions().unwrap();
    let ratio = |weights: &MissingWeights| {
        let (mut refused, mut never) = ((0.0, 0.0), (0.0, 0.0));
        for user in 0..1200 {
            let seen = generator.user(user).feedback();
            for item in 0..800_u32 {
                if seen.liked.binary_search(&item).is_ok() {
                    continue;
                }
                let sum = match seen.refused.binary_search(&item) {
                    Ok(_) => &mut refused,
                    Err(_) => &mut never,
                };
                *sum = (sum.0 + f64::from(weights.weight(user, item)), sum.1 + 1.0);
            }
        }
        (refused.0 / refused.1) / (never.0 / never.1)
    };
    let popularity = Scheme::popularity(Strength::Mean(0.01), 1.0);
    let learned = Learned {
        rank: 8,
        alpha: 1.0,
        ..Learned::new(0.01)
    };
    let (known, guessed) = (
        ratio(&popularity.resolve(&data).unwrap()),
        ratio(&fitted(&data, &scheme(learned), 2)),
    );
    println!("refused over never shown: {known:.2} by popularity, {guessed:.2} learned");
    assert!(guessed > 1.15 * known, "{guessed} against {known}");
}

#[test]
fn threads_do_not_change_a_bit_and_new_rows_get_the_mean() {
    let data = blocks();
    let learned = scheme(Learned::new(0.05));
    let one = fitted(&data, &learned, 1);
    assert_eq!(one, fitted(&data, &learned, 3));
    assert_eq!(new_row(&one, Axis::User, 7, &[]).unwrap().len(), one.rank());
    assert!(one.explain(3, 4).to_string().contains("learned"));
}

#[test]
fn parameters_out_of_range_are_named() {
    let data = blocks();
    for (learned, name) in [
        (Learned::new(-1.0), "mean"),
        (
            Learned {
                rank: 0,
                ..Learned::new(0.1)
            },
            "rank",
        ),
        (
            Learned {
                alpha: f32::NAN,
                ..Learned::new(0.1)
            },
            "alpha",
        ),
        (
            Learned {
                rounds: 1000,
                ..Learned::new(0.1)
            },
            "rounds",
        ),
    ] {
        let error = scheme(learned).resolve(&data).unwrap_err().to_string();
        assert!(error.contains(name), "{error}");
    }
}
