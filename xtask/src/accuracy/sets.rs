//! The data sets: what is trained on and what is measured on.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::{Program, folder, run};
use crate::repository;

/// A data set in the data folder.
#[derive(Debug)]
pub(super) struct Source {
    pub(super) id: &'static str,
    pub(super) name: &'static str,
    folder: &'static str,
    /// What the test rows are.
    pub(super) protocol: &'static str,
    /// Factors that contenders are compared with.
    pub(super) factors: usize,
    /// The preset for data of its kind.
    pub(super) preset: &'static str,
    kind: Kind,
}

#[derive(Clone, Copy, Debug)]
enum Kind {
    /// Files to train on and to test on.
    Given,
    /// One file with times.
    Timed,
    /// Views, carts and purchases to train on, purchases to test on.
    Shop,
    /// Labels: 1 liked, 0 shown and not liked.
    Labelled,
}

/// The set whose test rows were looked at often enough: it is measured only if it is named.
const CLOSED: &str = "gowalla";

/// The sets that a table is made of if none is named.
pub(super) fn open_sources() -> impl Iterator<Item = &'static Source> {
    SOURCES.iter().filter(|source| source.id != CLOSED)
}

pub(super) const SOURCES: [Source; 5] = [
    Source {
        id: "gowalla",
        name: "Gowalla",
        folder: "gowalla-lightgcn",
        protocol: "LightGCN's split",
        factors: 128,
        preset: "clicks",
        kind: Kind::Given,
    },
    Source {
        id: "amazon-book",
        name: "Amazon-book",
        folder: "amazon-book-kgat",
        protocol: "KGAT's split",
        factors: 128,
        preset: "clicks",
        kind: Kind::Given,
    },
    Source {
        id: "movietweetings",
        name: "MovieTweetings",
        folder: "movietweetings-100k",
        protocol: "the latest row of every user is the test",
        factors: 64,
        preset: "ratings",
        kind: Kind::Timed,
    },
    Source {
        id: "retailrocket",
        name: "RetailRocket",
        folder: "retailrocket-sslrec",
        protocol: "views, carts and purchases to train on, SSLRec's one purchase a user to test on",
        factors: 64,
        preset: "views-purchases",
        kind: Kind::Shop,
    },
    Source {
        id: "kuairec",
        name: "KuaiRec",
        folder: "kuairec-signed",
        protocol: "liked pairs of SIGformer's split, its validation part trained on",
        factors: 64,
        preset: "ratings",
        kind: Kind::Labelled,
    },
];

/// A data set ready to train and to measure on.
pub(super) struct Set {
    pub(super) source: &'static Source,
    pub(super) train: PathBuf,
    pub(super) test: PathBuf,
    /// How the files are to be read.
    reading: &'static [&'static str],
}

impl Set {
    /// The set of this name.
    pub(super) fn named(id: &str, program: &Program) -> Result<Self, String> {
        let source = SOURCES.iter().find(|source| source.id == id);
        source
            .ok_or_else(|| format!("{id}: no such data set"))?
            .prepare(program)
    }

    /// A command on the training rows.
    pub(super) fn on_train(&self, program: &Program, verb: &str) -> Command {
        let mut command = program.command(verb);
        command.arg(&self.train).args(self.reading);
        command
    }

    /// A command that measures a model.
    pub(super) fn evaluate(&self, program: &Program, model: &Path) -> Command {
        let mut command = program.command("evaluate");
        command.arg(model).args(self.reading);
        command.arg("--train").arg(&self.train);
        command.arg("--test").arg(&self.test);
        command
    }
}

impl Source {
    /// Which rows `absentia tune` holds out by default.
    pub(super) fn pick(&self) -> &'static str {
        match self.kind {
            Kind::Timed | Kind::Shop => "latest",
            Kind::Given | Kind::Labelled => "drift",
        }
    }

    fn data(&self) -> PathBuf {
        repository().join("../shared/data").join(self.folder)
    }

    /// The folder of its data, where that is missing.
    pub(super) fn missing(&self) -> Option<PathBuf> {
        Some(self.data()).filter(|folder| !folder.is_dir())
    }

    /// Writes the rows to train on and to measure on, unless the data folder has them in this form.
    pub(super) fn prepare(&'static self, program: &Program) -> Result<Set, String> {
        if let Some(folder) = self.missing() {
            return Err(format!("{} is not there", folder.display()));
        }
        let data = self.data();
        let out = folder(self.id)?;
        let reading: &[&str] = match self.kind {
            Kind::Labelled => &["--rating-col", "none"],
            Kind::Given | Kind::Timed | Kind::Shop => &[],
        };
        let (train, test) = match self.kind {
            Kind::Given => (data.join("train.tsv.gz"), data.join("test.tsv.gz")),
            Kind::Timed => {
                let mut split = program.command("split");
                split.arg(data.join("ratings.tsv.gz"));
                split.args(["--by", "leave-one-out", "--quiet", "--out"]);
                run(split.arg(&out))?;
                (out.join("train.csv"), out.join("test.csv"))
            }
            Kind::Shop => {
                let files = ["train_view.tsv.gz", "train_cart.tsv.gz", "train_buy.tsv.gz"];
                let columns = ["--no-header", "--rating-col", "none", "--time-col", "3"];
                let merged = [&columns[..], &["--duplicates", "last"]].concat();
                let train = out.join("train.csv");
                convert(program, (&data, &files), &merged, &train)?;
                (train, data.join("test_buy.tsv.gz"))
            }
            Kind::Labelled => {
                let liked = ["--rating-col", "3", "--min-rating", "1"];
                let (train, test) = (out.join("train.csv"), out.join("test.csv"));
                let files = ["train.tsv.gz", "valid.tsv.gz"];
                convert(program, (&data, &files), &liked, &train)?;
                convert(program, (&data, &["test.tsv.gz"]), &liked, &test)?;
                (train, test)
            }
        };
        Ok(Set {
            source: self,
            train,
            test,
            reading,
        })
    }
}

/// Writes files of a folder as one.
fn convert(
    program: &Program,
    (folder, files): (&Path, &[&str]),
    words: &[&str],
    out: &Path,
) -> Result<(), String> {
    let mut command = program.command("convert");
    command.args(files.iter().map(|file| folder.join(file)));
    command.args(words).args(["--quiet", "--out"]).arg(out);
    run(&mut command)
}
