//! How long it takes to rank every item for every user: `cargo xtask bench ranking`.
//!
//! On factors without structure, where bounds cannot end a search early, and on those of a model
//! trained on generated data of the Yelp shape, where they can; that model then answers for one user
//! after another.
#![allow(clippy::print_stdout)]

use std::time::{Duration, Instant};

use absentia::Dense;
use absentia::Params;
use absentia::fit::{Run, fit};
use absentia::model::Model;
use absentia::ranking::{FactorScorer, ItemLists, RankRequest, Scorer, SeenItems, rank};
use absentia::weights::{Scheme, Strength};
use absentia_lab::generate::{Generator, GeneratorParams};

type Failure = Box<dyn std::error::Error>;

/// Ranks for all users, checks one of them alone, and prints the time.
fn time(name: &str, scorer: &dyn Scorer, seen: &dyn SeenItems, k: usize) -> Result<(), Failure> {
    let (users, items) = (scorer.n_users(), scorer.n_items());
    let all: Vec<u32> = (0..users as u32).collect();
    let request = RankRequest {
        users: &all,
        top: 20,
        exclude: Some(seen),
        ..RankRequest::default()
    };
    let start = Instant::now();
    let rankings = rank(scorer, &request)?;
    let bulk = start.elapsed();
    let start = Instant::now();
    let one = RankRequest {
        users: &all[5..6],
        ..request
    };
    assert_eq!(rank(scorer, &one)?[0], rankings[5]);
    let rate = (users * items * k) as f64 / bulk.as_secs_f64() / 1e9;
    println!(
        "{name}: top 20 of {users} × {items}, K = {k}: {bulk:.2?} ({rate:.0} GFMA/s if none were \
         left out); one user: {:.2?}",
        start.elapsed()
    );
    Ok(())
}

fn main() -> Result<(), Failure> {
    let (users, items, k) = (30_000, 41_000, 128);
    let value = |row: usize, col: usize| ((row * 131 + col * 71) as f64).sin() as f32;
    let p = Dense::from_fn(users, k, value);
    let q = Dense::from_fn(items, k, |row, col| value(row + 7_777, col));
    let seen: ItemLists = (0..users as u32)
        .map(|user| (0..27).map(|at| (user * 17 + at * 997) % 41_000).collect())
        .collect();
    time("without structure", &FactorScorer::new(&p, &q)?, &seen, k)?;

    let data = Generator::new(GeneratorParams::yelp_shape())?.interactions()?;
    let scheme = Scheme::popularity(Strength::Mean(0.05), 0.4);
    let params = Params::new().factors(k).iterations(8).check()?;
    let model = fit(&data, &scheme, &params, Run::default())?.model;
    let rows = |factors: &absentia::model::Factors| {
        Dense::from_fn(factors.rows(), k, |row, col| factors.row(row)[col])
    };
    let (p, q) = (rows(model.user_factors()), rows(model.item_factors()));
    time("trained", &FactorScorer::new(&p, &q)?, &data, k)?;
    one_by_one(&model, &data)
}

/// Asks a model for one user after another, as a server does.
fn one_by_one(model: &Model, seen: &dyn SeenItems) -> Result<(), Failure> {
    let users: Vec<u32> = (0..model.n_users() as u32).step_by(20).collect();
    let (mut total, mut longest) = (Duration::ZERO, Duration::ZERO);
    for user in &users {
        let start = Instant::now();
        model.recommend(&RankRequest {
            users: std::slice::from_ref(user),
            top: 20,
            exclude: Some(seen),
            ..RankRequest::default()
        })?;
        total += start.elapsed();
        longest = longest.max(start.elapsed());
    }
    let mean = total / users.len() as u32;
    println!(
        "one user at a time, {} of them: {mean:.2?} each, {longest:.2?} at most",
        users.len()
    );
    Ok(())
}
