//! The data sets of the table, and how rows are held out of them.

use std::path::PathBuf;

use super::super::{Program, folder, run};
use super::exposures;
use crate::repository;

/// How a data set is divided.
#[derive(Clone, Copy)]
enum Protocol {
    /// Its own files.
    Given,
    /// Its own files, with the files of pairs that were shown: all that are not taken.
    Shown(&'static [&'static str]),
    /// Of a file without times: a random row of every user.
    Random,
    /// The latest row of every user, and the latest tenth of all rows.
    ByTime,
}

/// A data set.
pub(super) struct Data {
    pub(super) name: &'static str,
    folder: &'static str,
    files: &'static [&'static str],
    reading: &'static [&'static str],
    /// The test file and how it is read, where that is not test.tsv.gz and like the others.
    test: Option<(&'static str, &'static [&'static str])>,
    protocol: Protocol,
}

pub(super) const SETS: [Data; 7] = [
    Data {
        name: "MovieTweetings",
        folder: "movietweetings-100k",
        files: &["ratings.tsv.gz"],
        reading: &[],
        test: None,
        protocol: Protocol::ByTime,
    },
    Data {
        name: "MovieLens small",
        folder: "ml-latest-small-2016",
        files: &["ratings.tsv.gz"],
        reading: &[],
        test: None,
        protocol: Protocol::ByTime,
    },
    Data {
        name: "RetailRocket views",
        folder: "retailrocket-sslrec",
        files: &["train_view.tsv.gz"],
        reading: &["--no-header", "--rating-col", "none", "--time-col", "3"],
        test: None,
        protocol: Protocol::ByTime,
    },
    Data {
        name: "RetailRocket purchases",
        folder: "retailrocket-sslrec",
        files: &["train_buy.tsv.gz"],
        reading: &["--no-header", "--rating-col", "none", "--time-col", "3"],
        test: Some((
            "test_buy.tsv.gz",
            &["--no-header", "--rating-col", "none", "--time-col", "none"],
        )),
        protocol: Protocol::Shown(&["train_view.tsv.gz"]),
    },
    Data {
        name: "KuaiRec",
        folder: "kuairec-signed",
        files: &["train.tsv.gz", "valid.tsv.gz"],
        reading: &["--rating-col", "3", "--min-rating", "1"],
        test: None,
        protocol: Protocol::Shown(&["train.tsv.gz", "valid.tsv.gz"]),
    },
    Data {
        name: "CiteULike",
        folder: "citeulike-a",
        files: &["interactions.tsv.gz"],
        reading: &[],
        test: None,
        protocol: Protocol::Random,
    },
    Data {
        name: "Amazon-book",
        folder: "amazon-book-kgat",
        files: &["train.tsv.gz"],
        reading: &[],
        test: None,
        protocol: Protocol::Given,
    },
];

/// Rows to train on and to measure on.
pub(super) struct DividedData {
    pub(super) title: String,
    pub(super) folder: PathBuf,
    pub(super) has_times: bool,
    /// Pairs that were shown and not taken.
    pub(super) exposed: Option<PathBuf>,
}

impl Data {
    fn paths(&self, names: &[&str]) -> Vec<PathBuf> {
        let data = repository().join("../shared/data").join(self.folder);
        names.iter().map(|name| data.join(name)).collect()
    }

    /// Divides the data.
    pub(super) fn cases(&self, program: &Program) -> Result<Vec<DividedData>, String> {
        let rules: &[(&str, &str)] = match self.protocol {
            Protocol::Given | Protocol::Shown(_) => return Ok(vec![self.given(program)?]),
            Protocol::Random => &[("leave-one-out", "a random row of every user out")],
            Protocol::ByTime => &[
                ("leave-one-out", "latest row of every user out"),
                ("time:0.1", "latest tenth of all rows out"),
            ],
        };
        let mut cases = Vec::new();
        for (place, (rule, text)) in rules.iter().enumerate() {
            let out = folder(&format!("weights/{}-{place}", self.folder))?;
            let mut split = program.command("split");
            split.args(self.paths(self.files)).args(self.reading);
            split.args(["--quiet", "--by", rule]);
            if matches!(self.protocol, Protocol::Random) {
                split.args(["--pick", "random"]);
            }
            run(split.arg("--out").arg(&out))?;
            cases.push(DividedData {
                title: format!("{}, {text}", self.name),
                folder: out,
                has_times: matches!(self.protocol, Protocol::ByTime),
                exposed: None,
            });
        }
        Ok(cases)
    }

    /// The files of the data set as they are.
    fn given(&self, program: &Program) -> Result<DividedData, String> {
        let out = folder(&format!("weights/{}-given", self.folder))?;
        let convert = |names: &[&str], reading: &[&str], file: &str| {
            let mut convert = program.command("convert");
            convert.args(self.paths(names)).args(reading);
            run(convert.args(["--quiet", "--out"]).arg(out.join(file)))
        };
        let has_times = self.reading.contains(&"--time-col");
        let (test, test_reading) = match self.test {
            Some((test, reading)) => (test, reading),
            None => ("test.tsv.gz", self.reading),
        };
        convert(self.files, self.reading, "train.csv")?;
        convert(&[test], test_reading, "test.csv")?;
        let mut exposed = None;
        if let Protocol::Shown(files) = self.protocol {
            let reading: Vec<&str> =
                match self.reading.iter().position(|word| *word == "--min-rating") {
                    Some(at) => self.reading[..at].to_vec(),
                    None => self.reading.to_vec(),
                };
            convert(files, &reading, "shown.csv")?;
            let [shown, pairs] = ["shown.csv", "exposed.csv"].map(|name| out.join(name));
            exposures::without(
                &shown,
                &["train.csv", "test.csv"].map(|name| out.join(name)),
                &pairs,
            )?;
            exposed = Some(pairs);
        }
        Ok(DividedData {
            title: format!("{}, its own split", self.name),
            folder: out,
            has_times,
            exposed,
        })
    }
}
