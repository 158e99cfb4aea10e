//! The data sets: generated ones, and real ones if their files are there.

use std::path::{Path, PathBuf};

use absentia::Interactions;
use absentia::data::{Core, Duplicates, EventLog, Part, Pick, Split};
use absentia::evaluate::TestSet;
use absentia_io::{
    ColumnRef, Columns, Dataset, NoProgress, ReadOptions, Unknown, read, read_with_ids,
};
use anyhow::{Context as _, Result};
use rayon::prelude::*;

use super::error::PaperError;
use super::lab::Lab;
use super::scale::Size;
use crate::generate::{Feedback, Generator, GeneratorParams, TestItems};

/// Users and items must have this many ratings in the paper's data.
const LEAST_RATINGS: u32 = 10;

/// A data set with rows held out.
pub(super) struct Set {
    pub(super) name: String,
    /// How the test rows were chosen.
    pub(super) protocol: &'static str,
    pub(super) train: Interactions<'static>,
    pub(super) test: TestSet,
    /// Pairs that were shown and not taken.
    pub(super) exposed: Option<(Vec<u32>, Vec<u32>)>,
}

/// A set that has not been read yet.
#[derive(Clone)]
pub(super) struct Source {
    id: &'static str,
    pub(super) name: String,
    /// The folder, or the one file.
    place: PathBuf,
    kind: Kind,
}

#[derive(Clone, Copy)]
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
pub(super) fn sources(lab: &Lab) -> Vec<Source> {
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
    pub(super) fn is_the_papers(&self) -> bool {
        matches!(self.kind, Kind::Prepared)
    }

    /// Whether it says what was shown.
    pub(super) fn has_exposure(&self) -> bool {
        matches!(self.kind, Kind::Shop | Kind::Labelled | Kind::Generated)
    }

    /// Whether it is one of the larger sets, of which a quick run takes a sample.
    fn is_large(&self) -> bool {
        matches!(self.kind, Kind::Given)
    }

    /// Whether the paper's comparisons of methods are not made on it.
    pub(super) fn is_small(&self) -> bool {
        matches!(self.id, "ml-small" | "retailrocket" | "kuairec")
    }

    /// Whether weight matrices of its shape are written out at this size.
    pub(super) fn is_dense_enough(&self, size: Size) -> bool {
        match self.id {
            "ml-small" | "generated" => true,
            "kuairec" => size == Size::Full,
            _ => false,
        }
    }

    /// About how much work a run on it is, Gowalla being 1.
    pub(super) fn work(&self) -> f64 {
        match self.kind {
            Kind::Given | Kind::Rated | Kind::Prepared => 1.0,
            Kind::Shop | Kind::Labelled => 0.2,
            Kind::Timed | Kind::Generated => 0.1,
        }
    }

    /// Reads and splits the set.
    pub(super) fn load(&self, size: Size) -> Result<Set> {
        let file = |name: &str| self.place.join(name);
        let held = match self.kind {
            Kind::Generated => generated(size),
            Kind::Given => {
                let every = if self.is_large() { size.sample() } else { 1 };
                given(&file("train.tsv.gz"), &file("test.tsv.gz"), every)
            }
            Kind::Timed => leave_one_out(&file("ratings.tsv.gz"), &options(Some(3), Some(4))),
            Kind::Rated => leave_one_out(&self.place, &ReadOptions::default()),
            Kind::Prepared => {
                rated(&self.place, &options(Some(3), Some(4))).and_then(|log| latest_held_out(&log))
            }
            Kind::Shop => shop(&self.place),
            Kind::Labelled => labelled(&self.place),
        };
        let place = || match self.kind {
            Kind::Rated | Kind::Prepared => self.place.display().to_string(),
            _ => self.name.clone(),
        };
        let held = held.with_context(place)?;
        Ok(Set {
            name: self.name.clone(),
            protocol: held.protocol,
            train: held.train,
            test: held.test,
            exposed: held.exposed,
        })
    }
}

/// A set without its name.
struct Held {
    protocol: &'static str,
    train: Interactions<'static>,
    test: TestSet,
    exposed: Option<(Vec<u32>, Vec<u32>)>,
}

