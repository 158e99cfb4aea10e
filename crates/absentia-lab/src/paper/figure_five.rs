//! Figure 5: accuracy per iteration and against seconds, of eALS, RCD and WALS, with baselines.

use std::time::Instant;

use absentia::weights::{Scheme, Strength};
use absentia::{Baseline, Params, Solver};
use absentia_report::format::{count, significant};
use anyhow::Result;

use super::data::Set;
use super::figure_four::{Chosen, chosen};
use super::lab::{
    II_SVD, Lab, METRICS, Moment, Setting, findings, mean_text, measured, popularity, statement,
    weights_of,
};
use super::part::{AxisScale, Block, Grid, Lines};

/// A method with its settings.
struct ComparedMethod {
    name: &'static str,
    setting: Setting,
    /// Whether it is drawn sweep by sweep.
    drawn: bool,
}

fn methods(lab: &Lab<'_>, set: &Set) -> Result<(Vec<ComparedMethod>, String)> {
    let best = chosen(lab, set)?;
    let weight = best.c0 / set.train.n_items() as f32;
    let (factors, sweeps) = (lab.size.factors(), lab.size.curve_sweeps());
    let params = |solver: absentia::Method| lab.params(factors, sweeps).solver(solver);
    let method = |name, scheme: Scheme, params: Params, drawn| ComparedMethod {
        name,
        setting: Setting { scheme, params },
        drawn,
    };
    let plain = |name, solver: absentia::Method, drawn| {
        method(name, weights_of(solver, weight), params(solver), drawn)
    };
    // Steps and penalties of the stochastic methods are common ones, not tuned here.
    let steps = |baseline: Baseline| params(baseline.into()).init_std(0.1).learning_rate(0.05);
    let by_item = Scheme::popularity(Strength::Mean(1.0), 0.5);
    let rank = factors.min(set.train.n_items().min(set.train.n_users()) / 2);
    let svd = |baseline: Baseline| params(baseline.into()).factors(rank).regularization(0.0);
    let list = vec![
        method(
            "eALS",
            popularity(best.c0, best.alpha),
            params(Solver::Eals.into()),
            true,
        ),
        plain("RCD", Baseline::Rcd.into(), true),
        plain("WALS", Solver::Als.into(), true),
        plain("IALS1", Baseline::Ials1.into(), true),
        method(
            "BPR",
            weights_of(Baseline::Bpr, 1.0),
            steps(Baseline::Bpr),
            true,
        ),
        method(
            "BPR, popular negatives",
            by_item,
            steps(Baseline::Bpr),
            true,
        ),
        method(
            "SGD on observed",
            weights_of(Baseline::SgdObserved, 0.0),
            steps(Baseline::SgdObserved),
            true,
        ),
        method(
            "SVD",
            weights_of(Baseline::Svd, 1.0),
            svd(Baseline::Svd),
            false,
        ),
        method(
            "ii-SVD",
            weights_of(Baseline::IiSvd, 0.0),
            svd(Baseline::IiSvd),
            false,
        ),
        plain(
            "item neighbours",
            Baseline::ItemKnn { neighbours: 100 }.into(),
            false,
        ),
        plain("most popular", Baseline::Popularity.into(), false),
    ];
    Ok((list, describe(lab, best, weight)))
}

/// The settings in words.
fn describe(lab: &Lab<'_>, best: Chosen, weight: f32) -> String {
    let (factors, sweeps) = (lab.size.factors(), lab.size.curve_sweeps());
    format!(
        "K = {factors}, {sweeps} sweeps, λ = 0.01. Weights chosen on validation rows: c0 = {}, α = {} for \
         eALS; RCD, WALS and IALS1 have the same mean weight, {} a missing entry. BPR and SGD take a \
         step of 0.05, which was not tuned, and such few passes are not their best.",
        best.c0,
        best.alpha,
        significant(f64::from(weight), 2)
    )
}

pub(super) fn blocks(lab: &Lab<'_>, set: &Set) -> Result<Vec<Block>> {
    let (methods, text) = methods(lab, set)?;
    let mut grid = Grid::new(
        format!("{} at the end of training, test rows", set.name),
        ["method", METRICS[0], METRICS[1], "seconds of training"],
    );
    let (mut curves, mut ends) = (Vec::new(), Vec::new());
    for method in &methods {
        let began = Instant::now();
        let (model, moments) = if method.drawn {
            lab.followed(&set.train, &set.test, &method.setting)?
        } else {
            (lab.train(&set.train, &method.setting)?, Vec::new())
        };
        // Measuring the curves between sweeps does not count as training.
        let whole = began.elapsed().as_secs_f64();
        let seconds = moments.last().map_or(whole, |moment| moment.seconds);
        let found = measured(&model.scorer(), &set.train, &set.test, true)?;
        grid.row([
            method.name.to_owned(),
            mean_text(&found, METRICS[0]),
            mean_text(&found, METRICS[1]),
            significant(seconds, 3),
        ]);
        if method.drawn {
            curves.push((method.name, moments));
        }
        ends.push((method.name, found));
    }
    let mut blocks = vec![
        Block::text(text),
        Block::text(II_SVD),
        Block::Small(charts(set, &curves)),
        Block::Table(grid),
    ];
    if let [(_, eals), others @ ..] = &ends[..] {
        for (name, other) in others
            .iter()
            .filter(|(name, _)| ["RCD", "WALS"].contains(name))
        {
            blocks.push(Block::text(statement(
                &format!("eALS against {name}"),
                eals,
                other,
            )?));
            blocks.extend(findings(&format!("eALS over {name}"), set, eals, other)?);
        }
    }
    Ok(blocks)
}

fn charts(set: &Set, curves: &[(&'static str, Vec<Moment>)]) -> Vec<Lines> {
    let mut charts = Vec::new();
    for (at, metric) in METRICS.into_iter().enumerate() {
        let title = format!("{}: {metric}", set.name);
        let mut by_sweep = Lines::new(
            format!("{title} per iteration"),
            (AxisScale::Whole, "iteration"),
            (AxisScale::Linear, metric),
        );
        let mut by_time = Lines::new(
            format!("{title} against time"),
            (AxisScale::Log, "seconds of training"),
            (AxisScale::Linear, metric),
        );
        for (name, moments) in curves {
            let values = moments.iter().enumerate();
            by_sweep = by_sweep.series(
                *name,
                values
                    .map(|(n, m)| ((n + 1) as f64, m.metrics[at]))
                    .collect(),
            );
            by_time = by_time.series(
                *name,
                moments.iter().map(|m| (m.seconds, m.metrics[at])).collect(),
            );
        }
        charts.extend([by_sweep, by_time]);
    }
    charts
}

/// What the paper found.
pub(super) fn introduction(lab: &Lab<'_>) -> Vec<Block> {
    vec![Block::text(format!(
        "The paper shows eALS best upon convergence on both of its sets (p < 0.01), RCD slower to \
         converge, and WALS above RCD. Its three methods are drawn here with the other baselines of \
         this program. Curves are measured after every iteration on the test rows of at most {} \
         users, tables on all of them.",
        count(lab.size.curve_users() as u64)
    ))]
}
