//! Measures Absentia against other libraries on the same data in the same run: `cargo xtask bench`.
//!
//! Every measured run is a process of its own; contenders take turns, so that other work of
//! the machine slows all of them alike. Results are tables, a JSON file and charts.
#![allow(clippy::print_stdout)]

mod arrays;
mod big;
mod contender;
mod data;
mod iterations;

mod options;
mod peak;
mod process;
mod quality;
mod ranking;
mod report;
mod request;
mod results;
mod runner;
mod weights;
mod worker;

use std::path::Path;

use absentia_lab::generate::GeneratorParams;
use anyhow::{Context, Result};
use clap::Parser as _;

use data::{Gowalla, Matrix};
use options::Options;
use results::Results;
use runner::Runner;

fn main() -> Result<()> {
    let mut arguments = std::env::args().skip(1).peekable();
    if arguments.next_if(|word| word == "worker").is_some() {
        let request = arguments.next().context("a worker needs a request")?;
        let answer = worker::run(&serde_json::from_str(&request)?)?;
        println!("{}", serde_json::to_string(&answer)?);
        return Ok(());
    }
    let words: Vec<String> = arguments.collect();
    let command = format!("cargo xtask bench {}", words.join(" "));
    let options = Options::parse_from(words);
    let mut results = measure(&options)?;
    command.trim_end().clone_into(&mut results.command);
    let name = if options.big { "big" } else { "results" };
    report::write(&results, &options.out, name)
}

fn measure(options: &Options) -> Result<Results> {
    let runner = Runner {
        python: options.python.clone(),
        threads: options.threads,
        with_peers: !options.no_peers,
    };
    let mut results = Results {
        machine: results::machine(),
        load: results::load(),
        threads: options.threads,
        rounds: options.rounds,
        missing: runner.missing().into_iter().map(str::to_owned).collect(),
        ..Results::default()
    };
    if options.big {
        results.big = big::run(&runner, &options.sizes(), options.iterations)?;
        return Ok(results);
    }
    let folder = options.out.join("data");
    shapes(&runner, options, &folder, &mut results)?;
    if options.wants("ranking") || options.wants("quality") {
        on_gowalla(&runner, options, &folder, &mut results)?;
    }
    Ok(results)
}

/// Measures what runs on generated data.
fn shapes(runner: &Runner, options: &Options, folder: &Path, results: &mut Results) -> Result<()> {
    let amazon_or_weights = options.wants("amazon") || options.wants("weights");
    let shapes = [
        ("yelp", options.wants("yelp"), GeneratorParams::yelp_shape()),
        ("amazon", amazon_or_weights, GeneratorParams::amazon_shape()),
    ];
    for (shape, wanted, params) in shapes {
        if !wanted {
            continue;
        }
        let matrix = Matrix::generate(params, folder.join(shape))?;
        for factors in options.factors_of(shape) {
            if options.wants(shape) {
                let case = iterations::measure(runner, options, (shape, &matrix), factors);
                results.cases.push(case);
            }
        }
        if shape == "amazon" && options.wants("weights") {
            results.weights = Some(weights::measure(runner, options, (shape, &matrix))?);
        }
    }
    Ok(())
}

/// Measures what runs on real data, if it exists.
fn on_gowalla(
    runner: &Runner,
    options: &Options,
    folder: &Path,
    results: &mut Results,
) -> Result<()> {
    if !options.gowalla.join("train.tsv.gz").exists() {
        eprintln!(
            "{} does not exist: ranking and quality are left out",
            options.gowalla.display()
        );
        return Ok(());
    }
    let data = Gowalla::prepare(&options.gowalla, folder)?;
    if options.wants("ranking") {
        let lists = folder.join("lists");
        results.ranking = Some(ranking::measure(runner, options, &data.train, &lists)?);
    }
    if options.wants("quality") {
        results.quality = Some(quality::measure(runner, options, &data, folder)?);
    }
    Ok(())
}
