//! Data that workers read together: each reads some of the files, and rows go to those who train them.
//!
//! | step | what a worker gets of the others |
//! | --- | --- |
//! | [`Spread::read`] | nothing: it reads its files and drops the rows that are not used |
//! | [`Spread::ids_by_range`], [`Spread::number`] | the ids of one range of all ids, of which it makes row numbers |
//! | [`Spread::renumber`] | the row numbers of its ids |
//! | [`Spread::bundles`], [`Spread::take`] | the rows of its users and of its items, from which it makes both orientations |
//! | [`Spread::finish`] | counts of all rows, and sums over all users: [`Missing`](Finished::Missing) sums are merged and given again |
//!
//! All rules are those of one process: its matrices have the shape of the whole one and know of it what is needed
//! ([`WholeMatrix`]).

use std::ops::Range;
use std::path::PathBuf;

use absentia::data::{Confidence, EventLog, LogColumns, WholeMatrix};
use absentia::error::Axis;
use absentia::fit::Init;
use absentia::fit::backend::{CHUNK_ROWS, Problem, RowSum};
use absentia::fit::shard::{ShardParts, SideParts, rows_of};
use absentia::weights::{Scheme, SchemeSpec, Term};
use absentia::{Interactions, Params, Sides};
use absentia_io::model::Ids;
use absentia_io::time::TimeUnit;
use absentia_io::{IdMap, expand};
use serde::{Deserialize, Serialize};

use super::facts::of_counts;
use super::record::{RowSums, ids_of};
use super::{Facts, Frame, Part};
use crate::error::JobError;
use crate::files::read_paths;
use crate::job::Job;
use crate::listener::Listener;
use crate::preparation::Preparation;
use crate::rows::Rows;

/// Ids of a worker from which the borders of ranges are chosen.
const SAMPLE: usize = 1_000;

/// Columns of rows.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
struct Columns {
    user: Vec<u32>,
    item: Vec<u32>,
    value: Option<Vec<f32>>,
    time: Option<Vec<i64>>,
    weight: Option<Vec<f32>>,
}

/// Rows that go from one worker to another: those of its users, and those of its items.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Bundle(Sides<Columns>);

/// What a worker knows of the files that it has read.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Opened {
    /// Rows that are used.
    pub rows: u64,
    /// Whether rows have values, times and weights; `None` if it has no rows.
    pub columns: Option<[bool; 3]>,
    /// Some of its ids.
    pub samples: Sides<Vec<String>>,
}

/// The result of the last step.
pub enum Finished {
    /// A sum over all users is needed first.
    Missing(RowSum<f64>),
    /// The part is ready.
    Ready(Box<Part>),
}

/// A worker that reads a part of the data.
pub struct Spread {
    job: Job,
    worker: usize,
    workers: usize,
    log: EventLog,
    /// Ids of its rows, until they are renumbered.
    ids: Sides<IdMap>,
    /// The ids of its range of all ids.
    range: Sides<IdMap>,
    chunks: Sides<Range<usize>>,
    /// Its entries by users, and by items.
    parts: Sides<Option<Interactions<'static>>>,
}

