//! Figure 3: seconds an iteration over K, Z and |R|, the vanilla algorithm, and threads.

use absentia::Dense;
use absentia::weights::Scheme;
use absentia::{Interactions, Solver};
use absentia_report::format::{count, significant};
use anyhow::Result;

use super::lab::{Lab, Setting};
use super::part::{AxisScale, Block, Grid, Lines};
use crate::fits::{Line, line, power};
use crate::generate::{Generator, GeneratorParams};

/// Positive weights of rank `z`.
fn low_rank(data: &Interactions<'_>, z: usize) -> Scheme {
    let part = |rows: usize, step: usize| {
        Dense::from_fn(rows, z, |row, col| {
            0.05 + ((row * step + col * 31) % 17) as f32 / 40.0 / z as f32
        })
    };
    Scheme::low_rank(part(data.n_users(), 7), part(data.n_items(), 11))
}

fn seconds(
    lab: &Lab<'_>,
    data: &Interactions<'_>,
    k: usize,
    z: usize,
    threads: usize,
) -> Result<f64> {
    let setting = Setting {
        scheme: low_rank(data, z),
        params: lab.params(k, 1).threads(threads),
    };
    lab.timed(data, &setting)
}

fn fit_text(what: &str, found: Option<Line>, text: impl Fn(&Line) -> String) -> String {
    found.map_or_else(
        || format!("{what}: too few points."),
        |found| format!("{what}: {}; R² = {:.4}.", text(&found), found.explained),
    )
}

pub(super) fn blocks(lab: &Lab<'_>, name: &str, shape: &GeneratorParams) -> Result<Vec<Block>> {
    let data = Generator::new(shape.clone())?.interactions()?;
    let (ks, zs) = lab.size.grid_kz();
    let mut chart = Lines::new(
        format!("Seconds an iteration of fast eALS, {name}, one thread"),
        (AxisScale::Whole, "K"),
        (AxisScale::Linear, "seconds"),
    );
    let mut headings = vec!["Z".to_owned()];
    headings.extend(ks.iter().map(|k| format!("K = {k}")));
    let mut grid = Grid::new(
        format!("Seconds an iteration, {name}, one thread"),
        headings,
    );
    let (mut over_z, mut over_k) = (Vec::new(), Vec::new());
    for &z in zs {
        let mut points = Vec::new();
        for &k in ks {
            points.push((k as f64, seconds(lab, &data, k, z, 1)?));
        }
        let mut row = vec![z.to_string()];
        row.extend(points.iter().map(|(_, y)| significant(*y, 3)));
        grid.row(row);
        over_z.extend(points.last().map(|(_, y)| (z as f64, *y)));
        over_k.clone_from(&points);
        chart = chart.series(format!("Z = {z}"), points);
    }
    let (k, z) = (ks[ks.len() - 1], zs[zs.len() - 1]);
    let mut blocks = vec![
        Block::Lines(chart),
        Block::Table(grid),
        Block::text(fit_text(
            &format!("Seconds against Z at K = {k}, affine"),
            line(&over_z),
            |fit| {
                format!(
                    "{} + {} Z, the slope to ± {}, no point further off than {:.0} %",
                    significant(fit.start, 3),
                    significant(fit.slope, 3),
                    significant(fit.slope_error, 2),
                    100.0 * fit.worst
                )
            },
        )),
        Block::text(fit_text(
            &format!("Seconds against K at Z = {z}, as a power of K"),
            power(&over_k),
            |fit| {
                format!(
                    "K^{:.2} (± {:.2}), where |R|K alone would give 1 and (M+N)K² alone 2",
                    fit.slope, fit.slope_error
                )
            },
        )),
    ];
    blocks.extend(over_entries(lab, &data, shape, k)?);
    blocks.extend(over_threads(lab, &data, k)?);
    Ok(blocks)
}

