//! How each kind of data set is read, and rows held out of it.

use std::path::{Path, PathBuf};

use absentia::Interactions;
use absentia::data::{Core, Duplicates, EventLog, Part, Pick, Split};
use absentia::error::Axis;
use absentia::evaluate::TestSet;
use absentia_io::{
    ColumnRef, Columns, Dataset, NoProgress, ReadOptions, Unknown, read, read_with_ids,
};
use anyhow::Result;
use rayon::prelude::*;

use crate::generate::{Feedback, Generator, GeneratorParams, TestItems};
use crate::paper::error::PaperError;
use crate::paper::scale::Size;

/// Users and items must have this many ratings in the paper's data.
const LEAST_RATINGS: u32 = 10;

/// A data set with rows held out, without its name.
pub(super) struct SplitData {
    pub(super) protocol: &'static str,
    pub(super) train: Interactions<'static>,
    pub(super) test: TestSet,
    pub(super) exposed: Option<(Vec<u32>, Vec<u32>)>,
}

/// Columns of a file without a header: user, item, and where the others are.
pub(super) fn options(rating: Option<usize>, time: Option<usize>) -> ReadOptions {
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

pub(super) fn given(train: &Path, test: &Path, every: u32) -> Result<SplitData> {
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
    Ok(SplitData {
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
pub(super) fn leave_one_out(path: &Path, how: &ReadOptions) -> Result<SplitData> {
    let mut log = rated(path, how)?;
    log.keep_core(Core {
        user: LEAST_RATINGS,
        item: LEAST_RATINGS,
    });
    if log.user().is_empty() {
        let least = LEAST_RATINGS;
        return Err(PaperError::TooFewRatings { least }.into());
    }
    latest_held_out(log)
}

/// Ratings with their times, the latest of a pair alone; ties of time are broken by rating.
pub(super) fn rated(path: &Path, how: &ReadOptions) -> Result<EventLog> {
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

pub(super) fn latest_held_out(mut log: EventLog) -> Result<SplitData> {
    let [n_users, n_items] = [Axis::User, Axis::Item].map(|axis| log.renumber(axis).len());
    let parts = log.split(&Split::leave_one_out(Pick::Latest, false), 0)?;
    let train = log.select(|row| parts[row] == Part::Train);
    let test = log.select(|row| parts[row] == Part::Test);
    Ok(SplitData {
        protocol: "latest held out",
        train: train.interactions(n_users, n_items, Duplicates::Last)?,
        test: TestSet::from_pairs(test.user(), test.item())?,
        exposed: None,
    })
}

/// Purchases; what was viewed and not bought was shown.
pub(super) fn shop(folder: &Path) -> Result<SplitData> {
    let file = |name: &str| folder.join(name);
    // All views first: they name most items.
    let files = ["train_view.tsv.gz", "train_cart.tsv.gz", "train_buy.tsv.gz"].map(file);
    let mut all = read(&files, &options(None, None), &NoProgress)?;
    let plain = options(None, None);
    let bought = read_more(file("train_buy.tsv.gz"), &mut all, &plain)?;
    let viewed = read_more(file("train_view.tsv.gz"), &mut all, &plain)?;
    let held = read_more(file("test_buy.tsv.gz"), &mut all, &plain)?;
    Ok(SplitData {
        protocol: "given split, one purchase a user",
        train: matrix(&all, &bought)?,
        test: TestSet::from_pairs(&held.user, &held.item)?,
        exposed: Some((viewed.user, viewed.item)),
    })
}

pub(super) fn labelled(folder: &Path) -> Result<SplitData> {
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
    Ok(SplitData {
        protocol: "given split, liked items",
        train: log.interactions(all.users.len(), all.items.len(), Duplicates::Last)?,
        test: TestSet::from_pairs(&test.0, &test.1)?,
        exposed: Some(liked(&all, false)),
    })
}

pub(super) fn generated(size: Size) -> Result<SplitData> {
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
    Ok(SplitData {
        protocol: "liked items held out",
        train,
        test: TestSet::from_interactions(&held),
        exposed: Some((users, items)),
    })
}