impl Job {
    /// Why workers cannot each read a part of the data of this job; `None` if they can.
    #[must_use]
    pub fn why_not_spread(&self) -> Option<&'static str> {
        let Preparation {
            min_rating: _,
            since,
            until,
            exclude,
            duplicates: _,
            sample,
            sample_seed: _,
            k_core,
        } = &self.preparation;
        let decays = matches!(
            self.params(TimeUnit::default()).confidence,
            Confidence::Decay { .. }
        );
        let by_counts = |weights: SchemeSpec| weights.terms().iter().all(Term::follows_from_counts);
        let reasons = [
            (
                since.is_some() || until.is_some(),
                "since and until need the unit of all times",
            ),
            (!exclude.is_empty(), "exclude names pairs of all rows"),
            (sample.is_some(), "a sample is drawn from all rows"),
            (k_core.is_some(), "k-core counts all rows"),
            (
                self.reading.dense_ids || self.reading.shape.is_some(),
                "row numbers are given",
            ),
            (
                !self.exposed.files.is_empty(),
                "exposed pairs are known by the ids of all rows",
            ),
            (
                !self.settings.init.is_empty(),
                "given factors are known by the ids of all rows",
            ),
            (decays, "decaying confidence needs the latest of all times"),
            (
                !self.weights().is_ok_and(by_counts),
                "the weights on missing entries do not follow from counts alone",
            ),
        ];
        let mut reasons = reasons.into_iter();
        reasons.find_map(|(holds, reason)| holds.then_some(reason))
    }

    /// The files that a worker reads: a range of all files, so that one after the other gives all rows in order.
    fn files_of(&self, worker: usize, workers: usize) -> Result<Vec<PathBuf>, JobError> {
        let files = expand(&self.data)?;
        let size = |path: &PathBuf| path.metadata().map_or(0, |data| data.len());
        let total: u64 = files.iter().map(size).sum();
        let mut before = 0;
        let mut own = Vec::new();
        for path in files {
            let size = size(&path);
            // By the middle of a file, so that every file has one reader.
            let middle = before + size / 2;
            before += size;
            if (middle * workers as u64 / total.max(1)).min(workers as u64 - 1) == worker as u64 {
                own.push(path);
            }
        }
        Ok(own)
    }
}

impl Spread {
    /// Reads the files of a worker and drops the rows that are not used.
    ///
    /// # Errors
    /// What workers cannot share, files that cannot be read.
    pub fn read(
        job: &Job,
        (worker, workers): (usize, usize),
        listener: &dyn Listener,
    ) -> Result<(Self, Opened), JobError> {
        job.check_shared()?;
        let files = job.files_of(worker, workers)?;
        let mut rows = if files.is_empty() {
            Rows::new(absentia_io::Dataset::default())?
        } else {
            Rows::new(read_paths(&files, &job.reading, listener)?)?
        };
        if rows.users.is_dense() || rows.items.is_dense() {
            return Err(JobError::NotShared {
                what: "files of row numbers among readers".to_owned(),
                remedy: "let every worker read all files, by spread=False",
            });
        }
        rows.report_times(&job.reading, listener)?;
        let filter = Preparation {
            min_rating: job.preparation.min_rating,
            ..Preparation::default()
        };
        if !rows.log.is_empty() {
            rows.prepare(&filter, &job.reading, listener)?;
        }
        rows.forget_absent();
        let log = &rows.log;
        let columns = [
            log.value().is_some(),
            log.time().is_some(),
            log.weight().is_some(),
        ];
        let opened = Opened {
            rows: log.len() as u64,
            columns: (!log.is_empty()).then_some(columns),
            samples: Sides {
                users: rows.users.sample(SAMPLE),
                items: rows.items.sample(SAMPLE),
            },
        };
        let (users, items) = rows.take_ids();
        let spread = Self {
            job: job.clone(),
            worker,
            workers,
            log: rows.log,
            ids: Sides { users, items },
            range: Sides::default(),
            chunks: Sides {
                users: 0..0,
                items: 0..0,
            },
            parts: Sides::default(),
        };
        Ok((spread, opened))
    }

    /// Its ids in each range, for the worker of the range.
    ///
    /// # Errors
    /// More ids than a map can hold.
    pub fn ids_by_range(&self, axis: Axis, borders: &[String]) -> Result<Vec<IdMap>, JobError> {
        let ids = &self.ids[axis];
        let ranges = ids.ranges(borders).into_iter();
        let mut parts: Vec<IdMap> = ranges
            .map(|rows| ids.part(rows))
            .collect::<Result<_, _>>()?;
        // There may be fewer ranges than workers.
        parts.resize_with(self.workers, IdMap::new);
        Ok(parts)
    }

    /// Takes the ids of its range from every worker, and yields the place of each in the range.
    ///
    /// # Errors
    /// More ids than a map can hold.
    pub fn number(&mut self, axis: Axis, parts: &[IdMap]) -> Result<Vec<Vec<u32>>, JobError> {
        let (range, places) = IdMap::union(parts)?;
        self.range[axis] = range;
        Ok(places)
    }

    /// The ids of its range of all ids.
    #[must_use]
    pub fn range(&self, axis: Axis) -> &IdMap {
        &self.range[axis]
    }

