//! The reproduction of the paper at its smallest, and its report in a real browser.
#![allow(missing_docs, clippy::print_stdout)]

#[path = "../../absentia-report/tests/browser/mod.rs"]
mod browser;
mod support;

use std::fmt::Write as _;

use support::Sandbox;

const SECTIONS: [&str; 10] = [
    "Data sets",
    "Table II",
    "Figure 2",
    "Figure 3",
    "Tables I and III",
    "Figure 4",
    "Figure 5",
    "Online learning",
    "Beyond the paper",
    "Slips of the paper",
];

/// Charts of a run on generated data: 6 small in Figure 2; 2 and 1 in Figure 3; 1 in Table III; 2 small and 1 of
/// bars in Figure 4; 4 small in Figure 5; 4 small of online learning; 1 of bars and 1 of rank beyond.
const CHARTS: usize = 6 + 3 + 1 + 3 + 4 + 4 + 2;

#[test]
fn everything_is_made_kept_and_drawn() {
    let sandbox = Sandbox::new();
    let all = "reproduce all --size tiny --data nowhere --out out/report.html --threads 2";
    let first = sandbox.run(all).ok();
    assert!(first.stderr.contains("left)"), "{}", first.stderr);
    let page = sandbox.read("out/report.html");
    assert_whole(&page);
    take_up_again(&sandbox, all, &page);
    look(&sandbox);
}

#[test]
fn a_quick_run_on_generated_data_is_drawn() {
    let sandbox = Sandbox::new();
    sandbox
        .run("reproduce --quick all --data nowhere --out out/report.html --threads 2")
        .ok();
    assert_whole(&sandbox.read("out/report.html"));
    look(&sandbox);
}

/// Every section, every figure, every statement, and nothing that is loaded from elsewhere.
fn assert_whole(page: &str) {
    for section in SECTIONS {
        assert!(page.contains(&format!("<h2>{section}")), "{section}");
    }
    assert_eq!(page.matches("<svg viewBox").count(), CHARTS);
    for broken in ["NaN", "no values", "src=", "href=", "url(", "@import"] {
        assert!(!page.contains(broken), "{broken}");
    }
    assert_statements(page);
}

/// Gains are stated with a p-value and an interval, and the paper's figures stand beside ours.
fn assert_statements(page: &str) {
    // Names may be broken after a comma.
    let page = page.replace("<wbr>", "");
    for text in [
        "95 % interval",
        "against uniform weights of the same c0",
        "exposed entries with weight",
        "paper, Yelp: SVD",
        "0.1816",
        "0.000849",
        "R² =",
        "<h2>In short",
        "eALS over SVD, unweighted",
        "over uniform ones",
        "paper: Amazon",
        "99.94 %",
        "test rows of the Gowalla sample",
        "times as long as eALS",
        "most popular recently",
        "1 step and refits",
        "10 and more",
    ] {
        assert!(page.contains(text), "{text}");
    }
}

/// A second run makes nothing again; a part that is lost is made again, alone.
fn take_up_again(sandbox: &Sandbox, all: &str, page: &str) {
    let again = sandbox.run(all).ok();
    assert!(!again.stderr.contains("[1/"), "{}", again.stderr);
    assert_eq!(sandbox.read("out/report.html"), page);
    let part = sandbox.path("out/report.parts/figure-2-generated-data.json");
    std::fs::remove_file(&part).expect("it was kept");
    let third = sandbox.run(all).ok();
    assert!(third.stderr.contains("[1/1] Figure 2"), "{}", third.stderr);
    assert!(part.exists());
    // Other settings do not take this run's parts for their own.
    let other = sandbox
        .run("reproduce slips --size tiny --data elsewhere --out out/report.html")
        .ok();
    assert!(other.stderr.contains("[1/1] Slips"), "{}", other.stderr);
    sandbox.run(all).ok();
}

fn look(sandbox: &Sandbox) {
    let Some(found) = browser::find() else {
        absentia_testing::skipped("no Chromium; install it or set ABSENTIA_CHROMIUM");
        return;
    };
    let document = browser::dump(&found, &sandbox.path("out/report.html"), sandbox.folder());
    assert!(
        document.contains("data-ready=\"yes\""),
        "the script did not finish"
    );
    let figures: Vec<&str> = document.split("<figure>").skip(1).collect();
    let drawn = figures
        .iter()
        .filter(|figure| figure.contains("<svg viewBox"));
    assert_eq!(drawn.clone().count(), CHARTS);
    for figure in drawn {
        let figure = figure.split("</figure>").next().unwrap_or_default();
        assert!(figure.matches(" d=\"M").count() >= 3, "{figure}");
        assert!(figure.matches("data-tip=").count() >= 2, "{figure}");
    }
}

/// A file in the form of the paper's: user, item, rating, time.
fn rating_file() -> String {
    let mut ratings = String::new();
    for user in 0..120_u32 {
        for at in 0..14 {
            let item = (user * 7 + at * at * 3 + at) % 90;
            let time = 1_400_000_000 + at * 60;
            let _ = writeln!(ratings, "{user}\t{item}\t{}\t{time}", 1 + at % 5);
        }
    }
    ratings
}

/// The paper's own file is not at hand: one of its form, made here, shows that the comparison works.
#[test]
fn a_rating_file_stands_beside_the_published_figures() {
    let sandbox = Sandbox::new();
    sandbox.write("yelp.rating", &rating_file());
    let of = |file: &str, results: &str| {
        sandbox.run(&format!(
            "reproduce {results} --size tiny --yelp {file} --data nowhere --out y/report.html"
        ))
    };
    of("yelp.rating", "table2 figure4 figure5").ok();
    let page = sandbox.read("y/report.html");
    for text in [
        "16288.56",
        "0.1931",
        "0.0471",
        "0.0705",
        "0.0176",
        "Yelp, K = ",
        "Yelp: gain of α = ",
        "Yelp at the end of training",
    ] {
        assert!(page.contains(text), "{text}");
    }
    of("none.rating", "table2").fails(4, &["none.rating"]);
}

/// Any rating file with times goes through the paper's protocol.
#[test]
fn a_file_of_ones_own_is_split_as_the_paper_does() {
    let sandbox = Sandbox::new();
    let mut table = rating_file();
    // Twelve more users, whose ratings are too few to stay.
    for user in 500..512 {
        let _ = writeln!(table, "{user}\t{}\t4\t1400000000", user % 90);
    }
    let table = table.replace('\t', ",");
    sandbox.write(
        "films.csv",
        &format!("userId,movieId,rating,timestamp\n{table}"),
    );
    let of = |file: &str| {
        sandbox.run(&format!(
            "reproduce data figure4 --size tiny --ratings {file} --data nowhere --out r/report.html"
        ))
    };
    of("films.csv").ok();
    let page = sandbox.read("r/report.html");
    for text in [
        "films: gain of α = ",
        "against uniform weights of the same c0",
        "latest held out",
    ] {
        assert!(page.contains(text), "{text}");
    }
    let section = page.split("<h2>Data sets").nth(1).unwrap_or_default();
    let row = section.split(">films</td>").nth(1).unwrap_or_default();
    let row = row.split("</tr>").next().unwrap_or_default();
    assert!(row.contains(">120<") && row.contains(">90<"), "{row}");
    sandbox.write("short.csv", "user,item,rating\n1,2,3\n");
    of("short.csv").fails(3, &["short.csv", "times"]);
}