/// Columns of a file without a header: user, item, and where the others are.
fn options(rating: Option<usize>, time: Option<usize>) -> ReadOptions {
    let place = |at: Option<usize>| Some(at.map_or(ColumnRef::Absent, ColumnRef::Position));
    ReadOptions {
        header: Some(false),
        columns: Columns {
            user: Some(ColumnRef::Position(1)),
            item: Some(ColumnRef::Position(2)),
            rating: place(rating),
            time: place(time),
            weight: Some(ColumnRef::Absent),
        },
        ..ReadOptions::default()
    }
}

fn read_pairs(path: &Path) -> Result<Dataset> {
    Ok(read(&[path.to_owned()], &options(None, None), &NoProgress)?)
}

/// Reads another file of the same users and items, leaving out those it does not share.
fn read_more(path: PathBuf, from: &mut Dataset, how: &ReadOptions) -> Result<Dataset> {
    let ids = (
        std::mem::take(&mut from.users),
        std::mem::take(&mut from.items),
    );
    let mut more = read_with_ids(&[path], how, ids, Unknown::Skip, &NoProgress)?;
    from.users = std::mem::take(&mut more.users);
    from.items = std::mem::take(&mut more.items);
    Ok(more)
}

fn matrix(data: &Dataset, of: &Dataset) -> Result<Interactions<'static>> {
    let log = EventLog::new(of.user.clone(), of.item.clone())?;
    Ok(log.interactions(data.users.len(), data.items.len(), Duplicates::Last)?)
}

fn given(train: &Path, test: &Path, every: u32) -> Result<Held> {
    let mut data = read_pairs(train)?;
    let mut held = read_more(test.to_owned(), &mut data, &options(None, None))?;
    let keep = |user: &u32| user.is_multiple_of(every);
    let (train, test) = if every > 1 {
        let (data, held) = sampled(&mut data, &mut held, keep)?;
        (data, held)
    } else {
        (
            matrix(&data, &data)?,
            TestSet::from_pairs(&held.user, &held.item)?,
        )
    };
    Ok(Held {
        protocol: "given split",
        train,
        test,
        exposed: None,
    })
}

/// Keeps some users, and the items they still have in training.
fn sampled(
    data: &mut Dataset,
    held: &mut Dataset,
    keep: impl Fn(&u32) -> bool,
) -> Result<(Interactions<'static>, TestSet)> {
    let mut items = vec![u32::MAX; data.items.len()];
    let mut users = vec![u32::MAX; data.users.len()];
    let (mut n_users, mut n_items) = (0, 0);
    let number = |slot: &mut u32, next: &mut u32| {
        if *slot == u32::MAX {
            *slot = *next;
            *next += 1;
        }
        *slot
    };
    let (mut own, mut taken) = (Vec::new(), Vec::new());
    for (&user, &item) in data
        .user
        .iter()
        .zip(&data.item)
        .filter(|(user, _)| keep(user))
    {
        own.push(number(&mut users[user as usize], &mut n_users));
        taken.push(number(&mut items[item as usize], &mut n_items));
    }
    let log = EventLog::new(own, taken)?;
    let train = log.interactions(n_users as usize, n_items as usize, Duplicates::Last)?;
    let pairs = held.user.iter().zip(&held.item);
    let pairs = pairs.map(|(&user, &item)| (users[user as usize], items[item as usize]));
    let (own, taken): (Vec<u32>, Vec<u32>) = pairs
        .filter(|&(user, item)| user != u32::MAX && item != u32::MAX)
        .unzip();
    Ok((train, TestSet::from_pairs(&own, &taken)?))
}

/// The paper's protocol: users and items with enough ratings, the latest of each user held out.
fn leave_one_out(path: &Path, how: &ReadOptions) -> Result<Held> {
    let mut log = rated(path, how)?;
    log.keep_core(Core {
        user: LEAST_RATINGS,
        item: LEAST_RATINGS,
    });
    if log.user().is_empty() {
        let least = LEAST_RATINGS;
        return Err(PaperError::TooFewRatings { least }.into());
    }
    latest_held_out(&log)
}

/// Ratings with their times, the latest of a pair alone; ties of time are broken by rating.
fn rated(path: &Path, how: &ReadOptions) -> Result<EventLog> {
    let data = read(&[path.to_owned()], how, &NoProgress)?;
    let Some(times) = data.time else {
        return Err(PaperError::NoTimes.into());
    };
    let values = data.value.unwrap_or_else(|| vec![1.0; data.user.len()]);
    let mut log = EventLog::new(data.user, data.item)?
        .times(times)?
        .values(values)?;
    log.deduplicate(Duplicates::Last)?;
    Ok(log)
}

