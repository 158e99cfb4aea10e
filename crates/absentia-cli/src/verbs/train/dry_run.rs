//! What a run will take, before it is started.

use absentia::fit::{ProblemSize, default_threads};
use absentia::memory::Stage;
use absentia_job::{Listener as _, Training};
use absentia_report::format;
use absentia_report::terminal::key_values;
use serde::Serialize;

use crate::ui::Ui;

/// Multiply-adds per second that one thread is assumed to reach: a guess, and shown as one.
const PER_THREAD: f64 = 5e9;

#[derive(Serialize)]
struct PlanLine<'a> {
    users: usize,
    items: usize,
    interactions: usize,
    weight_rank: usize,
    /// The stage that takes the most memory.
    stage: &'a str,
    memory: std::collections::BTreeMap<&'a str, u64>,
    total_bytes: u64,
    limit_bytes: Option<u64>,
    fits: bool,
    multiply_adds_per_sweep: f64,
    estimated_seconds_per_sweep: f64,
}

/// Shows the plan of a run, and refuses one that does not fit.
pub(super) fn show(training: &Training<'_>, ui: &Ui) -> anyhow::Result<()> {
    let params = &training.params;
    params.clone().check()?;
    let plan = training.plan();
    // Reading and building the matrix may have taken more than the run will.
    let fits = plan
        .stages
        .iter()
        .try_for_each(|stage| ui.enter(stage.clone()));
    let largest = ui.memory().largest();
    let sizes = plan.sizes;
    let work = ProblemSize::from(&sizes).sweep_cost(params.solver, params.factors);
    let threads = params.threads.unwrap_or_else(default_threads);
    let line = PlanLine {
        users: sizes.users,
        items: sizes.items,
        interactions: training.input.data.n_interactions(),
        weight_rank: sizes.rank,
        stage: largest.name,
        memory: largest.parts.iter().copied().collect(),
        total_bytes: largest.total(),
        limit_bytes: ui.memory().limit(),
        fits: fits.is_ok(),
        multiply_adds_per_sweep: work,
        estimated_seconds_per_sweep: work / (PER_THREAD * threads as f64),
    };
    ui.json(&line)?;
    let mut shown: Vec<(String, String)> = plan.stages.iter().map(of_stage).collect();
    shown.extend(facts(&largest, &line, threads));
    ui.say(key_values(shown, ui.screen()))?;
    Ok(fits?)
}

fn of_stage(stage: &Stage) -> (String, String) {
    (stage.name.to_owned(), format::bytes(stage.total()))
}

/// The parts of the largest stage, and what a sweep takes.
fn facts(largest: &Stage, line: &PlanLine<'_>, threads: usize) -> Vec<(String, String)> {
    let mut facts = vec![("most memory".to_owned(), largest.name.to_owned())];
    let part = |(name, bytes): &(&str, u64)| ((*name).to_owned(), format::bytes(*bytes));
    facts.extend(largest.parts.iter().map(part));
    let mut add = |name: &str, text: String| facts.push((name.to_owned(), text));
    add("in all", format::bytes(line.total_bytes));
    if let Some(limit) = line.limit_bytes {
        add("may take", format::bytes(limit));
    }
    add(
        "work a sweep",
        format!(
            "{} multiply-adds",
            format::compact(line.multiply_adds_per_sweep)
        ),
    );
    let seconds = std::time::Duration::from_secs_f64(line.estimated_seconds_per_sweep);
    add(
        "time a sweep",
        format!(
            "about {} on {threads} threads (a guess)",
            format::duration(seconds)
        ),
    );
    facts
}
