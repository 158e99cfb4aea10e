//! Rows with more entries than are packed or summed at once.

use absentia::data::{Confidence, Duplicates, Interactions, Targets, Triplets};
use absentia::fit::Fitted;
use absentia::weights::{Scheme, Strength};
use absentia::{Params, Solver};

use super::train;
use crate::oracle::relative_distance;
use crate::{all, bits, params};

/// A generated matrix with a long row and a long column, so that sums are cut into segments.
fn with_long_rows() -> Interactions<'static> {
    let (mut users, mut items) = (Vec::new(), Vec::new());
    for item in 0..9000 {
        users.push(0);
        items.push(item);
    }
    for user in 1..6000_u32 {
        users.push(user);
        items.push(user % 9000);
        users.push(user);
        items.push(4321);
    }
    Triplets::new(&users, &items)
        .build(6000, 9000, Duplicates::Last)
        .unwrap()
}

#[test]
fn any_number_of_threads_gives_the_same_bits_with_long_rows() {
    let (long, scheme) = (
        with_long_rows(),
        Scheme::popularity(Strength::Mean(0.01), 0.5),
    );
    for solver in [
        Solver::Eals,
        Solver::Subspace { block: 16 },
        Solver::Als,
        Solver::AlsCg { steps: 2 },
    ] {
        let params = params(solver)
            .targets(Targets::Binary)
            .confidence(Confidence::default())
            .iterations(2);
        let one = bits(&train(&long, &scheme, params.clone().threads(1)));
        assert_eq!(
            one,
            bits(&train(&long, &scheme, params.threads(7))),
            "{solver:?} with long rows"
        );
    }
}

/// `J` over every entry of a model with one penalty for all rows and one weight for what is missing.
fn objective_by_hand(fitted: &Fitted, data: &Interactions<'_>, weight: f64, lambda: f64) -> f64 {
    let (p, q) = (fitted.model.user_factors(), fitted.model.item_factors());
    let squares = |all: Vec<f64>| all.iter().map(|x| x * x).sum::<f64>();
    let mut total = lambda * (squares(all(p)) + squares(all(q)));
    for user in 0..data.n_users() {
        let row = data.by_user().row(user);
        for item in 0..data.n_items() {
            let pairs = p.row(user).iter().zip(q.row(item));
            let score: f64 = pairs.map(|(p, q)| f64::from(*p) * f64::from(*q)).sum();
            let observed = row.indices.binary_search(&(item as u32)).is_ok();
            total += if observed {
                (1.0 - score).powi(2)
            } else {
                weight * score * score
            };
        }
    }
    total
}

/// So many factors that the lines of a user's entries pass the limit: of several segments, and of one.
#[test]
fn rows_too_long_to_be_packed_are_solved_as_all_others() {
    for (entries, factors) in [(9000, 128), (3000, 512), (1500, 768)] {
        check_long_row(entries, factors);
    }
}

fn check_long_row(entries: u32, factors: usize) {
    let (mut users, mut items) = (
        vec![0; entries as usize],
        (0..entries).collect::<Vec<u32>>(),
    );
    for user in 1..12 {
        users.extend([user; 300]);
        items.extend((0..300).map(|n| (n * 29 + user * 31) % entries));
    }
    let data = Triplets::new(&users, &items)
        .build(12, entries as usize, Duplicates::Last)
        .unwrap();
    let (weight, lambda) = (0.02, 0.1);
    let scheme = Scheme::uniform(weight);
    let base = Params::new()
        .factors(factors)
        .iterations(1)
        .regularization(lambda)
        .reg_exponent(0.0)
        .init_std(0.1);
    let vanilla = train(&data, &scheme, base.clone().solver(Solver::EalsVanilla));
    for solver in [
        Solver::Eals,
        Solver::Subspace { block: 4 },
        Solver::Subspace { block: 16 },
        Solver::Subspace { block: 32 },
        Solver::AlsCg { steps: 2 },
    ] {
        let one = train(&data, &scheme, base.clone().solver(solver).threads(1));
        let three = train(&data, &scheme, base.clone().solver(solver).threads(3));
        assert_eq!(bits(&one), bits(&three), "{solver:?}");
        let by_hand = objective_by_hand(&one, &data, f64::from(weight), f64::from(lambda));
        let got = one.model.history()[0].objective.total();
        assert!(
            (got - by_hand).abs() < 1e-5 * by_hand,
            "{solver:?}: {got}, by hand {by_hand}"
        );
        if solver == Solver::Eals {
            let distance = relative_distance(
                all(one.model.item_factors()).into_iter(),
                all(vanilla.model.item_factors()).into_iter(),
            );
            assert!(distance < 1e-3, "differs by {distance:.2e}");
        }
    }
}

#[test]
fn pieces_of_long_rows_add_up_to_the_oracle() {
    // One user with more entries than a segment holds, checked against the vanilla solver.
    let data = with_long_rows();
    let scheme = Scheme::uniform(0.02);
    let base = Params::new()
        .factors(3)
        .iterations(2)
        .regularization(0.1)
        .init_std(0.1);
    let fast = train(&data, &scheme, base.clone());
    let slow = train(&data, &scheme, base.solver(Solver::EalsVanilla));
    let distance = relative_distance(
        all(fast.model.user_factors()).into_iter(),
        all(slow.model.user_factors()).into_iter(),
    );
    assert!(distance < 1e-4, "{distance}");
}

#[test]
fn a_user_with_very_many_entries_stalls_nobody() {
    let (mut users, mut items) = (vec![0; 200_000], (0..200_000).collect::<Vec<u32>>());
    for user in 1..=10_000 {
        users.push(user);
        items.push(user * 7 % 200_000);
    }
    let data = Triplets::new(&users, &items)
        .build(10_001, 200_000, Duplicates::Last)
        .unwrap();
    // Two hundred thousand entries squared would take hours.
    for solver in [
        Solver::Eals,
        Solver::Subspace { block: 16 },
        Solver::Als,
        Solver::AlsCg { steps: 3 },
    ] {
        let fitted = train(
            &data,
            &Scheme::uniform(1e-4),
            Params::new()
                .factors(16)
                .iterations(2)
                .solver(solver)
                .threads(2),
        );
        assert_eq!(fitted.model.history().len(), 2);
    }
}
