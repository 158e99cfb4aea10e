//! Tables I and III: seconds per iteration of every whole-data method over K, with its complexity.

use absentia::{Baseline, Interactions, Method, Solver};
use absentia_report::format::{count, significant};
use anyhow::Result;

use super::lab::{II_SVD, Lab, Setting, weights_of};
use super::part::{AxisScale, Block, Grid, Lines};
use super::published;
use crate::fits::power;
use crate::generate::{Generator, GeneratorParams};

/// Weight of missing entries; uniform, so that all methods can honour it.
const WEIGHT: f32 = 0.02;

/// Name, solver, and how an iteration grows with K when K leads.
fn methods() -> [(&'static str, Method, f64); 6] {
    [
        ("eALS", Solver::Eals.into(), 2.0),
        ("RCD", Baseline::Rcd.into(), 2.0),
        ("WALS", Solver::Als.into(), 3.0),
        ("IALS1", Baseline::Ials1.into(), 2.0),
        ("ALS-CG", Solver::AlsCg { steps: 3 }.into(), 2.0),
        ("ii-SVD", Baseline::IiSvd.into(), 2.0),
    ]
}

/// Seconds over K, up to where the next would take too long.
fn over_k(
    lab: &Lab<'_>,
    data: &Interactions<'_>,
    solver: Method,
    growth: f64,
) -> Result<Vec<(usize, f64)>> {
    let mut points: Vec<(usize, f64)> = Vec::new();
    for &k in lab.size.timed_factors() {
        if k > data.n_users().min(data.n_items()) / 2 {
            break;
        }
        if let Some(&(before, taken)) = points.last() {
            let expected = taken * (k as f64 / before as f64).powf(growth);
            // eALS is to be seen at every K; the others end where they take too long.
            if solver != Method::Solver(Solver::Eals) && expected > lab.size.patience() {
                break;
            }
        }
        let setting = Setting {
            scheme: weights_of(solver, WEIGHT),
            params: lab.params(k, 1).threads(1).solver(solver),
        };
        points.push((k, lab.timed(data, &setting)?));
    }
    Ok(points)
}

pub(super) fn blocks(lab: &Lab<'_>, name: &str, shape: &GeneratorParams) -> Result<Vec<Block>> {
    let data = Generator::new(shape.clone())?.interactions()?;
    let mut found = Vec::new();
    for (name, solver, growth) in methods() {
        found.push((name, over_k(lab, &data, solver, growth)?));
    }
    let mut columns = vec!["K".to_owned()];
    columns.extend(found.iter().map(|(name, _)| (*name).to_owned()));
    columns.push("WALS over eALS".to_owned());
    columns.push("paper, Yelp: eALS / RCD / WALS".to_owned());
    columns.push("paper, Amazon".to_owned());
    let mut grid = Grid::new(
        format!(
            "Seconds an iteration on {name}: {} × {}, {} entries, uniform weights, one thread",
            count(shape.users as u64),
            count(shape.items as u64),
            count(shape.entries)
        ),
        columns,
    );
    for &k in lab.size.timed_factors() {
        grid.row(row_of(k, &found));
    }
    let mut chart = Lines::new(
        format!("Seconds an iteration, {name}"),
        (AxisScale::Log, "K"),
        (AxisScale::Log, "seconds"),
    );
    for (name, points) in &found {
        let points = points.iter().map(|&(k, y)| (k as f64, y)).collect();
        chart = chart.series(*name, points);
    }
    Ok(vec![
        Block::Table(grid),
        Block::Lines(chart),
        Block::Table(scaling(&found)),
        Block::text(format!(
            "A dash is where an iteration would have taken more than {} s by its growth so far, or \
             where K is more than half the smaller side. ii-SVD is no iteration but the whole \
             decomposition: its cost is that of finding the singular vectors, and it never forms the \
             M × N matrix that the stated MN log K stands for. {II_SVD} RCD is sequential by nature; one \
             thread for all makes the columns comparable.",
            lab.size.patience()
        )),
        Block::text(against_the_paper(&found)),
    ])
}

/// Where our seconds differ from the paper's, and why.
fn against_the_paper(found: &[(&'static str, Vec<(usize, f64)>)]) -> String {
    let of = |wanted: &str| found.iter().find(|(name, _)| *name == wanted);
    let (mut low, mut high) = (f64::INFINITY, 0.0_f64);
    if let Some(((_, eals), (_, rcd))) = of("eALS").zip(of("RCD")) {
        for ((_, eals), (_, rcd)) in eals.iter().zip(rcd) {
            low = low.min(rcd / eals);
            high = high.max(rcd / eals);
        }
    }
    format!(
        "The paper's seconds are of another program on another machine (an Intel Xeon of 2.67 GHz), so \
         ratios say more than seconds. There eALS and RCD take about as long; here RCD takes {low:.1} to \
         {high:.1} times as long as eALS, whose sums over sixteen factors of many rows are matrix \
         products, which gradient steps on one random row after the other cannot be."
    )
}

fn row_of(k: usize, found: &[(&'static str, Vec<(usize, f64)>)]) -> Vec<String> {
    let at = |name: &str| {
        let (_, points) = found.iter().find(|(other, _)| *other == name)?;
        points
            .iter()
            .find(|(other, _)| *other == k)
            .map(|(_, y)| *y)
    };
    let mut row = vec![k.to_string()];
    for (name, _) in found {
        row.push(at(name).map_or_else(|| "–".to_owned(), |y| significant(y, 3)));
    }
    let ratio = at("WALS").zip(at("eALS")).map(|(wals, eals)| wals / eals);
    row.push(ratio.map_or_else(|| "–".to_owned(), |ratio| format!("{ratio:.1}")));
    let stated = published::TABLE_THREE
        .iter()
        .find(|(other, _, _)| *other == k);
    let three = |times: &[f64; 3]| times.map(|y| significant(y, 3)).join(" / ");
    row.push(stated.map_or_else(|| "–".to_owned(), |(_, yelp, _)| three(yelp)));
    row.push(stated.map_or_else(|| "–".to_owned(), |(_, _, amazon)| three(amazon)));
    row
}

/// Table I with measured exponents of K.
fn scaling(found: &[(&'static str, Vec<(usize, f64)>)]) -> Grid {
    let mut grid = Grid::new(
        "Table I: stated complexity of an iteration, and the measured power of K",
        [
            "method",
            "stated (paper)",
            "measured power of K",
            "K measured",
            "in this program",
        ],
    );
    let ours = [
        ("eALS", "(M+N)K²Z + |R|(16K + Z)"),
        ("WALS", "(M+N)K³/6 + |R|K²/2"),
        ("IALS1", "K³ + (M+N)K² + |R|K"),
        ("RCD", "(M+N)K² + |R|K"),
        ("ii-SVD", "(|R|K + (M+N)K²) a product"),
        ("ALS-CG", "s((M+N)K²Z + |R|K), s steps"),
    ];
    for (name, points) in found {
        let stated = published::TABLE_ONE.iter().find(|(other, _)| other == name);
        let floats: Vec<(f64, f64)> = points.iter().map(|&(k, y)| (k as f64, y)).collect();
        let own = ours.iter().find(|(other, _)| other == name);
        grid.row([
            (*name).to_owned(),
            stated.map_or_else(|| "–".to_owned(), |(_, text)| (*text).to_owned()),
            power(&floats).map_or_else(
                || "–".to_owned(),
                |fit| format!("{:.2} ± {:.2}", fit.slope, fit.slope_error),
            ),
            points
                .iter()
                .map(|(k, _)| k.to_string())
                .collect::<Vec<_>>()
                .join(", "),
            own.map_or_else(String::new, |(_, text)| (*text).to_owned()),
        ]);
    }
    grid
}