fn latest_held_out(log: &EventLog) -> Result<Held> {
    let (log, n_users, n_items) = renumbered(log)?;
    let parts = log.split(&Split::leave_one_out(Pick::Latest, false), 0)?;
    let train = log.select(|row| parts[row] == Part::Train);
    let test = log.select(|row| parts[row] == Part::Test);
    Ok(Held {
        protocol: "latest held out",
        train: train.interactions(n_users, n_items, Duplicates::Last)?,
        test: TestSet::from_pairs(test.user(), test.item())?,
        exposed: None,
    })
}

/// The log with numbers for those who are left alone.
fn renumbered(log: &EventLog) -> Result<(EventLog, usize, usize)> {
    let renumber = |ids: &[u32]| {
        let mut present: Vec<u32> = ids.to_vec();
        present.sort_unstable();
        present.dedup();
        let place = |id: &u32| present.partition_point(|other| other < id) as u32;
        (ids.iter().map(place).collect::<Vec<u32>>(), present.len())
    };
    let ((users, n_users), (items, n_items)) = (renumber(log.user()), renumber(log.item()));
    let times = log.time().unwrap_or_default().to_vec();
    let values = log.value().unwrap_or_default().to_vec();
    let log = EventLog::new(users, items)?.times(times)?.values(values)?;
    Ok((log, n_users, n_items))
}

/// Purchases; what was viewed and not bought was shown.
fn shop(folder: &Path) -> Result<Held> {
    let file = |name: &str| folder.join(name);
    // All views first: they name most items.
    let files = ["train_view.tsv.gz", "train_cart.tsv.gz", "train_buy.tsv.gz"].map(file);
    let mut all = read(&files, &options(None, None), &NoProgress)?;
    let plain = options(None, None);
    let bought = read_more(file("train_buy.tsv.gz"), &mut all, &plain)?;
    let viewed = read_more(file("train_view.tsv.gz"), &mut all, &plain)?;
    let held = read_more(file("test_buy.tsv.gz"), &mut all, &plain)?;
    Ok(Held {
        protocol: "given split, one purchase a user",
        train: matrix(&all, &bought)?,
        test: TestSet::from_pairs(&held.user, &held.item)?,
        exposed: Some((viewed.user, viewed.item)),
    })
}

fn labelled(folder: &Path) -> Result<Held> {
    let how = options(Some(3), None);
    let mut all = read(&[folder.join("train.tsv.gz")], &how, &NoProgress)?;
    let held = read_more(folder.join("test.tsv.gz"), &mut all, &how)?;
    let liked = |data: &Dataset, wanted: bool| -> (Vec<u32>, Vec<u32>) {
        let labels = data.value.as_deref().unwrap_or_default();
        let rows = data.user.iter().zip(&data.item).zip(labels);
        rows.filter(|(_, label)| (**label > 0.5) == wanted)
            .map(|((&user, &item), _)| (user, item))
            .unzip()
    };
    let ((users, items), test) = (liked(&all, true), liked(&held, true));
    let log = EventLog::new(users, items)?;
    Ok(Held {
        protocol: "given split, liked items",
        train: log.interactions(all.users.len(), all.items.len(), Duplicates::Last)?,
        test: TestSet::from_pairs(&test.0, &test.1)?,
        exposed: Some(liked(&all, false)),
    })
}

fn generated(size: Size) -> Result<Held> {
    let shape = match size {
        Size::Tiny => GeneratorParams::new(300, 200, 4_000),
        Size::Quick => GeneratorParams::new(1_500, 800, 30_000),
        Size::Full => GeneratorParams::new(4_000, 2_000, 100_000),
    };
    let generator = Generator::new(shape.clone())?;
    let train = generator.interactions()?;
    let held = generator.held_out(TestItems::Exposure, 3)?;
    let (mut users, mut items) = (Vec::new(), Vec::new());
    let seen: Vec<Feedback> = generator.feedback(0..shape.users as u32).collect();
    for (user, seen) in (0_u32..).zip(seen) {
        users.resize(users.len() + seen.refused.len(), user);
        items.extend(seen.refused);
    }
    Ok(Held {
        protocol: "liked items held out",
        train,
        test: TestSet::from_interactions(&held),
        exposed: Some((users, items)),
    })
}

impl Set {
    /// Holds one more interaction of each user out, at random, to choose settings by.
    pub(super) fn validation(&self) -> Result<(Interactions<'static>, TestSet)> {
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
