//! Articles with what is known of them: their tags, the words of the tags, and vectors made from the tags.

use std::path::Path;

use absentia::data::{Duplicates, EventLog, Part, Split};
use absentia::evaluate::{Evaluation, TestSet};
use absentia::fit::backend::Cpu;
use absentia::fit::{MemoryPlan, Run, Sizes, fit, fit_related};
use absentia::memory::Stage;
use absentia::ranking::ranking_bytes;
use absentia::relations::Relations;
use absentia::weights::{Scheme, SchemeSpec};
use absentia::{Baseline, Dense, Interactions, Params};
use absentia_io::arrays::FeatureTable;
use absentia_io::{Dataset, IdMap, NoProgress, ReadOptions, read};
use absentia_job::text::RelationSpec;
use absentia_job::{Listener, RelationRows, RelationTable, Rows};
use anyhow::{Context as _, Result};

use super::super::lab::{Lab, TOP, mean};
use super::{Case, LEAST, MISSING, PENALTIES, SEED};

/// Words of fewer tags say nothing that the tags do not.
const LEAST_TAGS: u32 = 2;
/// Length of the vectors.
const WIDTH: usize = 64;

/// Some of what is known of articles, as relations.
pub(super) struct Known {
    pub(super) name: &'static str,
    /// Strengths that are tried.
    pub(super) strengths: [f32; 3],
    relations: Relations<'static>,
    /// The rows of the data have ids of their own in every one of them.
    shape: (usize, usize),
}

/// Rows with what is known of their items.
pub(super) struct Articles {
    pub(super) log: EventLog,
    pub(super) users: IdMap,
    pub(super) items: IdMap,
    shape: (usize, usize),
    pub(super) known: Vec<Known>,
}

/// Rows to train on, and rows to measure by.
pub(super) struct Fold {
    pub(super) log: EventLog,
    pub(super) held_out: EventLog,
    pub(super) test: TestSet,
}

impl Articles {
    pub(super) fn read(folder: &Path, lab: &Lab<'_>) -> Result<Self> {
        let path = folder.join("interactions.tsv.gz");
        let read_rows = || -> Result<Rows> {
            let read = read(
                std::slice::from_ref(&path),
                &ReadOptions::default(),
                &NoProgress,
            )?;
            Ok(Rows::new(read)?)
        };
        let file = folder.join("item_tags.tsv.gz").display().to_string();
        let spec = RelationSpec {
            least: LEAST,
            weights: Some(SchemeSpec::uniform(MISSING)),
            ..RelationSpec::new("items", "tags", &file)
        };
        let tags = RelationRows::read(&spec, None, lab.memory)?;
        let words = words(folder)?;
        let vectors = vectors(&tags, lab.params(WIDTH, 1), lab.memory)?;
        let given = [
            ("tags", [0.1, 0.3, 1.0], vec![tags.clone()]),
            ("tags and their words", [0.1, 0.3, 1.0], vec![tags, words]),
            ("vectors made from tags", [3.0, 10.0, 30.0], vec![vectors]),
        ];
        let mut known = Vec::new();
        for (name, strengths, given) in given {
            let mut rows = read_rows()?;
            let related = rows.relate(given, lab.memory)?;
            let relations = related.context("relations were given")?.relations;
            known.push(Known {
                name,
                strengths,
                relations,
                shape: (rows.users.len(), rows.items.len()),
            });
        }
        let mut rows = read_rows()?;
        let (users, items) = rows.take_ids();
        Ok(Self {
            shape: (users.len(), items.len()),
            log: rows.log,
            users,
            items,
            known,
        })
    }

    pub(super) fn fold(log: &EventLog, split: &Split) -> Result<Fold> {
        let parts = log.split(split, SEED)?;
        let train = log.select(|row| parts[row] == Part::Train);
        let test = log.select(|row| parts[row] == Part::Test);
        Ok(Fold {
            test: TestSet::from_pairs(test.user(), test.item())?,
            held_out: test,
            log: train,
        })
    }

    /// Trains, with relations of this strength or without any, and measures.
    pub(super) fn measured(
        &self,
        lab: &Lab<'_>,
        fold: &Fold,
        case: &Case,
        (known, lambda): (Option<(&Known, f32)>, f32),
    ) -> Result<Evaluation> {
        let related = known.map(|(known, strength)| {
            let mut relations = known.relations.clone();
            for relation in &mut relations.relations {
                relation.strength = strength;
            }
            relations
        });
        let shape = known.map_or(self.shape, |(known, _)| known.shape);
        let train = fold.log.interactions(shape.0, shape.1, Duplicates::Last)?;
        let (scheme, k) = (Scheme::uniform(MISSING), lab.size.factors());
        let params = lab
            .params(k, lab.size.sweeps().min(10))
            .regularization(lambda)
            .reg_exponent(1.0);
        let sizes = Sizes::of(&train, &scheme, &params, false).stacked(related.as_ref());
        let plan = MemoryPlan::new(&sizes, &params);
        let stage = Stage::new("training and ranking").with_all(plan.parts);
        let ranking = ranking_bytes(shape.0, shape.1, TOP);
        lab.memory.enter(stage.with("ranking", ranking))?;
        let params = params.check()?;
        let main = (&train, &scheme);
        let fitted = fit_related(&Cpu, main, related.as_ref(), &params, Run::default())?;
        case.evaluated(&fitted.model, &train, &fold.test)
    }

