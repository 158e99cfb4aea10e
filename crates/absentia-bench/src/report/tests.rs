use super::{charts, markdown};
use crate::contender::{Contender, contender, eals, fast_peers, subspace};
use crate::data::Matrix;
use crate::iterations::{Case, CaseRow};
use crate::quality::{Curve, Quality};
use crate::ranking::Ranking;
use crate::results::Results;
use crate::weights::Weights;
use absentia_lab::fits::Line;

fn row(contender: Contender, seconds: f64) -> CaseRow {
    CaseRow {
        contender,
        seconds,
        all: vec![seconds, 2.0 * seconds],
        bytes: 3 << 20,
        version: "1.2".to_owned(),
    }
}

fn case(factors: usize, rows: Vec<CaseRow>) -> Case {
    Case {
        shape: "yelp".to_owned(),
        matrix: Matrix {
            folder: "nowhere".into(),
            users: 10,
            items: 20,
            entries: 30,
        },
        factors,
        rows,
    }
}

fn results() -> Results {
    let [implicit, irspack, _] = fast_peers();
    let slow = [
        row(contender("buffalo", "eals", 0), 4.0),
        row(subspace(16), 0.2),
    ];
    let block = row(contender("irspack", "ialspp", 16), 1.0);
    let both = vec![
        row(eals(), 0.1),
        row(implicit.clone(), 0.4),
        row(irspack, 0.3),
    ];
    Results {
        missing: vec!["cmfrec".to_owned()],
        cases: vec![
            case(32, vec![row(eals(), 0.05), row(implicit, 0.25)]),
            case(64, both.into_iter().chain(slow).chain([block]).collect()),
        ],
        ..Results::default()
    }
}

#[test]
fn the_table_compares_with_the_fastest_peer_of_each_case() {
    let text = markdown::document(&results());
    for line in [
        "| absentia eals | 0.050 | 0.100 |",
        "| irspack cg | - | 0.300 |",
        "| fastest peer / absentia eals | **5.0x** | **3.0x** |",
        "| buffalo eals / absentia eals | - | **40.0x** |",
        "| irspack ialspp 16 / absentia subspace 16 | - | **5.0x** |",
        "| implicit cg | 3 | 3 |",
    ] {
        assert!(text.contains(line), "{line} is not in\n{text}");
    }
    assert!(text.contains("Not measured, since not installed: cmfrec."));
    assert!(text.contains("yelp shape (10 x 20, 30 entries)"));
}

#[test]
fn the_page_has_a_chart_for_every_case_and_a_bar_for_every_row() {
    let page = charts::page(&results()).unwrap();
    assert_eq!(page.matches("<figure>").count(), 2);
    assert_eq!(page.matches("mark bar").count(), 8);
    assert!(page.contains("buffalo eals"));
    assert_eq!(charts::page(&Results::default()), None);
}

#[test]
fn curves_are_drawn_and_listed() {
    let curve = Curve {
        contender: eals(),
        name: "eals & <more>".to_owned(),
        factors: 8,
        points: vec![(1, 0.5, 0.10), (2, 1.0, 0.15), (3, 2.0, 0.2)],
        test: None,
    };
    let results = Results {
        quality: Some(Quality {
            best_of_peers: None,
            curves: vec![curve],
        }),
        ..Results::default()
    };
    let page = charts::page(&results).unwrap();
    assert!(page.contains("eals &amp; &lt;more&gt;") && page.contains("seconds 0.5"));
    let text = markdown::document(&results);
    assert!(
        text.contains("| eals & <more> | 0.2000 | 3 | 2.00 | - | - | - |"),
        "{text}"
    );
}

#[test]
fn recommending_is_compared_with_implicit_and_with_the_floor() {
    let ranking = Ranking {
        matrix: results().cases[0].matrix.clone(),
        factors: 128,
        ours: 2.0,
        implicit: Some(5.0),
        agreement: Some(1.0),
        peak: Some(98e9),
        floor: Some(1.6),
    };
    let text = markdown::document(&Results {
        ranking: Some(ranking),
        ..Results::default()
    });
    assert!(
        text.contains("implicit / absentia: **2.5x**; both recommend the same items in 100.00%")
    );
    assert!(text.contains("98 GFMA/s") && text.contains("absentia / that floor: **1.2x**"));
}

#[test]
fn weights_of_any_rank_are_compared_with_the_peak() {
    let weights = Weights {
        shape: "amazon".to_owned(),
        matrix: case(64, Vec::new()).matrix,
        factors: 64,
        ranks: vec![1, 2],
        seconds: vec![0.3, 0.5],
        line: Line {
            start: 0.1,
            slope: 0.2,
            start_error: 0.01,
            slope_error: 0.02,
            explained: 1.0,
            worst: 0.03,
        },
        component: 1e10,
        peak: Some(1e11),
    };
    let text = markdown::document(&Results {
        weights: Some(weights),
        ..Results::default()
    });
    let line = "(0.100 ± 0.010) + (0.2000 ± 0.0200)·Z, at most 3% off; 10.00 GFMA a component are \
                50 GFMA/s, 50% of the 100 GFMA/s of a product";
    assert!(text.contains(line), "{text}");
}
