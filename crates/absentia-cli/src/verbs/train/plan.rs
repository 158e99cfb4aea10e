//! What a run will take, before it is started.

use absentia::Params;
use absentia::error::Axis;
use absentia::fit::{FitError, MemoryPlan, ProblemSize, Sizes, default_threads};
use absentia::weights::Scheme;
use absentia_report::format;
use absentia_report::terminal::key_values;
use absentia_search::Automatic;
use serde::Serialize;

use super::Prepared;
use crate::failure::Refusal;
use crate::store;
use crate::ui::Ui;

/// Multiply-adds a second that one thread is assumed to reach; a guess, and said to be one.
const PER_THREAD: f64 = 5e9;

/// What a run will take, and what it may.
struct Plan {
    sizes: Sizes,
    memory: MemoryPlan,
    limit: Option<u64>,
}

impl Plan {
    fn new(prepared: &Prepared, scheme: &Scheme, params: &Params, open: Automatic) -> Self {
        let sizes = Sizes::of(&prepared.data, scheme, prepared.held_out.is_some());
        // The matrix is there already, so what the machine or container has left comes on top of it.
        let left = || store::available_memory().map(|bytes| bytes.saturating_add(sizes.data));
        let mut memory = MemoryPlan::new(&sizes, params);
        if open.trains_models(sizes.entries, params.solver) {
            // The rows that remain, and the best two models while the next is trained.
            let factors = params.factors.next_multiple_of(16) as u64;
            let models = 2 * 4 * (sizes.users + sizes.items) as u64 * factors;
            // Other targets differ from entry to entry.
            let targets = 16 * sizes.entries as u64 * u64::from(open.recipe);
            let choosing = sizes.data.saturating_add(models).saturating_add(targets);
            memory.parts.push(("to choose settings", choosing));
        }
        Self {
            memory,
            limit: params.memory_limit.or_else(left),
            sizes,
        }
    }

    fn check(&self) -> Result<(), FitError> {
        match self.limit {
            Some(limit) if self.memory.total() > limit => Err(FitError::Memory {
                needed: self.memory.total(),
                limit,
            }),
            _ => Ok(()),
        }
    }
}

/// Refuses a run that the caller, the machine or the container has no memory for.
pub(crate) fn check_memory(
    prepared: &Prepared,
    scheme: &Scheme,
    params: &Params,
    open: Automatic,
) -> Result<(), FitError> {
    Plan::new(prepared, scheme, params, open).check()
}

#[derive(Serialize)]
struct PlanLine<'a> {
    users: usize,
    items: usize,
    interactions: usize,
    weight_rank: usize,
    memory: std::collections::BTreeMap<&'a str, u64>,
    total_bytes: u64,
    limit_bytes: Option<u64>,
    fits: bool,
    multiply_adds_per_sweep: f64,
    estimated_seconds_per_sweep: f64,
}

/// Shows the plan of a run, and refuses one that does not fit.
pub(super) fn show(
    prepared: &Prepared,
    scheme: &Scheme,
    params: &Params,
    open: Automatic,
    ui: &Ui,
) -> anyhow::Result<()> {
    params.clone().check()?;
    let plan = Plan::new(prepared, scheme, params, open);
    let sizes = plan.sizes;
    let work = ProblemSize::from(&sizes).sweep_cost(params.solver, params.factors);
    let threads = params.threads.unwrap_or_else(default_threads);
    let line = PlanLine {
        users: sizes.users,
        items: sizes.items,
        interactions: prepared.data.n_interactions(),
        weight_rank: sizes.rank,
        memory: plan.memory.parts.iter().copied().collect(),
        total_bytes: plan.memory.total(),
        limit_bytes: plan.limit,
        fits: plan.check().is_ok(),
        multiply_adds_per_sweep: work,
        estimated_seconds_per_sweep: work / (PER_THREAD * threads as f64),
    };
    ui.json(&line)?;
    ui.say(key_values(facts(&plan.memory, &line, threads), ui.screen()))?;
    Ok(plan.check()?)
}

fn facts(plan: &MemoryPlan, line: &PlanLine<'_>, threads: usize) -> Vec<(String, String)> {
    let mut facts: Vec<(String, String)> = plan
        .parts
        .iter()
        .map(|(name, bytes)| ((*name).to_owned(), format::bytes(*bytes)))
        .collect();
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

/// Says which user or item an error means instead of its row number.
pub(crate) fn named_rows(error: FitError, prepared: &Prepared) -> anyhow::Error {
    let name = |axis: Axis, row: usize| {
        let ids = match axis {
            Axis::User => &prepared.ids.users,
            Axis::Item => &prepared.ids.items,
        };
        ids.name(row as u32).unwrap_or_default().into_owned()
    };
    match error {
        FitError::NotConvex {
            axis,
            row,
            curvature,
        } => Refusal::data(format!(
            "weights on missing entries give {axis} {:?} a curvature of {curvature}: some \
             reconstructed weights are negative, so its factors have no best value",
            name(axis, row)
        ))
        .hint("use method=nonnegative for dense weights, or raise --regularization")
        .into(),
        FitError::RowWeight { axis, row, total } => Refusal::data(format!(
            "the total weight of {axis} {:?} is {total}, so --reg-exponent has no meaning for it",
            name(axis, row)
        ))
        .hint("use method=nonnegative for dense weights, or --reg-exponent 0")
        .into(),
        error => error.into(),
    }
}
