//! Side information: what is known of articles beside who saved them, for known articles and for new ones.
//!
//! How strong it is, and the penalty, are chosen on rows held out of the training rows in the way that the test
//! rows were held out of all.

mod articles;
mod cmfrec;

use std::path::{Path, PathBuf};
use std::time::Instant;

use absentia::data::{Pick, Split};
use absentia::error::Axis;
use absentia::evaluate::{
    Candidates, EvaluateOptions, Evaluation, History, Metric, TestSet, evaluate,
};
use absentia::{Interactions, Model};
use absentia_io::limits::memory_held;
use absentia_job::while_held;
use absentia_report::format::{p_value, signed};
use anyhow::Result;

use super::lab::{Difference, Lab, mean_text};
use super::part::{Block, Grid};
use articles::Articles;
use cmfrec::Peer;

/// Tags of fewer articles say little, and take a row each.
const LEAST: u32 = 5;
/// Weight on missing entries, of the articles as of their tags.
const MISSING: f32 = 0.01;
/// What is tried on held-out rows.
const PENALTIES: [f32; 3] = [0.002, 0.005, 0.01];
const SEED: u64 = 1;

/// The folder of the set, if it is there.
pub(super) fn folder(lab: &Lab<'_>) -> Option<PathBuf> {
    let folder = lab.data.join("citeulike-a");
    folder.join("item_tags.tsv.gz").is_file().then_some(folder)
}

/// What is held out.
struct Case {
    name: &'static str,
    split: Split,
    metric: &'static str,
    /// Whether held-out items are ranked among those without a training row.
    among_new: bool,
}

const CASES: [Case; 3] = [
    Case {
        name: "known articles among all",
        split: Split::Share {
            test: 0.2,
            pick: Pick::Random,
        },
        metric: "recall@20",
        among_new: false,
    },
    Case {
        name: "new articles among all",
        split: NEW,
        metric: "recall@20",
        among_new: false,
    },
    Case {
        name: "new articles among themselves",
        split: NEW,
        metric: "recall@100",
        among_new: true,
    },
];

const NEW: Split = Split::Cold {
    axis: Axis::Item,
    test: 0.2,
    valid: 0.0,
};

impl Case {
    /// Whether held-out articles have no training row.
    fn is_cold(&self) -> bool {
        matches!(self.split, Split::Cold { .. })
    }

    fn evaluated(
        &self,
        model: &Model,
        train: &Interactions<'_>,
        test: &TestSet,
    ) -> Result<Evaluation> {
        let counts = train.item_counts();
        let new = (0..counts.len() as u32).filter(|&item| counts[item as usize] == 0);
        let options = EvaluateOptions {
            cutoffs: vec![20, 100],
            metrics: vec![Metric::Recall],
            candidates: if self.among_new {
                Candidates::Only(new.collect())
            } else {
                Candidates::All
            },
            ..EvaluateOptions::default()
        };
        let history = History::of(train);
        Ok(evaluate(
            &model.scorer(),
            &history,
            test,
            &options,
            &|_, _| {},
        )?)
    }
}

/// Known and new articles, with and without what is known of them, and `cmfrec` beside them.
pub(super) fn blocks(lab: &Lab<'_>, folder: &Path) -> Result<Vec<Block>> {
    let held = || memory_held().unwrap_or(0);
    let before = held();
    let articles = Articles::read(folder, lab)?;
    // Tables of texts, whose size is known once they are read.
    let read = held().saturating_sub(before);
    while_held(lab.memory, read, || compared(lab, folder, &articles))
}

fn compared(lab: &Lab<'_>, folder: &Path, articles: &Articles) -> Result<Vec<Block>> {
    let mut grid = Grid::new(
        "CiteULike: articles with and without what is known of them, 95 % intervals",
        [
            "measured",
            "with",
            "strength",
            "λ",
            "without",
            "with it",
            "difference",
            "interval",
            "p",
        ],
    );
    let mut peer = Peer::new(folder, lab);
    for case in &CASES {
        let fold = Articles::fold(&articles.log, &case.split)?;
        let plain = articles.chosen(lab, &fold, case, None)?;
        let without = articles.measured(lab, &fold, case, (None, plain.1))?;
        for known in &articles.known {
            let start = Instant::now();
            let (strength, lambda) = articles.chosen(lab, &fold, case, Some(known))?;
            peer.grant(case, known.name, start.elapsed());
            let related = Some(known).zip(strength);
            let with = articles.measured(lab, &fold, case, (related, lambda))?;
            let difference = Difference::of(&with, &without, case.metric)?;
            let interval = &difference.interval;
            grid.row([
                format!("{}, {}", case.name, case.metric),
                known.name.to_owned(),
                strength.map_or_else(String::new, |x| x.to_string()),
                format!("{} and {lambda}", plain.1),
                mean_text(&without, case.metric),
                mean_text(&with, case.metric),
                signed(difference.test.difference),
                format!("{} to {}", signed(interval.low), signed(interval.high)),
                p_value(difference.test.p),
            ]);
        }
    }
    let text = format!(
        "Tags of {LEAST} articles or more are further rows of the matrix, the words of their names columns beside the \
         articles, vectors (a singular value decomposition of articles × tags) rows whose entries are all observed \
         (docs/relations.md). A fifth of every user's rows is held out, or all rows of a fifth of the articles, which then \
         are new: the model knows them by these alone, or not at all. Strength (tags and words: 0.1, 0.3, 1; vectors: 3, 10, \
         30) and λ ({}), with and without them, are those that do best on rows held out of the training rows alike; every \
         missing entry weighs {MISSING}, λ_u = λ m_u. `cargo xtask accuracy relations` searches more settings.",
        PENALTIES.map(|x| x.to_string()).join(", "),
    );
    let mut blocks = vec![Block::Table(grid), Block::text(text)];
    blocks.extend(peer.blocks(articles)?);
    Ok(blocks)
}
