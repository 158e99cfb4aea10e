//! The data sets: generated ones, and real ones if their files are there.

mod readers;
mod stream;

use std::path::PathBuf;

use absentia::Interactions;
use absentia::data::{Duplicates, EventLog, Part, Pick, Split};
use absentia::evaluate::TestSet;
use absentia::memory::Stage;
use absentia_io::{ReadOptions, expected_reading};
use anyhow::{Context as _, Result};

use super::lab::Lab;
use super::scale::Size;
pub(in crate::paper) use stream::{DUPLICATES, EventStream, StreamEvent};

use readers::{generated, given, labelled, latest_held_out, leave_one_out, options, rated, shop};

/// A data set with rows held out.
pub(in crate::paper) struct Set {
    pub(in crate::paper) name: String,
    /// How the test rows were chosen.
    pub(in crate::paper) protocol: &'static str,
    pub(in crate::paper) train: Interactions<'static>,
    pub(in crate::paper) test: TestSet,
    /// Pairs that were shown and not taken.
    pub(in crate::paper) exposed: Option<(Vec<u32>, Vec<u32>)>,
}

/// A set that has not been read yet.
#[derive(Clone)]
pub(in crate::paper) struct Source {
    id: &'static str,
    pub(in crate::paper) name: String,
    /// The folder, or the one file.
    place: PathBuf,
    kind: Kind,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// train and test files of user and item.
    Given,
    /// A folder with one file of ratings and times.
    Timed,
    /// A rating file of the caller's.
    Rated,
    /// A rating file whose users and items have been chosen already.
    Prepared,
    /// Purchases, and views that did not become one.
    Shop,
    /// Labels: 1 liked, 0 shown and not liked.
    Labelled,
    /// Built in.
    Generated,
}

/// Id, name and folder of the real sets.
const REAL: [(&str, &str, &str, Kind); 6] = [
    ("gowalla", "Gowalla", "gowalla-lightgcn", Kind::Given),
    (
        "amazon-book",
        "Amazon-book",
        "amazon-book-kgat",
        Kind::Given,
    ),
    (
        "movietweetings",
        "MovieTweetings",
        "movietweetings-100k",
        Kind::Timed,
    ),
    (
        "ml-small",
        "MovieLens small",
        "ml-latest-small-2016",
        Kind::Timed,
    ),
    (
        "retailrocket",
        "RetailRocket",
        "retailrocket-sslrec",
        Kind::Shop,
    ),
    ("kuairec", "KuaiRec", "kuairec-signed", Kind::Labelled),
];

/// The available data sets: given files, and real data sets that are there, or generated data
/// where there is none.
pub(in crate::paper) fn sources(lab: &Lab<'_>) -> Vec<Source> {
    let source = |id, name: String, place: PathBuf, kind| Source {
        id,
        name,
        place,
        kind,
    };
    let mut found = Vec::new();
    if let Some(path) = &lab.yelp {
        found.push(source(
            "yelp",
            "Yelp".to_owned(),
            path.clone(),
            Kind::Prepared,
        ));
    }
    if let Some(path) = &lab.ratings {
        let stem = path.file_stem().unwrap_or(path.as_os_str());
        let name = stem.to_string_lossy().into_owned();
        found.push(source("ratings", name, path.clone(), Kind::Rated));
    }
    if lab.size != Size::Tiny {
        let real = REAL.map(|(id, name, folder, kind)| {
            source(id, name.to_owned(), lab.data.join(folder), kind)
        });
        found.extend(real.into_iter().filter(|set| set.place.is_dir()));
    }
    if found.is_empty() {
        let name = "generated data".to_owned();
        found.push(source("generated", name, PathBuf::new(), Kind::Generated));
    }
    found
}

impl Source {
    /// Whether it is the file that the paper's figures are of.
    pub(in crate::paper) fn is_the_papers(&self) -> bool {
        matches!(self.kind, Kind::Prepared)
    }

    /// Whether it says what was shown.
    pub(in crate::paper) fn has_exposure(&self) -> bool {
        matches!(self.kind, Kind::Shop | Kind::Labelled | Kind::Generated)
    }

    /// Whether its rows have times; generated ones are given some.
    pub(in crate::paper) fn has_times(&self) -> bool {
        let timed = [
            Kind::Timed,
            Kind::Rated,
            Kind::Prepared,
            Kind::Shop,
            Kind::Generated,
        ];
        timed.contains(&self.kind)
    }

