//! The reproduction of the paper at its smallest, and its report in a real browser.
#![allow(missing_docs, clippy::print_stdout)]

mod browser;
mod support;

use std::fmt::Write as _;

use support::Sandbox;

const SECTIONS: [&str; 8] = [
    "Table II",
    "Figure 2",
    "Figure 3",
    "Tables I and III",
    "Figure 4",
    "Figure 5",
    "Beyond the paper",
    "Slips of the paper",
];

/// Charts of a tiny run: 6 small in Figure 2; 2 and 1 in Figure 3; 1 in Table III; 2 small and 1 of
/// bars in Figure 4; 4 small in Figure 5; 1 of bars and 1 of rank beyond.
const CHARTS: usize = 6 + 3 + 1 + 3 + 4 + 2;

#[test]
fn everything_is_made_kept_and_drawn() {
    let sandbox = Sandbox::new();
    let all = "reproduce all --size tiny --data nowhere --out out/report.html --threads 2";
    let first = sandbox.run(all).ok();
    assert!(first.stderr.contains("left)"), "{}", first.stderr);
    let page = sandbox.read("out/report.html");
    for section in SECTIONS {
        assert!(page.contains(&format!("<h2>{section}")), "{section}");
    }
    assert_eq!(page.matches("<svg viewBox").count(), CHARTS);
    assert!(!page.contains("NaN") && !page.contains("no values"));
    assert_statements(&page);
    take_up_again(&sandbox, all, &page);
    look(&sandbox);
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
        println!("skipped: no Chromium found; install one or set ABSENTIA_CHROMIUM");
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

/// The paper's own file is not at hand: one of its form, made here, shows that the comparison works.
#[test]
fn a_rating_file_stands_beside_the_published_figures() {
    let sandbox = Sandbox::new();
    let mut ratings = String::new();
    for user in 0..120_u32 {
        for at in 0..14 {
            let item = (user * 7 + at * at * 3 + at) % 90;
            let _ = writeln!(
                ratings,
                "{user}\t{item}\t{}\t{}",
                1 + at % 5,
                1_400_000_000 + at * 60
            );
        }
    }
    sandbox.write("yelp.rating", &ratings);
    sandbox
        .run("reproduce table2 --size tiny --yelp yelp.rating --data nowhere --out y/report.html")
        .ok();
    let page = sandbox.read("y/report.html");
    for text in [
        "16288.56",
        "0.1931",
        "0.0471",
        "0.0705",
        "0.0176",
        "Yelp, K = ",
    ] {
        assert!(page.contains(text), "{text}");
    }
    sandbox
        .run("reproduce table2 --size tiny --yelp none.rating --data nowhere --out y/report.html")
        .fails(4, &["none.rating"]);
}
