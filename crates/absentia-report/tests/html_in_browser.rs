//! Opens an example report in a real browser and looks at what became of it.
//!
//! `ABSENTIA_REPORT_OUT` keeps the example at that path, to be looked at.

mod browser;

use absentia_report::format;
use absentia_report::html::{BarChart, Chart, ChartAxis, LineChart, Point, Report, ScatterChart};
use absentia_report::terminal::{Cell, Column, Table};

const SCHEMES: [(&str, f64, f64); 4] = [
    ("uniform:0.01", 0.1712, 0.0021),
    ("popularity:mean=0.1,alpha=0.25", 0.1834, 0.0022),
    ("activity:mean=0.1,alpha=0.5", 0.1768, 0.0021),
    (
        "popularity*activity:mean=0.1,alpha=0.25,beta=0.5",
        0.1851,
        0.0023,
    ),
];

#[test]
fn every_figure_is_drawn() {
    let Some(browser) = browser::find() else {
        absentia_testing::skipped("no Chromium; install it or set ABSENTIA_CHROMIUM");
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let page = folder.path().join("report.html");
    std::fs::write(&page, example().render()).unwrap();
    let document = browser::dump(&browser, &page, folder.path());
    assert!(
        document.contains("data-ready=\"yes\""),
        "the script did not finish"
    );
    assert_figures(&document);
    assert_complete(&document);
}

/// Each figure has a drawing whose shapes have a place, and tooltips that the script took over.
fn assert_figures(document: &str) {
    let figures: Vec<&str> = document.split("<figure>").skip(1).collect();
    assert_eq!(figures.len(), 8);
    let drawings = figures
        .iter()
        .filter(|figure| figure.contains("<svg viewBox"));
    assert_eq!(drawings.clone().count(), 7, "one figure is a listing");
    for figure in drawings {
        let figure = figure.split("</figure>").next().unwrap_or_default();
        assert!(figure.matches(" d=\"M").count() >= 4, "{figure}");
        assert!(figure.matches("data-tip=").count() >= 4, "{figure}");
        for broken in ["NaN", "inf\"", " d=\"\"", "undefined"] {
            assert!(!figure.contains(broken), "{broken} in {figure}");
        }
    }
}

/// Nothing is loaded from elsewhere, and hostile text stays text.
fn assert_complete(document: &str) {
    for outside in ["src=", "href=", "url(", "@import", "<link", "<img"] {
        assert!(!document.contains(outside), "{outside}");
    }
    assert!(document.contains("&lt;script&gt;"));
    assert_eq!(document.matches("<script>").count(), 1);
}

#[test]
fn the_example_is_one_valid_file() {
    let page = example().render();
    if let Some(path) = std::env::var_os("ABSENTIA_REPORT_OUT") {
        std::fs::write(path, &page).unwrap();
    }
    assert_complete(&page);
    for tag in ["figure", "table", "svg", "dl", "g"] {
        let opened =
            page.matches(&format!("<{tag}>")).count() + page.matches(&format!("<{tag} ")).count();
        assert_eq!(opened, page.matches(&format!("</{tag}>")).count(), "{tag}");
    }
}

/// A comparison as `compare --report` would write it, with every kind of part.
fn example() -> Report {
    Report::new("Four ways to weigh what is missing")
        .subtitle("Gowalla, LightGCN split · 29,858 users · 40,981 items · 810,128 interactions · <script>alert(1)</script>")
        .highlights([
            ("best recall@20", "0.1851"),
            ("against uniform", "+8.1 %"),
            ("significance", "p < 1e-4"),
            ("training time", "1m 23s"),
        ])
        .paragraph("Every scheme was trained with `eals` on the same split, from the same seed, and scored on all items. Intervals cover 95 % of the bootstrap; differences are paired by user.")
        .section("Results")
        .table("Ranking quality on the test part", &results())
        .chart(bars())
        .chart(trade_off())
        .section("Training")
        .chart(objective())
        .small_multiples([
            Chart::from(validation("recall@20", 0.19)),
            Chart::from(validation("ndcg@20", 0.155)),
            Chart::from(tail()),
            Chart::from(BarChart::new("seconds per sweep").bar("uniform", 0.81).bar("popularity", 0.84).bar("activity", 0.83).bar("both", 0.92)),
        ])
        .section("Configuration")
        .key_values([
            ("factors", "64"),
            ("regularization", "0.01"),
            ("solver", "eals"),
            ("sweeps", "50"),
            ("seed", "42"),
            ("threads", "8"),
            ("model", "runs/2026-08-01/popularity.safetensors"),
            ("peak memory", "1.24 GiB"),
        ])
        .code("run.toml", "[train]\nweights = \"popularity:mean=0.1,alpha=0.25\"\nfactors = 64\nregularization = 0.01\n")
}

fn results() -> Table {
    let mut table = Table::new([
        Column::left("weights"),
        Column::right("recall@20").highest_is_best(),
        Column::right("ndcg@20").highest_is_best(),
        Column::right("coverage").highest_is_best(),
        Column::right("time").lowest_is_best(),
        Column::left("against first"),
    ]);
    for (n, (name, recall, half)) in SCHEMES.into_iter().enumerate() {
        let p = [f64::NAN, 1e-9, 0.013, 1e-12][n];
        table.row([
            Cell::text(name),
            Cell::mean(recall, half),
            Cell::mean(recall * 0.81, half * 0.9),
            Cell::number(recall, format::percent(0.1 + n as f64 * 0.04)),
            Cell::number(n as f64, format!("{:.1}s", 40.2 + n as f64 * 3.4)),
            Cell::text(if n == 0 {
                "–".to_owned()
            } else {
                format::p_value(p)
            }),
        ]);
    }
    table
}

fn bars() -> BarChart {
    let chart = BarChart::new("recall@20 with 95 % confidence interval");
    let add = |chart: BarChart, (name, value, half)| chart.interval(name, value, half);
    SCHEMES.into_iter().fold(chart, add)
}

fn trade_off() -> ScatterChart {
    let points = SCHEMES.into_iter().enumerate().map(|(n, (name, y, half))| {
        Point::new(0.1 + n as f64 * 0.04, y)
            .errors(0.004, half)
            .label(name)
    });
    ScatterChart::new(
        "Accuracy against coverage",
        ChartAxis::linear("share of items ever recommended"),
        ChartAxis::linear("recall@20"),
    )
    .series("trained here", points)
    .series(
        "most popular",
        [Point::new(0.001, 0.1416)
            .errors(0.0, 0.002)
            .label("most popular")],
    )
}

fn objective() -> LineChart {
    let chart = LineChart::new(
        "Objective per sweep",
        ChartAxis::whole("sweep"),
        ChartAxis::log("objective"),
    );
    let add = |chart: LineChart, (name, scale, _): (&str, f64, f64)| {
        let values: Vec<f64> = (0..30)
            .map(|s| 4e6 * scale + 8e6 * scale / f64::from(1 + s).powf(1.4))
            .collect();
        chart.curve(name, &values)
    };
    SCHEMES.into_iter().fold(chart, add)
}

fn validation(metric: &str, top: f64) -> LineChart {
    let chart = LineChart::new(
        format!("Validation {metric}"),
        ChartAxis::whole("sweep"),
        ChartAxis::linear(metric),
    );
    let curve = |rate: f64| -> Vec<(f64, f64)> {
        (1..=10)
            .map(|s| {
                (
                    f64::from(s) * 5.0,
                    top * (1.0 - (-f64::from(s) * rate).exp()),
                )
            })
            .collect()
    };
    chart
        .series("uniform", &curve(0.4))
        .series("popularity", &curve(0.6))
}

fn tail() -> LineChart {
    let points: Vec<(f64, f64)> = (0..120)
        .map(|n| 10_f64.powf(f64::from(n) / 26.0))
        .map(|r| (r, 14_000.0 / (r + 3.0) + 1.0))
        .collect();
    LineChart::new(
        "Interactions per item",
        ChartAxis::log("rank of the item"),
        ChartAxis::log("interactions"),
    )
    .series("items", &points)
}
