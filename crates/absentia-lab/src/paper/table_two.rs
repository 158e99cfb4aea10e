//! Table II: SVD against eALS on the same unweighted objective, binary targets.

use absentia::evaluate::Evaluation;
use absentia::weights::Scheme;
use absentia::{Baseline, Interactions, Method, Model, Solver};
use absentia_job::while_held;
use absentia_report::format::{metric, significant};
use anyhow::Result;

use super::data::Set;
use super::lab::{Lab, METRICS, Setting, findings, last, mean, mean_text, statement};
use super::part::{Block, Grid};
use super::published;

struct Fit {
    model: Model,
    found: Evaluation,
    loss: f64,
}

impl Fit {
    /// The unweighted objective, for all methods.
    fn new(lab: &Lab<'_>, set: &Set, solver: impl Into<Method>, seed: u64) -> Result<Self> {
        let (factors, sweeps, _) = lab.size.table_two();
        let factors = factors.min(set.train.n_items().min(set.train.n_users()));
        let params = lab.params(factors, sweeps).regularization(0.0);
        let setting = Setting {
            scheme: Scheme::uniform(1.0),
            params: params.solver(solver).seed(seed),
        };
        let (model, found) = lab.tested(set, &setting)?;
        let loss = last(&model.history_totals())?;
        Ok(Fit { model, found, loss })
    }

    fn row(&self, name: String, over: String, mae: String) -> [String; 6] {
        let [recall, ndcg] = METRICS.map(|metric| mean_text(&self.found, metric));
        [name, recall, ndcg, significant(self.loss, 6), over, mae]
    }
}

pub(super) fn blocks(lab: &Lab<'_>, set: &Set) -> Result<Vec<Block>> {
    let (factors, sweeps, seeds) = lab.size.table_two();
    let dash = || "–".to_owned();
    let svd = Fit::new(lab, set, Baseline::Svd, 0)?;
    let mut grid = Grid::new(
        format!(
            "{}, K = {factors}, {sweeps} sweeps; beside it the paper's figures (K = 64)",
            set.name
        ),
        [
            "method",
            METRICS[0],
            METRICS[1],
            "loss",
            "loss over SVD's",
            "MAE of predictions",
        ],
    );
    grid.row(svd.row("svd".to_owned(), dash(), dash()));
    let (mut found, mut excess) = (Vec::new(), Vec::new());
    // The model of the SVD stays in memory to compare the others with.
    let train = &set.train;
    let rows = (train.n_users() + train.n_items()) as u64;
    let of_svd = 4 * rows * svd.model.n_factors().next_multiple_of(16) as u64;
    while_held(lab.memory, of_svd, || {
        for seed in 0..seeds {
            let eals = Fit::new(lab, set, Solver::Eals, seed)?;
            let over = eals.loss / svd.loss - 1.0;
            excess.push(over);
            let mae = significant(difference(train, &eals.model, &svd.model), 2);
            grid.row(eals.row(format!("eals, seed {seed}"), format!("{over:+.1e}"), mae));
            found.push(eals.found);
        }
        anyhow::Ok(())
    })?;
    add_published(&mut grid);
    let (least, worst) = ends(excess.into_iter());
    let spread = METRICS.map(|name| {
        let (low, high) = ends(found.iter().map(|found| mean(found, name)));
        format!("`{name}` by {}", significant(high - low, 2))
    });
    let mut blocks = vec![Block::Table(grid)];
    if let Some(eals) = found.first() {
        let text = statement("eALS (seed 0) against SVD", eals, &svd.found)?;
        blocks.push(Block::text(text));
        let claim = "eALS over SVD, unweighted";
        blocks.extend(findings(claim, set, eals, &svd.found)?);
    }
    blocks.push(Block::text(format!(
        "Over {seeds} seeds the loss of eALS is between {least:.1e} and {worst:.1e} above the least \
         possible, which SVD reaches; from the lowest seed to the highest, {}. Seeds differ because \
         singular values beyond the K-th are close to those before it, and the last directions are \
         found slowly.",
        spread.join(" and ")
    )));
    Ok(blocks)
}

/// The least and the largest of some numbers.
fn ends(values: impl Iterator<Item = f64>) -> (f64, f64) {
    values.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), x| {
        (low.min(x), high.max(x))
    })
}

/// The paper's lines.
fn add_published(grid: &mut Grid) {
    for (data, method, hr, ndcg, loss) in published::TABLE_TWO {
        let mae = published::MAE
            .iter()
            .find(|(name, _)| *name == data && method == "eALS");
        grid.row([
            format!("paper, {data}: {method}"),
            metric(hr),
            metric(ndcg),
            significant(loss, 5),
            "–".to_owned(),
            mae.map_or_else(|| "–".to_owned(), |(_, mae)| significant(*mae, 2)),
        ]);
    }
}

/// Mean absolute difference of two models' predictions of observed entries.
fn difference(data: &Interactions<'_>, left: &Model, right: &Model) -> f64 {
    let dot = |model: &Model, user: usize, item: usize| -> f64 {
        let (p, q) = (
            model.user_factors().row(user),
            model.item_factors().row(item),
        );
        p.iter()
            .zip(q)
            .map(|(p, q)| f64::from(*p) * f64::from(*q))
            .sum()
    };
    let mut sum = 0.0;
    for user in 0..data.n_users() {
        for &item in data.by_user().row(user).indices {
            sum += (dot(left, user, item as usize) - dot(right, user, item as usize)).abs();
        }
    }
    sum / data.len() as f64
}

/// J after every sweep.
pub(super) trait Totals {
    fn history_totals(&self) -> Vec<f64>;
}

impl Totals for Model {
    fn history_totals(&self) -> Vec<f64> {
        let history = self.history().iter();
        history.map(|sweep| sweep.objective.total()).collect()
    }
}