/// Seconds against |R|, users and items fixed.
fn over_entries(
    lab: &Lab<'_>,
    whole: &Interactions<'_>,
    shape: &GeneratorParams,
    k: usize,
) -> Result<Vec<Block>> {
    let mut points = Vec::new();
    for share in [1, 2, 3] {
        let entries = shape.entries * share / 4;
        let data = Generator::new(GeneratorParams::new(shape.users, shape.items, entries))?
            .interactions()?;
        points.push((data.len() as f64, seconds(lab, &data, k, 1, 1)?));
    }
    points.push((whole.len() as f64, seconds(lab, whole, k, 1, 1)?));
    let text = fit_text(
        &format!("Seconds against |R| at K = {k}, Z = 1, affine"),
        line(&points),
        |fit| {
            format!(
                "{} + {} per million entries (± {}), no point further off than {:.0} %",
                significant(fit.start, 3),
                significant(1e6 * fit.slope, 3),
                significant(1e6 * fit.slope_error, 2),
                100.0 * fit.worst
            )
        },
    );
    let chart = Lines::new(
        format!("Seconds an iteration against |R|, K = {k}, Z = 1"),
        (AxisScale::Linear, "observed entries"),
        (AxisScale::Linear, "seconds"),
    );
    Ok(vec![
        Block::Lines(chart.series("fast eALS", points)),
        Block::text(text),
    ])
}

fn over_threads(lab: &Lab<'_>, data: &Interactions<'_>, k: usize) -> Result<Vec<Block>> {
    let mut counts = vec![1];
    while let Some(next) = counts
        .last()
        .map(|n| n * 2)
        .filter(|n| *n <= lab.n_threads())
    {
        counts.push(next);
    }
    let mut grid = Grid::new(
        format!("Speed-up over threads, K = {k}, Z = 1"),
        ["threads", "seconds an iteration", "speed-up"],
    );
    let mut alone = 0.0;
    for threads in counts {
        let taken = seconds(lab, data, k, 1, threads)?;
        if threads == 1 {
            alone = taken;
        }
        grid.row([
            threads.to_string(),
            significant(taken, 3),
            format!("{:.2}", alone / taken),
        ]);
    }
    Ok(vec![Block::Table(grid)])
}

/// The vanilla algorithm on a size where it finishes.
pub(super) fn vanilla(lab: &Lab<'_>) -> Result<Vec<Block>> {
    let shape = lab.size.vanilla_shape();
    let data = Generator::new(shape.clone())?.interactions()?;
    let mut grid = Grid::new(
        format!(
            "Seconds an iteration on {} × {} with {} entries, Z = 1, one thread",
            count(shape.users as u64),
            count(shape.items as u64),
            count(shape.entries)
        ),
        ["K", "vanilla", "fast", "times faster", "MN/|R|"],
    );
    let mut series = [Vec::new(), Vec::new()];
    for k in [1, 4, 16, 32] {
        let run = |solver: Solver| {
            let setting = Setting {
                scheme: low_rank(&data, 1),
                params: lab.params(k, 1).threads(1).solver(solver),
            };
            lab.timed(&data, &setting)
        };
        let (vanilla, fast) = (run(Solver::EalsVanilla)?, run(Solver::Eals)?);
        series[0].push((k as f64, vanilla));
        series[1].push((k as f64, fast));
        let ratio = (shape.users * shape.items) as f64 / shape.entries as f64;
        grid.row([
            k.to_string(),
            significant(vanilla, 3),
            significant(fast, 3),
            format!("{:.0}", vanilla / fast),
            format!("{ratio:.0}"),
        ]);
    }
    let [vanilla, fast] = series;
    let chart = Lines::new(
        "Seconds an iteration, vanilla against fast",
        (AxisScale::Whole, "K"),
        (AxisScale::Log, "seconds"),
    );
    Ok(vec![
        Block::text(
            "The paper reports 98 s for the vanilla algorithm against 0.8 s for the fast one with \
             Z = 64 (Yelp, K = 1), and 42,000 s against 300 s (Amazon, K = 64, Z = 64), more than a \
             hundred times faster. The ratio grows with MN/|R|.",
        ),
        Block::Table(grid),
        Block::Lines(chart.series("vanilla", vanilla).series("fast", fast)),
    ])
}
