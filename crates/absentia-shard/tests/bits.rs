//! Shards of any number have the bits of one process.
#![allow(missing_docs, clippy::unwrap_used)]

use absentia::data::{Confidence, Duplicates, Targets};
use absentia::fit::{Cancel, Control, Fitted, Init, Observer, Run, Sweep, fit, fit_on};
use absentia::weights::{Groups, Scheme, Strength};
use absentia::{Dense, Interactions, Params, Solver, Triplets};
use absentia_shard::InProcess;

/// Ten chunks of users and of items, the last of each not full.
const ROWS: u32 = 20_000;

const SOLVERS: [Solver; 5] = [
    Solver::Eals,
    Solver::Subspace { block: 4 },
    Solver::Subspace { block: 16 },
    Solver::Als,
    Solver::AlsCg { steps: 2 },
];

/// A few entries of each user, more of the popular items, and one item and one user with very many.
fn data() -> Interactions<'static> {
    let (mut users, mut items, mut values, mut weights) = (vec![], vec![], vec![], vec![]);
    let mut state = 1_u64;
    let mut next = |below: u32| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as u32 % below
    };
    for user in 0..ROWS {
        let many = if user == 7_777 { 3_000 } else { 1 + user % 5 };
        for _ in 0..many {
            let item = next(ROWS).min(next(ROWS));
            users.push(user);
            items.push(item);
            values.push(1.0 + next(5) as f32);
            weights.push(0.5 + next(4) as f32 / 2.0);
        }
        if user.is_multiple_of(5) {
            users.push(user);
            items.push(1_234);
            values.push(2.0);
            weights.push(1.0);
        }
    }
    Triplets::new(&users, &items)
        .values(&values)
        .weights(&weights)
        .build(ROWS as usize, ROWS as usize, Duplicates::Last)
        .unwrap()
}

fn params(solver: Solver) -> Params {
    Params::new()
        .factors(9)
        .iterations(2)
        .regularization(0.05)
        .reg_exponent(0.5)
        .solver(solver)
        .init_std(0.1)
        .seed(3)
}

fn groups() -> Scheme {
    let group = |rows: u32| (0..rows).map(|row| row % 3).collect::<Vec<u32>>();
    Scheme::groups(Groups {
        table: Dense::from_fn(3, 3, |row, col| 0.01 * (1 + (row + 2 * col) % 4) as f32),
        user_segment: group(ROWS),
        item_category: group(ROWS),
    })
}

fn low_rank() -> Scheme {
    let number = |row: usize, t: usize| ((row * 7 + t * 3) % 11) as f32 / 40.0;
    let side = || Dense::from_fn(ROWS as usize, 3, number);
    Scheme::low_rank(side(), side())
}

/// Bits of the factors and of the objective after every sweep.
fn bits(fitted: &Fitted) -> (Vec<u32>, Vec<u64>) {
    let model = &fitted.model;
    let factors = [model.user_factors(), model.item_factors()];
    let factors = factors.iter().flat_map(|side| {
        (0..side.rows()).flat_map(|row| side.row(row).iter().map(|x| x.to_bits()))
    });
    let sweeps = model.history().iter();
    let objective = sweeps.flat_map(|sweep| {
        let parts = sweep.objective;
        [parts.observed, parts.missing, parts.regularization].map(f64::to_bits)
    });
    (factors.collect(), objective.collect())
}

/// Workers that take all rows that they need at once.
fn at_once(workers: usize) -> InProcess {
    InProcess {
        workers,
        most_rows: usize::MAX,
    }
}

fn compare(
    data: &Interactions<'_>,
    scheme: &Scheme,
    params: Params,
    workers: &[usize],
    what: &str,
) {
    let params = params.check().unwrap();
    let one = bits(&fit(data, scheme, &params, Run::default()).unwrap());
    for &workers in workers {
        let device = at_once(workers);
        let shared = fit_on(&device, data, scheme, &params, Run::default()).unwrap();
        assert!(bits(&shared) == one, "{what}: {workers} workers");
    }
}

#[test]
fn every_solver_has_the_same_bits_in_any_number_of_shards() {
    let data = data();
    for solver in SOLVERS {
        let uniform = Scheme::uniform(0.02);
        let what = format!("{solver:?}");
        compare(&data, &uniform, params(solver), &[1, 2, 3, 7, 12], &what);
    }
}

#[test]
fn rows_that_come_in_waves_have_them_too() {
    let data = data();
    for solver in SOLVERS {
        for scheme in [Scheme::uniform(0.02), low_rank()] {
            let params = params(solver).check().unwrap();
            let one = bits(&fit(&data, &scheme, &params, Run::default()).unwrap());
            for (workers, most_rows) in [(1, 9_000), (2, 6_000), (3, 1)] {
                let device = InProcess { workers, most_rows };
                let shared = fit_on(&device, &data, &scheme, &params, Run::default()).unwrap();
                let what = format!("{solver:?}, {workers} workers, {most_rows} rows at a time");
                assert!(bits(&shared) == one, "{what}");
            }
        }
    }
}