    /// Gives its rows the numbers that their ids have among all: the first number of every range, and the places
    /// of its ids in each.
    ///
    /// # Errors
    /// Numbers that are not those of its ids.
    pub fn renumber(
        &mut self,
        axis: Axis,
        firsts: &[u32],
        places: &[&[u32]],
    ) -> Result<(), JobError> {
        let numbers = firsts.iter().zip(places);
        let numbers: Vec<u32> = numbers
            .flat_map(|(first, places)| places.iter().map(move |place| first + place))
            .collect();
        if numbers.len() != self.ids[axis].len() {
            return Err(JobError::WorkersDiffer {
                what: "ids",
                first: self.ids[axis].len().to_string(),
                worker: self.worker,
                other: numbers.len().to_string(),
            });
        }
        self.ids[axis] = IdMap::new();
        let mut columns: Columns = std::mem::replace(&mut self.log, EventLog::new(vec![], vec![])?)
            .into_columns()
            .into();
        let column = match axis {
            Axis::User => &mut columns.user,
            Axis::Item => &mut columns.item,
        };
        for row in column {
            *row = numbers[*row as usize];
        }
        self.log = log_of(columns)?;
        Ok(())
    }

    /// Rows of each chunk of users and of items, of which there are `shape`.
    #[must_use]
    pub fn rows_by_chunk(&self, shape: Sides<usize>) -> Sides<Vec<u64>> {
        Sides::from_fn(|axis| {
            let mut rows = vec![0; shape[axis].div_ceil(CHUNK_ROWS)];
            for row in self.log.ids(axis) {
                rows[*row as usize / CHUNK_ROWS] += 1;
            }
            rows
        })
    }

    /// Its rows for each worker; it has none afterwards. `chunks` are those of every worker.
    ///
    /// # Errors
    /// More rows than can be numbered.
    pub fn bundles(&mut self, chunks: &[Sides<Range<usize>>]) -> Result<Vec<Bundle>, JobError> {
        let log = std::mem::replace(&mut self.log, EventLog::new(vec![], vec![])?);
        let of_worker = |chunks: &Sides<Range<usize>>| {
            Bundle(Sides::from_fn(|axis| {
                let (own, ids) = (&chunks[axis], log.ids(axis));
                let picked = log.select(|row| own.contains(&(ids[row] as usize / CHUNK_ROWS)));
                picked.into_columns().into()
            }))
        };
        Ok(chunks.iter().map(of_worker).collect())
    }

    /// Takes its rows from every worker, in the order of the workers, and yields the number of entries of its users
    /// and items.
    ///
    /// # Errors
    /// Pairs that occur more than once, where those are rejected.
    pub fn take(
        &mut self,
        shape: Sides<usize>,
        chunks: &Sides<Range<usize>>,
        bundles: Vec<Bundle>,
    ) -> Result<Sides<Vec<u32>>, JobError> {
        self.chunks = chunks.clone();
        let mut joined: Sides<Columns> = Sides::default();
        for Bundle(bundle) in bundles {
            joined.users.append(bundle.users);
            joined.items.append(bundle.items);
        }
        let mut counts = Sides::<Vec<u32>>::default();
        for axis in [Axis::User, Axis::Item] {
            let columns = std::mem::take(&mut joined[axis]);
            let is_rated = columns.value.is_some();
            let duplicates = self
                .job
                .preparation
                .duplicates
                .unwrap_or_default()
                .resolved(is_rated);
            let log = log_of(columns)?;
            let data = log.interactions(shape.users, shape.items, duplicates)?;
            let entries = match axis {
                Axis::User => data.by_user(),
                Axis::Item => data.by_item(),
            };
            let rows = rows_of(&chunks[axis], shape[axis]);
            counts[axis] = rows.map(|row| entries.row_len(row) as u32).collect();
            self.parts[axis] = Some(data);
        }
        Ok(counts)
    }

