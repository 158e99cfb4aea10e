//! Results on the paper's own data, next to the published ones.

use absentia::ranking::PopularityScorer;
use absentia_report::format::{metric, significant};
use anyhow::Result;

use super::data::Set;
use super::lab::{Lab, METRICS, Setting, last, mean, measured, popularity};
use super::part::{Block, Grid};
use super::published::PUBLISHED;
use super::table_two::Totals as _;

/// The run of the released program.
pub(super) fn blocks(lab: &Lab<'_>, set: &Set) -> Result<Vec<Block>> {
    let setting = Setting {
        scheme: popularity(PUBLISHED.c0, PUBLISHED.alpha),
        params: lab
            .params(PUBLISHED.factors, lab.size.published_sweeps())
            .regularization(PUBLISHED.lambda),
    };
    let model = lab.train(&set.train, &setting)?;
    // The released program ranks training items too.
    let ours = measured(&model.scorer(), &set.train, &set.test, false)?;
    let popular = PopularityScorer::new(set.train.n_users(), &set.train.item_counts());
    let floor = measured(&popular, &set.train, &set.test, false)?;
    let loss = last(&model.history_totals())?;
    let mut grid = Grid::new(
        format!(
            "K = {}, c0 = {}, α = {}, λ = {}, start N(0, 0.01²), {} sweeps, training items ranked too",
            PUBLISHED.factors,
            PUBLISHED.c0,
            PUBLISHED.alpha,
            PUBLISHED.lambda,
            lab.size.published_sweeps()
        ),
        ["", "ours", "published", "difference"],
    );
    let mut add = |name: &str, own: f64, published: f64, shown: &dyn Fn(f64) -> String| {
        grid.row([
            name.to_owned(),
            shown(own),
            shown(published),
            format!("{:+.2} %", 100.0 * (own / published - 1.0)),
        ]);
    };
    add("loss", loss, PUBLISHED.loss, &|x| significant(x, 7));
    add("HR@100", mean(&ours, METRICS[0]), PUBLISHED.hr, &metric);
    add("NDCG@100", mean(&ours, METRICS[1]), PUBLISHED.ndcg, &metric);
    add(
        "most popular, HR@100",
        mean(&floor, METRICS[0]),
        PUBLISHED.popular.0,
        &metric,
    );
    add(
        "most popular, NDCG@100",
        mean(&floor, METRICS[1]),
        PUBLISHED.popular.1,
        &metric,
    );
    Ok(vec![Block::Table(grid)])
}