#[test]
fn entries_that_were_shown_and_not_taken_have_them_too() {
    let users: Vec<u32> = (0..ROWS).collect();
    let items: Vec<u32> = users.iter().map(|user| user * 7 % ROWS).collect();
    let data = data().with_exposed(&users, &items, &vec![0.3; users.len()]);
    let what = "exposed entries";
    compare(
        &data.unwrap(),
        &low_rank(),
        params(Solver::Eals),
        &[3],
        what,
    );
}

#[test]
fn weights_targets_and_confidence_have_them_too() {
    let data = data();
    let popularity = Scheme::popularity(Strength::Mean(0.02), 0.4);
    let normalized = Targets::Normalized {
        user: 0.3,
        item: 0.2,
    };
    for solver in [Solver::Eals, Solver::Als] {
        let of = |scheme: &Scheme, params: Params, what: &str| {
            compare(
                &data,
                scheme,
                params,
                &[2, 7],
                &format!("{solver:?}, {what}"),
            );
        };
        of(&low_rank(), params(solver), "rank 3");
        of(&popularity, params(solver), "popularity");
        of(
            &popularity,
            params(solver).targets(normalized),
            "normalized targets",
        );
        of(&groups(), params(solver), "groups");
        let raw = params(solver).targets(Targets::Raw);
        of(
            &low_rank(),
            raw.confidence(Confidence::Column),
            "raw values",
        );
    }
}

/// Where observed entries weigh far less than missing ones, sweeps are repeated in double precision and
/// sums visit every entry: those have the same bits as well.
#[test]
fn sweeps_that_are_repeated_in_double_precision_have_them_too() {
    let (mut users, mut items) = (vec![], vec![]);
    for user in 0..2_100_u32 {
        for item in (0..40_u32).filter(|item| (user + item) % 10 != 0) {
            users.push(user);
            items.push(item);
        }
    }
    let data = Triplets::new(&users, &items)
        .build(2_100, 40, Duplicates::Last)
        .unwrap();
    for solver in [Solver::Als, Solver::Eals, Solver::AlsCg { steps: 3 }] {
        let params = Params::new()
            .factors(32)
            .iterations(4)
            .regularization(1e-6)
            .reg_exponent(0.0)
            .confidence(Confidence::Constant { weight: 0.01 })
            .solver(solver)
            .init_std(0.5)
            .seed(1);
        let what = format!("{solver:?}, c < w");
        compare(&data, &Scheme::uniform(1.0), params, &[2], &what);
    }
}

struct CancelAfter(Cancel, usize);

impl Observer for CancelAfter {
    fn swept(&mut self, sweep: &Sweep) -> Control {
        if sweep.iteration == self.1 {
            self.0.cancel();
        }
        Control::Continue
    }
}

#[test]
fn a_run_goes_on_with_another_number_of_shards() {
    let data = data();
    let scheme = low_rank();
    let params = params(Solver::Eals).iterations(4).check().unwrap();
    let whole = bits(&fit(&data, &scheme, &params, Run::default()).unwrap());
    let cancel = Cancel::new();
    let mut stop = CancelAfter(cancel.clone(), 2);
    let run = Run {
        observer: Some(&mut stop),
        cancel,
        ..Run::default()
    };
    let half = fit_on(&at_once(3), &data, &scheme, &params, run).unwrap();
    assert_eq!(half.model.history().len(), 2);
    let run = Run {
        resume: Some(half.checkpoint),
        ..Run::default()
    };
    let rest = fit_on(&at_once(5), &data, &scheme, &params, run).unwrap();
    assert!(bits(&rest) == whole);
}

#[test]
fn given_factors_are_where_shards_start() {
    let data = data();
    let side = |seed: usize| {
        let value = move |row: usize, f: usize| ((row * 31 + f * 17 + seed) % 101) as f32 / 300.0;
        absentia::model::Factors::from(Dense::from_fn(ROWS as usize, 9, value))
    };
    let run = || Run {
        init: Init::Given {
            users: side(1),
            items: side(2),
        },
        ..Run::default()
    };
    let params = params(Solver::Subspace { block: 4 }).check().unwrap();
    let scheme = Scheme::uniform(0.1);
    let one = fit(&data, &scheme, &params, run()).unwrap();
    let three = fit_on(&at_once(3), &data, &scheme, &params, run()).unwrap();
    assert!(bits(&one) == bits(&three));
}
