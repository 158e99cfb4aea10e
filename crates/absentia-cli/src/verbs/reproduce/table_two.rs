//! Table II: SVD against eALS on the same unweighted objective, binary targets.

use absentia::evaluate::Evaluation;
use absentia::weights::Scheme;
use absentia::{Interactions, Model, Solver};
use absentia_cli::terminal::format::{metric, significant};
use anyhow::Result;

use super::data::Set;
use super::lab::{Lab, METRICS, Setting, findings, last, mean, mean_text, statement};
use super::paper;
use super::part::{Block, Grid};

struct Fit {
    model: Model,
    found: Evaluation,
    loss: f64,
}

pub(super) fn blocks(lab: &Lab, set: &Set) -> Result<Vec<Block>> {
    let (factors, sweeps, seeds) = lab.size.table_two();
    let factors = factors.min(set.train.n_items().min(set.train.n_users()));
    let fit = |solver: Solver, seed: u64| -> Result<Fit> {
        let setting = Setting {
            scheme: Scheme::Uniform { weight: 1.0 },
            params: lab
                .params(factors, sweeps)
                .regularization(0.0)
                .solver(solver)
                .seed(seed),
        };
        let (model, found) = Lab::tested(set, &setting)?;
        let loss = last(model.history_totals().as_slice())?;
        Ok(Fit { model, found, loss })
    };
    let svd = fit(Solver::Svd, 0)?;
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
    grid.row([
        "svd".to_owned(),
        mean_text(&svd.found, METRICS[0]),
        mean_text(&svd.found, METRICS[1]),
        significant(svd.loss, 6),
        "–".to_owned(),
        "–".to_owned(),
    ]);
    let (mut first, mut excess) = (None, Vec::new());
    for seed in 0..seeds {
        let eals = fit(Solver::Eals, seed)?;
        let over = eals.loss / svd.loss - 1.0;
        excess.push(over);
        grid.row([
            format!("eals, seed {seed}"),
            mean_text(&eals.found, METRICS[0]),
            mean_text(&eals.found, METRICS[1]),
            significant(eals.loss, 6),
            format!("{over:+.1e}"),
            significant(difference(&set.train, &eals.model, &svd.model), 2),
        ]);
        first.get_or_insert(eals);
    }
    for (data, method, hr, ndcg, loss) in paper::TABLE_TWO {
        let mae = paper::MAE
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
    let worst = excess.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let least = excess.iter().copied().fold(f64::INFINITY, f64::min);
    let mut blocks = vec![Block::Table(grid)];
    if let Some(eals) = first {
        blocks.push(Block::text(statement(
            "eALS (seed 0) against SVD",
            &eals.found,
            &svd.found,
        )?));
        blocks.extend(findings(
            "eALS over SVD, unweighted",
            set,
            &eals.found,
            &svd.found,
        )?);
    }
    blocks.push(Block::text(format!(
        "Over {seeds} seeds the loss of eALS is between {least:.1e} and {worst:.1e} above the least \
         possible, which SVD reaches (`recall@100` of SVD {}). Seeds differ because singular values \
         beyond the K-th are close to those before it, and the last directions are found slowly.",
        metric(mean(&svd.found, METRICS[0]))
    )));
    Ok(blocks)
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
