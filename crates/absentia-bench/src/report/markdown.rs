//! Tables.

use std::collections::BTreeMap;

use crate::big::BigRow;
use crate::iterations::Case;
use crate::peak;
use crate::quality::{Curve, Quality};
use crate::ranking::Ranking;
use crate::results::Results;
use crate::weights::Weights;

/// Yields all tables, with the machine and the command they come from.
pub(super) fn document(results: &Results) -> String {
    let mut parts = vec![head(results)];
    for cases in results
        .cases
        .chunk_by(|left, right| left.shape == right.shape)
    {
        parts.push(seconds(cases));
        parts.push(memory(cases));
    }
    parts.extend(results.weights.as_ref().map(weights));
    parts.extend(results.ranking.as_ref().map(ranking));
    parts.extend(results.quality.as_ref().map(quality));
    if !results.big.is_empty() {
        parts.push(big(&results.big));
    }
    parts.join("\n\n")
}

fn head(results: &Results) -> String {
    let mut versions = BTreeMap::new();
    for row in results.cases.iter().flat_map(|case| &case.rows) {
        versions.insert(row.contender.package, row.version.as_str());
    }
    let versions: Vec<String> = versions
        .iter()
        .map(|(package, version)| format!("{package} {version}"))
        .collect();
    let mut lines = vec![format!(
        "`{}` on {}; {} threads, best of {} rounds in turns.",
        results.command, results.machine, results.threads, results.rounds
    )];
    if results.load > 0.5 {
        lines.push(format!(
            "The machine was busy (load average {} before the start): compare ratios, not seconds.",
            results.load
        ));
    }
    if !versions.is_empty() {
        lines.push(format!("Versions: {}.", versions.join(", ")));
    }
    if !results.missing.is_empty() && !results.cases.is_empty() {
        lines.push(format!(
            "Not measured, since not installed: {}.",
            results.missing.join(", ")
        ));
    }
    lines.join("\n")
}

fn seconds(cases: &[Case]) -> String {
    let cell = |case: &Case, name: &str| case.seconds(name).map(|s| format!("{s:.3}"));
    let title = format!("Seconds per iteration, {}", shape(&cases[0]));
    let mut rows = by_contender(cases, cell);
    let mut ratio = |label: &str, of: &dyn Fn(&Case) -> Option<f64>| {
        let cells: Vec<Option<f64>> = cases.iter().map(of).collect();
        if cells.iter().any(Option::is_some) {
            let cells = cells
                .into_iter()
                .map(|ratio| shown(ratio, |r| format!("**{r:.1}x**")));
            rows.push([label.to_owned()].into_iter().chain(cells).collect());
        }
    };
    let against =
        |case: &Case, peer: &str, ours: &str| Some(case.seconds(peer)? / case.seconds(ours)?);
    ratio("fastest peer / absentia eals", &|case| {
        Some(case.fastest_peer()? / case.seconds("absentia eals")?)
    });
    ratio("buffalo eals / absentia eals", &|case| {
        against(case, "buffalo eals", "absentia eals")
    });
    ratio("irspack ialspp 16 / absentia subspace 16", &|case| {
        against(case, "irspack ialspp 16", "absentia subspace 16")
    });
    table(&by_factors(&title, cases), &rows)
}

fn memory(cases: &[Case]) -> String {
    let cell = |case: &Case, name: &str| case.row(name).map(|row| mebibytes(row.bytes));
    let title = format!(
        "Peak memory in MiB beyond the idle process, {}",
        shape(&cases[0])
    );
    table(&by_factors(&title, cases), &by_contender(cases, cell))
}

fn shape(case: &Case) -> String {
    let matrix = &case.matrix;
    format!(
        "{} shape ({} x {}, {} entries)",
        case.shape, matrix.users, matrix.items, matrix.entries
    )
}

fn by_factors(title: &str, cases: &[Case]) -> Vec<String> {
    let columns = cases.iter().map(|case| format!("K={}", case.factors));
    [title.to_owned()].into_iter().chain(columns).collect()
}

/// One row per contender of any of the cases.
fn by_contender(cases: &[Case], cell: impl Fn(&Case, &str) -> Option<String>) -> Vec<Vec<String>> {
    let mut names: Vec<&str> = Vec::new();
    for row in cases.iter().flat_map(|case| &case.rows) {
        if !names.contains(&row.contender.name.as_str()) {
            names.push(&row.contender.name);
        }
    }
    names
        .into_iter()
        .map(|name| {
            let cells = cases
                .iter()
                .map(|case| shown(cell(case, name), |text| text));
            [name.to_owned()].into_iter().chain(cells).collect()
        })
        .collect()
}

