//! Events on problems at the edge of what floating-point numbers hold: observed entries that weigh far less
//! than missing ones, no regularization, more factors than the matrix has rank, scales of 1e±12.

use absentia::data::{Confidence, Duplicates, Interactions, Targets, Triplets};
use absentia::fit::{FitError, Init, Run, fit};
use absentia::model::Factors;
use absentia::online::{Event, Online, Operation, Options, Settings, WeightMode};
use absentia::weights::Scheme;
use absentia::{Axis, Dense, Model, Params, Solver};
use absentia_testing::extreme::{Extreme, Observed};

use crate::setup::Dice;

/// By how much rounding may raise the objective.
const OFF: f64 = 1e-5;
/// Problems of the short form; `ABSENTIA_EXTREMES` sets another number.
const PROBLEMS: u64 = 60;
/// Events on each of them.
const EVENTS: usize = 8;

fn dense(rows: usize, values: &[f32]) -> Dense {
    Dense::from_slice(rows, values.len() / rows, values).unwrap()
}

fn scheme(problem: &Extreme) -> Scheme {
    let (a, b) = (&problem.a, &problem.b);
    Scheme::low_rank(dense(problem.users, a), dense(problem.items, b))
}

fn rows(problem: &Extreme) -> Interactions<'static> {
    let column =
        |value: fn(&Observed) -> f32| -> Vec<f32> { problem.observed.iter().map(value).collect() };
    let users: Vec<u32> = problem.observed.iter().map(|entry| entry.user).collect();
    let items: Vec<u32> = problem.observed.iter().map(|entry| entry.item).collect();
    Triplets::new(&users, &items)
        .values(&column(|entry| entry.r))
        .weights(&column(|entry| entry.c))
        .build(problem.users, problem.items, Duplicates::Error)
        .unwrap()
        .into_owned()
}

/// The model of a problem after two sweeps; `None` if training refuses it.
fn trained(problem: &Extreme, rows: &Interactions<'_>) -> Option<Model> {
    let params = Params::new()
        .factors(problem.factors)
        .iterations(2)
        .regularization(problem.lambda)
        .reg_exponent(0.0)
        .targets(Targets::Raw)
        .confidence(Confidence::Column)
        .solver(Solver::Eals)
        .threads(1);
    let run = Run {
        init: Init::Given {
            users: Factors::from(dense(problem.users, &problem.p)),
            items: Factors::from(dense(problem.items, &problem.q)),
        },
        ..Run::default()
    };
    match fit(rows, &scheme(problem), &params.check().unwrap(), run) {
        Ok(fitted) => Some(fitted.model),
        Err(FitError::Diverged { .. } | FitError::Rises { .. }) => None,
        Err(error) => panic!("{}: {error}", problem.name),
    }
}

/// The objective of the state, entry by entry.
fn objective(online: &Online, problem: &Extreme) -> f64 {
    let rows = online.to_trained_rows();
    let mut now = problem.clone();
    now.observed.clear();
    for user in 0..problem.users {
        let row = rows.by_user().row(user);
        for (at, &item) in row.indices.iter().enumerate() {
            let (r, c) = (row.r.get(at), row.c.get(at));
            let user = user as u32;
            now.observed.push(Observed { user, item, r, c });
        }
    }
    let numbers = |matrix: &Dense| -> Vec<f32> {
        let rows = (0..matrix.rows()).flat_map(|row| matrix.row(row).to_vec());
        rows.collect()
    };
    let weights = online.missing_weights().unwrap();
    (now.a, now.b) = (numbers(weights.a()), numbers(weights.b()));
    let factors = |axis: Axis| numbers(online.factors(axis));
    let parts = now.objective(&factors(Axis::User), &factors(Axis::Item));
    parts.iter().sum()
}

/// An event with a value and weight like those of the problem.
fn operation(dice: &mut Dice, online: &Online, problem: &Extreme) -> Operation {
    let like = problem.observed[dice.below(problem.observed.len())];
    let user = dice.below(problem.users) as u32;
    let items = online.columns(Axis::User, user);
    let missing: Vec<u32> = (0..problem.items as u32)
        .filter(|item| !items.contains(item))
        .collect();
    if dice.below(8) == 0 {
        // The next event of the user is that of a new row.
        return Operation::Erase { user };
    }
    let is_removed = dice.below(3) == 0 && !items.is_empty();
    if is_removed || missing.is_empty() {
        let item = items[dice.below(items.len())];
        return Operation::Remove {
            user,
            item,
            time: None,
            later: None,
        };
    }
    let item = missing[dice.below(missing.len())];
    if dice.below(4) == 0 {
        return Operation::Expose {
            user,
            item,
            weight: like.c,
        };
    }
    Operation::Insert(Event::new(user, item).value(like.r).weight(like.c))
}

/// Whether an event draws a start: factors that training has shrunk to 0 on both sides are those of new rows, and
/// a start that is drawn is part of the insertion.
fn starts(online: &Online, operation: &Operation) -> bool {
    let Operation::Insert(event) = operation else {
        return false;
    };
    online.is_blank(Axis::User, event.user) && online.is_blank(Axis::Item, event.item)
}

/// Events of a problem whose steps raise the objective, or leave one that is not finite.
fn faults(problem: &Extreme, seed: u64) -> Vec<String> {
    let rows = rows(problem);
    let Some(model) = trained(problem, &rows) else {
        return Vec::new();
    };
    let mut faults = Vec::new();
    let options = Options {
        scheme: Some(scheme(problem)),
        weights: WeightMode::Frozen,
        duplicates: Duplicates::Last,
        ..Options::default()
    };
    let mut online = Online::new(&model, &rows, options).unwrap();
    let mut dice = Dice::new(seed);
    for _ in 0..EVENTS {
        let next = operation(&mut dice, &online, problem);
        let is_start = starts(&online, &next);
        let now = online.to_model().unwrap();
        let mut recorded = Online::restore(&now, Some(scheme(problem)), online.parts()).unwrap();
        let settings = Settings {
            steps: 0,
            ..online.settings()
        };
        recorded.apply(&Operation::Settings(settings)).unwrap();
        recorded.apply(&next).unwrap();
        online.apply(&next).unwrap();
        if is_start {
            continue;
        }
        let (before, after) = (objective(&recorded, problem), objective(&online, problem));
        if !after.is_finite() || after > before * (1.0 + OFF) {
            faults.push(format!(
                "{}: {next:?} raises {before} to {after}",
                problem.name
            ));
        }
    }
    faults
}

#[test]
fn steps_on_extreme_problems_do_not_raise_the_objective() {
    let number = std::env::var("ABSENTIA_EXTREMES").ok();
    let problems = number.and_then(|n| n.parse().ok()).unwrap_or(PROBLEMS);
    let all: Vec<String> = (0..problems)
        .flat_map(|seed| faults(&Extreme::of_seed(seed), seed))
        .collect();
    let events = problems as usize * EVENTS;
    assert!(
        all.is_empty(),
        "{} faults in {events} events:\n{}",
        all.len(),
        all.join("\n")
    );
}