    /// Reads the rows in the order of their times; of a shop, what was viewed.
    pub(in crate::paper) fn stream(&self, size: Size) -> Result<EventStream> {
        let (place, name) = (&self.place, &self.name);
        let mut stream = match self.kind {
            Kind::Rated => stream::from_file(place, &ReadOptions::default(), name),
            Kind::Prepared => stream::from_file(place, &options(Some(3), Some(4)), name),
            Kind::Shop => stream::from_file(
                &place.join("train_view.tsv.gz"),
                &options(None, Some(3)),
                name,
            ),
            Kind::Timed => stream::from_file(
                &place.join("ratings.tsv.gz"),
                &options(Some(3), Some(4)),
                name,
            ),
            _ => stream::from_generated(size, name),
        }
        .with_context(|| name.clone())?;
        stream.events.truncate(size.online_events());
        Ok(stream)
    }

    /// Whether it is one of the larger sets, of which a quick run takes a sample.
    fn is_large(&self) -> bool {
        matches!(self.kind, Kind::Given)
    }

    /// Whether the paper's comparisons of methods are not made on it.
    pub(in crate::paper) fn is_small(&self) -> bool {
        matches!(self.id, "ml-small" | "retailrocket" | "kuairec")
    }

    /// Whether weight matrices of its shape are written out at this size.
    pub(in crate::paper) fn is_dense_enough(&self, size: Size) -> bool {
        match self.id {
            "ml-small" | "generated" => true,
            "kuairec" => size == Size::Full,
            _ => false,
        }
    }

    /// About how much work a run on it is, Gowalla being 1.
    pub(in crate::paper) fn work(&self) -> f64 {
        match self.kind {
            Kind::Given | Kind::Rated | Kind::Prepared => 1.0,
            Kind::Shop | Kind::Labelled => 0.2,
            Kind::Timed | Kind::Generated => 0.1,
        }
    }

    /// What reading takes at its peak, by the sizes of the files: the rows twice and the matrix.
    pub(in crate::paper) fn reading(&self) -> Option<Stage> {
        let names: &[&str] = match self.kind {
            Kind::Generated => return None,
            Kind::Given | Kind::Labelled => &["train.tsv.gz", "test.tsv.gz"],
            Kind::Timed => &["ratings.tsv.gz"],
            Kind::Rated | Kind::Prepared => &[""],
            Kind::Shop => &["train_view.tsv.gz", "train_cart.tsv.gz", "train_buy.tsv.gz"],
        };
        let paths: Vec<PathBuf> = names
            .iter()
            .map(|name| {
                if name.is_empty() {
                    self.place.clone()
                } else {
                    self.place.join(name)
                }
            })
            .collect();
        let stage = expected_reading(&paths, &options(None, None))?;
        let rows = stage.parts.first()?.1;
        Some(stage.with("rows to choose from", rows).with("matrix", rows))
    }

    /// Reads and splits the set.
    pub(in crate::paper) fn load(&self, size: Size) -> Result<Set> {
        let file = |name: &str| self.place.join(name);
        let split = match self.kind {
            Kind::Generated => generated(size),
            Kind::Given => {
                let every = if self.is_large() { size.sample() } else { 1 };
                given(&file("train.tsv.gz"), &file("test.tsv.gz"), every)
            }
            Kind::Timed => leave_one_out(&file("ratings.tsv.gz"), &options(Some(3), Some(4))),
            Kind::Rated => leave_one_out(&self.place, &ReadOptions::default()),
            Kind::Prepared => {
                rated(&self.place, &options(Some(3), Some(4))).and_then(latest_held_out)
            }
            Kind::Shop => shop(&self.place),
            Kind::Labelled => labelled(&self.place),
        };
        let place = || match self.kind {
            Kind::Rated | Kind::Prepared => self.place.display().to_string(),
            _ => self.name.clone(),
        };
        let split = split.with_context(place)?;
        Ok(Set {
            name: self.name.clone(),
            protocol: split.protocol,
            train: split.train,
            test: split.test,
            exposed: split.exposed,
        })
    }
}

impl Set {
    /// Bytes of its rows.
    pub(in crate::paper) fn bytes(&self) -> u64 {
        let exposed = self
            .exposed
            .as_ref()
            .map_or(0, |(users, _)| 8 * users.len());
        self.train.bytes() + exposed as u64
    }

    /// Holds one more interaction of each user out, at random, to choose settings by.
    pub(in crate::paper) fn validation(&self) -> Result<(Interactions<'static>, TestSet)> {
        let (mut users, mut items) = (Vec::new(), Vec::new());
        for user in 0..self.train.n_users() {
            let row = self.train.by_user().row(user).indices;
            users.resize(users.len() + row.len(), user as u32);
            items.extend_from_slice(row);
        }
        let log = EventLog::new(users, items)?;
        let parts = log.split(&Split::leave_one_out(Pick::Random, false), 17)?;
        let train = log.select(|row| parts[row] == Part::Train);
        let test = log.select(|row| parts[row] == Part::Test);
        let shape = (self.train.n_users(), self.train.n_items());
        Ok((
            train.interactions(shape.0, shape.1, Duplicates::Last)?,
            TestSet::from_pairs(test.user(), test.item())?,
        ))
    }
}