fn weights(weights: &Weights) -> String {
    let mut header = vec![format!(
        "Seconds per sweep by rank of the weights, {} shape, K={}",
        weights.shape, weights.factors
    )];
    header.extend(weights.ranks.iter().map(|rank| format!("Z={rank}")));
    let mut row = vec!["absentia eals".to_owned()];
    row.extend(
        weights
            .seconds
            .iter()
            .map(|seconds| format!("{seconds:.3}")),
    );
    let line = &weights.line;
    let rate = weights.component / line.slope;
    let of_peak = weights.peak.map(|peak| {
        let (share, named) = (100.0 * rate / peak, peak::named(peak));
        format!(", {share:.0}% of the {named}")
    });
    format!(
        "{}\n\nseconds = ({:.3} ± {:.3}) + ({:.4} ± {:.4})·Z, at most {:.0}% off; \
         {:.2} GFMA a component are {:.0} GFMA/s{}",
        table(&header, &[row]),
        line.start,
        line.start_error,
        line.slope,
        line.slope_error,
        100.0 * line.worst,
        weights.component / 1e9,
        rate / 1e9,
        of_peak.unwrap_or_default()
    )
}

fn ranking(ranking: &Ranking) -> String {
    let header = ["Best 20 unseen items of every user, Gowalla", "seconds"].map(str::to_owned);
    let row = |name: String, seconds: f64| vec![name, format!("{seconds:.3}")];
    let ours = ranking.ours;
    let mut rows = vec![row(
        format!("absentia recommend, K={}", ranking.factors),
        ours,
    )];
    let mut remarks = Vec::new();
    if let (Some(implicit), Some(agreement)) = (ranking.implicit, ranking.agreement) {
        rows.push(row("implicit recommend, same factors".to_owned(), implicit));
        remarks.push(format!(
            "implicit / absentia: **{:.1}x**; both recommend the same items in {:.2}% of places.",
            implicit / ours,
            100.0 * agreement
        ));
    }
    if let (Some(peak), Some(floor)) = (ranking.peak, ranking.floor) {
        let product = format!("all scores at the {}", peak::named(peak));
        rows.push(row(product, floor));
        remarks.push(format!("absentia / that floor: **{:.1}x**.", ours / floor));
    }
    format!("{}\n\n{}", table(&header, &rows), remarks.join("\n"))
}

fn quality(quality: &Quality) -> String {
    let header = [
        "Time to quality, Gowalla, Recall@20",
        "best on validation",
        "iterations",
        "seconds to 99% of it",
        "seconds to 99% of the best peer's",
        "test",
        "seconds of that training",
    ]
    .map(str::to_owned);
    let row = |curve: &Curve| {
        let best = curve.best();
        let second = |seconds: Option<f64>| shown(seconds, |seconds| format!("{seconds:.2}"));
        vec![
            curve.name.clone(),
            format!("{:.4}", best.2),
            best.0.to_string(),
            second(curve.seconds_to_own()),
            second(quality.seconds_to_peers(curve)),
            shown(curve.test, |test| format!("{:.4}", test.0)),
            second(curve.test.map(|test| test.1)),
        ]
    };
    let rows: Vec<Vec<String>> = quality.curves.iter().map(row).collect();
    table(&header, &rows)
}

fn big(rows: &[BigRow]) -> String {
    let header = [
        "Generated data",
        "build s",
        "build ns/entry",
        "sweep s",
        "sweep ns/entry",
        "estimate MiB",
        "peak MiB",
        "estimate / peak",
    ]
    .map(str::to_owned);
    let row = |row: &BigRow| {
        let built = &row.built;
        let per_entry = |seconds: f64| format!("{:.1}", 1e9 * seconds / built.entries as f64);
        vec![
            format!(
                "{} entries, {} x {}, K={}",
                built.entries, built.users, built.items, built.factors
            ),
            format!("{:.2}", built.build_seconds),
            per_entry(built.build_seconds),
            format!("{:.3}", row.sweep_seconds),
            per_entry(row.sweep_seconds),
            mebibytes(built.estimate_bytes),
            mebibytes(row.peak_bytes),
            format!("{:.2}", built.estimate_bytes as f64 / row.peak_bytes as f64),
        ]
    };
    let rows: Vec<Vec<String>> = rows.iter().map(row).collect();
    table(&header, &rows)
}

fn mebibytes(bytes: u64) -> String {
    format!("{:.0}", bytes as f64 / f64::from(1 << 20))
}

fn shown<T>(value: Option<T>, show: impl Fn(T) -> String) -> String {
    value.map_or_else(|| "-".to_owned(), show)
}

fn table(header: &[String], rows: &[Vec<String>]) -> String {
    let line = |cells: &[String]| format!("| {} |", cells.join(" | "));
    let rule = format!("|{}", " --- |".repeat(header.len()));
    let rows = rows.iter().map(|row| line(row));
    let lines: Vec<String> = [line(header), rule].into_iter().chain(rows).collect();
    lines.join("\n")
}