    /// Makes the part of the problem, given the counts of all rows and the sums over all users that are known.
    ///
    /// # Errors
    /// Data that cannot be trained on.
    pub fn finish(
        &mut self,
        counts: &Sides<Vec<u32>>,
        totals: &[f64],
    ) -> Result<Finished, JobError> {
        let solver = self.job.check_shared()?;
        let params = self.job.params(TimeUnit::default());
        params.clone().check()?;
        let weights = self.job.weights()?;
        let scheme: Scheme = weights.scheme().ok_or(JobError::NotShared {
            what: "weights of files".to_owned(),
            remedy: "let every worker read all files, by spread=False",
        })?;
        let sum = |counts: &[u32]| counts.iter().map(|n| *n as usize).sum::<usize>();
        let (first, entries) = (self.chunks.users.start * CHUNK_ROWS, sum(&counts.users));
        let before = sum(&counts.users[..first.min(counts.users.len())]);
        let whole = |users: Range<usize>| WholeMatrix {
            counts: counts.clone(),
            entries,
            totals: totals.to_vec(),
            users,
        };
        let not_taken = || JobError::Syntax("rows were not taken, which is a defect".to_owned());
        let by_users = self.parts.users.take().ok_or_else(not_taken)?;
        let by_users = by_users.part_of(whole(self.chunks.users.clone()));
        let users = Problem::of_data(&by_users, &scheme, &params);
        if let Some(missing) = by_users.missing_sum() {
            self.parts.users = Some(by_users);
            return Ok(Finished::Missing(missing));
        }
        let users = users?;
        drop(by_users);
        let by_items = self.parts.items.take().ok_or_else(not_taken)?;
        let by_items = by_items.part_of(whole(0..0));
        let items = Problem::of_data(&by_items, &scheme, &params)?;
        let items = SideParts::cut((&items, Axis::Item), self.chunks.items.clone());
        let parts = ShardParts::join(&users, items, self.chunks.users.clone(), (entries, before));
        Ok(Finished::Ready(Box::new(
            self.part(&users, parts, params, solver, &weights)?,
        )))
    }

    fn part(
        &self,
        problem: &Problem<'_>,
        parts: ShardParts,
        params: Params,
        solver: absentia::Solver,
        weights: &SchemeSpec,
    ) -> Result<Part, JobError> {
        let unit = TimeUnit::default();
        let run = self.job.as_run_with(&params, unit, Some(weights));
        let counts = Sides {
            users: problem.data().user_counts(),
            items: problem.data().item_counts(),
        };
        let ids = Sides::from_fn(|axis| ids_of(&self.range[axis], 0..self.range[axis].len()));
        let data = (of_counts(&counts), RowSums::of(problem, &parts, &ids));
        Ok(Part {
            start: parts.start(&Init::Gaussian, &params)?,
            facts: Facts::of(
                (self.worker, self.workers),
                (&self.job, weights),
                (problem, &parts),
                data,
            )?,
            frame: Frame::of(problem, Ids::dense(0, 0), toml::to_string(&run).ok()),
            parts: vec![parts],
            solver,
            params,
        })
    }
}

/// Appends a column that both have.
fn joined<T>(own: &mut Option<Vec<T>>, other: Option<Vec<T>>) {
    if let (Some(own), Some(other)) = (own, other) {
        own.extend(other);
    }
}

impl Columns {
    fn append(&mut self, other: Self) {
        if other.user.is_empty() {
            return;
        }
        if self.user.is_empty() {
            *self = other;
            return;
        }
        self.user.extend(other.user);
        self.item.extend(other.item);
        joined(&mut self.value, other.value);
        joined(&mut self.time, other.time);
        joined(&mut self.weight, other.weight);
    }
}

impl From<LogColumns> for Columns {
    fn from(columns: LogColumns) -> Self {
        Self {
            user: columns.user,
            item: columns.item,
            value: columns.value,
            time: columns.time,
            weight: columns.weight,
        }
    }
}

fn log_of(columns: Columns) -> Result<EventLog, JobError> {
    let mut log = EventLog::new(columns.user, columns.item)?;
    if let Some(value) = columns.value {
        log = log.values(value)?;
    }
    if let Some(time) = columns.time {
        log = log.times(time)?;
    }
    if let Some(weight) = columns.weight {
        log = log.weights(weight)?;
    }
    Ok(log)
}
