//! Side information: tags of articles beside who saved them, for known articles and for new ones.
//!
//! How strong the tags are, and the penalty, are chosen on rows held out of the training rows in the way that the test
//! rows were held out of all.

use std::path::{Path, PathBuf};

use absentia::data::{Duplicates, EventLog, Part, Pick, Split};
use absentia::error::Axis;
use absentia::evaluate::{
    Candidates, EvaluateOptions, Evaluation, History, Metric, TestSet, evaluate,
};
use absentia::fit::backend::Cpu;
use absentia::fit::{MemoryPlan, Run, Sizes, fit_related};
use absentia::memory::Stage;
use absentia::ranking::ranking_bytes;
use absentia::relations::Relations;
use absentia::weights::{Scheme, SchemeSpec};
use absentia::{Interactions, Model};
use absentia_io::{NoProgress, ReadOptions, read};
use absentia_job::text::RelationSpec;
use absentia_job::{RelationRows, Rows};
use absentia_report::format::{p_value, signed};
use anyhow::Result;

use super::lab::{Difference, Lab, TOP, mean, mean_text};
use super::part::{Block, Grid};

/// Tags of fewer articles say little, and take a row each.
const LEAST: u32 = 5;
/// Weight on missing entries, of the articles as of their tags.
const MISSING: f32 = 0.01;
/// What is tried on held-out rows.
const STRENGTHS: [f32; 3] = [0.1, 0.3, 1.0];
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

/// Rows with their relation.
struct Articles {
    log: EventLog,
    shape: (usize, usize),
    tags: Relations<'static>,
}

/// Rows to train on, and rows to measure by.
struct Fold {
    log: EventLog,
    train: Interactions<'static>,
    test: TestSet,
}

impl Articles {
    fn read(folder: &Path, lab: &Lab<'_>) -> Result<Self> {
        let rows = [folder.join("interactions.tsv.gz")];
        let mut rows = Rows::new(read(&rows, &ReadOptions::default(), &NoProgress)?)?;
        let file = folder.join("item_tags.tsv.gz").display().to_string();
        let spec = RelationSpec {
            least: LEAST,
            weights: Some(SchemeSpec::uniform(MISSING)),
            ..RelationSpec::new("items", "tags", &file)
        };
        let given = RelationRows::read(&spec, None, lab.memory)?;
        let related = rows.relate(vec![given], lab.memory)?;
        let tags = related.map(|related| related.relations);
        Ok(Self {
            shape: (rows.users.len(), rows.items.len()),
            log: rows.log,
            tags: tags.unwrap_or_else(|| Relations {
                entities: Vec::new(),
                relations: Vec::new(),
                weighs_empty: false,
            }),
        })
    }

    fn fold(&self, log: &EventLog, split: &Split) -> Result<Fold> {
        let parts = log.split(split, SEED)?;
        let train = log.select(|row| parts[row] == Part::Train);
        let test = log.select(|row| parts[row] == Part::Test);
        Ok(Fold {
            train: train.interactions(self.shape.0, self.shape.1, Duplicates::Last)?,
            test: TestSet::from_pairs(test.user(), test.item())?,
            log: train,
        })
    }

    /// Trains, with tags of this strength or without any, and measures.
    fn measured(
        &self,
        lab: &Lab<'_>,
        fold: &Fold,
        case: &Case,
        (strength, lambda): (Option<f32>, f32),
    ) -> Result<Evaluation> {
        let tags = strength.map(|strength| {
            let mut tags = self.tags.clone();
            for relation in &mut tags.relations {
                relation.strength = strength;
            }
            tags
        });
        let (scheme, k) = (Scheme::uniform(MISSING), lab.size.factors());
        let params = lab
            .params(k, lab.size.sweeps().min(10))
            .regularization(lambda)
            .reg_exponent(1.0);
        let sizes = Sizes::of(&fold.train, &scheme, &params, false).stacked(tags.as_ref());
        let plan = MemoryPlan::new(&sizes, &params);
        let ranking = ranking_bytes(self.shape.0, self.shape.1, TOP);
        let stage = Stage::new("training and ranking").with_all(plan.parts);
        lab.memory.enter(stage.with("ranking", ranking))?;
        let params = params.check()?;
        let main = (&fold.train, &scheme);
        let fitted = fit_related(&Cpu, main, tags.as_ref(), &params, Run::default())?;
        case.evaluated(&fitted.model, fold)
    }

    /// The strength and penalty that do best on rows held out of the training rows.
    fn chosen(
        &self,
        lab: &Lab<'_>,
        fold: &Fold,
        case: &Case,
        strengths: &[Option<f32>],
    ) -> Result<(Option<f32>, f32)> {
        let inner = self.fold(&fold.log, &case.split)?;
        let mut best = (f64::NEG_INFINITY, (None, PENALTIES[0]));
        for &strength in strengths {
            for lambda in PENALTIES {
                let found = self.measured(lab, &inner, case, (strength, lambda))?;
                let score = mean(&found, case.metric);
                if score > best.0 {
                    best = (score, (strength, lambda));
                }
            }
        }
        Ok(best.1)
    }
}

impl Case {
    fn evaluated(&self, model: &Model, fold: &Fold) -> Result<Evaluation> {
        let counts = fold.train.item_counts();
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
        let history = History::of(&fold.train);
        Ok(evaluate(
            &model.scorer(),
            &history,
            &fold.test,
            &options,
            &|_, _| {},
        )?)
    }
}

/// Known and new articles, with and without their tags.
pub(super) fn blocks(lab: &Lab<'_>, folder: &Path) -> Result<Vec<Block>> {
    let articles = Articles::read(folder, lab)?;
    let mut grid = Grid::new(
        "CiteULike: articles with and without their tags, 95 % intervals",
        [
            "measured",
            "strength",
            "λ",
            "without tags",
            "with tags",
            "difference",
            "interval",
            "p",
        ],
    );
    for case in &CASES {
        let fold = articles.fold(&articles.log, &case.split)?;
        let plain = articles.chosen(lab, &fold, case, &[None])?;
        let tagged = articles.chosen(lab, &fold, case, &STRENGTHS.map(Some))?;
        let without = articles.measured(lab, &fold, case, plain)?;
        let with = articles.measured(lab, &fold, case, tagged)?;
        let difference = Difference::of(&with, &without, case.metric)?;
        let interval = &difference.interval;
        grid.row([
            format!("{}, {}", case.name, case.metric),
            tagged.0.map_or_else(String::new, |x| x.to_string()),
            format!("{} and {}", plain.1, tagged.1),
            mean_text(&without, case.metric),
            mean_text(&with, case.metric),
            signed(difference.test.difference),
            format!("{} to {}", signed(interval.low), signed(interval.high)),
            p_value(difference.test.p),
        ]);
    }
    let text = format!(
        "Tags of {LEAST} articles or more are further rows of the matrix (docs/relations.md). A fifth of every user's \
         rows is held out, or all rows of a fifth of the articles, which then are new: the model knows them by their \
         tags alone, or not at all. Strength of the tags ({}) and λ ({}), with and without them, are those that do \
         best on rows held out of the training rows alike; every missing entry weighs {MISSING}, λ_u = λ m_u. \
         `cargo xtask accuracy relations` searches more settings, and measures `cmfrec` beside them.",
        STRENGTHS.map(|x| x.to_string()).join(", "),
        PENALTIES.map(|x| x.to_string()).join(", "),
    );
    Ok(vec![Block::Table(grid), Block::text(text)])
}