    /// The strength and penalty that do best on rows held out of the training rows.
    pub(super) fn chosen(
        &self,
        lab: &Lab<'_>,
        fold: &Fold,
        case: &Case,
        known: Option<&Known>,
    ) -> Result<(Option<f32>, f32)> {
        let inner = Self::fold(&fold.log, &case.split)?;
        let mut best = (f64::NEG_INFINITY, (None, PENALTIES[0]));
        let strengths = known.map_or(vec![None], |known| known.strengths.map(Some).to_vec());
        for strength in strengths {
            for lambda in PENALTIES {
                let found = self.measured(lab, &inner, case, (known.zip(strength), lambda))?;
                let score = mean(&found, case.metric);
                if score > best.0 {
                    best = (score, (strength, lambda));
                }
            }
        }
        Ok(best.1)
    }
}

/// The words of the names of tags.
fn words(folder: &Path) -> Result<RelationRows> {
    let path = folder.join("tag_names.tsv.gz");
    let names = read(&[path], &ReadOptions::default(), &NoProgress)?;
    let mut rows = Dataset::default();
    for (&tag, &name) in names.user.iter().zip(&names.item) {
        let tag = names.users.name(tag).unwrap_or_default();
        let name = names.items.name(name).unwrap_or_default().to_lowercase();
        let words = name.split(|c: char| !c.is_alphanumeric());
        for word in words.filter(|word| !word.is_empty()) {
            rows.user.push(rows.users.intern(&tag)?);
            rows.item.push(rows.items.intern(word)?);
        }
    }
    let spec = RelationSpec {
        least: LEAST_TAGS,
        weights: Some(SchemeSpec::uniform(MISSING)),
        ..RelationSpec::new("tags", "words", "tag_names.tsv.gz")
    };
    let rows = RelationTable::Entries(Box::new(rows));
    Ok(RelationRows::in_memory(spec, rows))
}

/// A vector for each article with a tag: a singular value decomposition of articles × tags.
fn vectors(tags: &RelationRows, params: Params, memory: &dyn Listener) -> Result<RelationRows> {
    let RelationTable::Entries(rows) = &tags.rows else {
        anyhow::bail!("tags are entries");
    };
    let log = EventLog::new(rows.user.clone(), rows.item.clone())?;
    let shape = (rows.users.len(), rows.items.len());
    let data: Interactions<'static> = log.interactions(shape.0, shape.1, Duplicates::Last)?;
    let params = params.solver(Baseline::Svd).check()?;
    // A singular value decomposition weighs all entries alike.
    let scheme = Scheme::uniform(1.0);
    let plan = MemoryPlan::new(&Sizes::of(&data, &scheme, &params, false), &params);
    let stage = Stage::new("vectors of articles").with_all(plan.parts);
    memory.enter(stage.with("tags", log.bytes()))?;
    let model = fit(&data, &scheme, &params, Run::default())?.model;
    let factors = model.user_factors();
    let width = factors.cols();
    let values = Dense::from_fn(shape.0, width, |row, column| factors.row(row)[column]);
    let ids: Vec<String> = rows
        .users
        .iter()
        .map(std::borrow::Cow::into_owned)
        .collect();
    let columns = (0..width).map(|column| column.to_string()).collect();
    let spec: RelationSpec = "items-vectors:vectors,dense=yes".parse()?;
    let table = FeatureTable::new(Some(ids), columns, values);
    Ok(RelationRows::in_memory(
        spec,
        RelationTable::Features(table),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn articles_with_tags_have_vectors_of_their_own() -> Result<()> {
        let mut rows = Dataset::default();
        for (article, tag) in [("a", "x"), ("a", "y"), ("b", "y"), ("c", "z"), ("c", "y")] {
            rows.user.push(rows.users.intern(article)?);
            rows.item.push(rows.items.intern(tag)?);
        }
        let spec = RelationSpec::new("items", "tags", "tags.tsv");
        let tags = RelationRows::in_memory(spec, RelationTable::Entries(Box::new(rows)));
        let made = vectors(
            &tags,
            Params::new().factors(2),
            &absentia_job::Ledger::new(None),
        )?;
        let RelationTable::Features(table) = &made.rows else {
            anyhow::bail!("vectors are features");
        };
        assert_eq!((table.values.rows(), table.values.cols()), (3, 2));
        assert_ne!(table.values.row(0), table.values.row(1));
        Ok(())
    }
}
