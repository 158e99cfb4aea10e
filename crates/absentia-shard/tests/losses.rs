//! Workers that are lost and replaced do not change a bit.
#![allow(missing_docs, clippy::unwrap_used)]

use absentia::data::Duplicates;
use absentia::error::Axis;
use absentia::fit::backend::Problem;
use absentia::fit::shard::{Shard, ShardParts, random_rows};
use absentia::fit::{Outline, RemoteStart, Run, Sweep, fit, fit_remote};
use absentia::weights::Scheme;
use absentia::{Interactions, Params, Sides, Solver, Triplets};
use absentia_shard::{
    LocalWorkers, Plan, Received, Reply, Request, Sharded, Trouble, Wave, Worker, Workers,
    from_bytes, to_bytes,
};

const ROWS: u32 = 7_000;

fn data() -> Interactions<'static> {
    let users: Vec<u32> = (0..6 * ROWS).map(|n| n % ROWS).collect();
    let items: Vec<u32> = (0..6 * ROWS)
        .map(|n| (n * 7 + n / ROWS * n % 13) % ROWS)
        .collect();
    let rows = ROWS as usize;
    Triplets::new(&users, &items)
        .build(rows, rows, Duplicates::Last)
        .unwrap()
}

fn params() -> Params {
    Params::new()
        .factors(8)
        .iterations(4)
        .regularization(0.05)
        .init_std(0.1)
        .seed(3)
}

/// Takes rows of others chunk by chunk if its number is odd.
fn worker(problem: &Problem<'_>, plan: &Plan, index: usize) -> Worker {
    let parts = ShardParts::cut(problem, &plan.workers()[index]);
    let shard = |parts: ShardParts| {
        let start = Sides::from_fn(|axis| random_rows(problem.params(), axis, parts.rows(axis)));
        Shard::new(parts, Solver::Eals, start)
    };
    let most = if index % 2 == 1 { 1 } else { usize::MAX };
    let shards = parts.in_waves(most).into_iter().map(shard).collect();
    Worker::new(shards, index, 8, 1)
}

/// Rows of users and of items.
type Rows = Sides<Vec<f32>>;

/// Workers of which one dies before, in the middle of, or after some of the requests.
struct Mortal<'p> {
    problem: &'p Problem<'p>,
    plan: Plan,
    workers: LocalWorkers,
    /// Step and rows of every worker that were stored last.
    stored: Option<(u64, Vec<Rows>)>,
    /// Requests until the next death.
    life: usize,
    deaths: usize,
    random: u64,
}

impl Mortal<'_> {
    fn next(&mut self, below: usize) -> usize {
        self.random = self
            .random
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        (self.random >> 33) as usize % below
    }

    fn all(problem: &Problem<'_>, plan: &Plan) -> LocalWorkers {
        let count = plan.workers().len();
        LocalWorkers::new(
            (0..count)
                .map(|index| worker(problem, plan, index))
                .collect(),
        )
    }

    fn rows(&mut self) -> Vec<Rows> {
        let workers = self.workers.workers().iter();
        workers
            .map(|worker| Sides::from_fn(|side| worker.all_rows(side)))
            .collect()
    }
}

impl Workers for Mortal<'_> {
    fn ask(&mut self, step: u64, request: &Request) -> Result<Vec<Reply>, Trouble> {
        // As it travels.
        let request: Request = from_bytes(&to_bytes(request).unwrap()).unwrap();
        if self.life == 0 {
            self.deaths += 1;
            self.life = 1 + self.next(30);
            // Some have answered, some have not: the rows of the dead one are gone in any case.
            if self.next(2) == 0 {
                self.workers.ask(step, &request)?;
            }
            let dead = self.next(self.plan.workers().len());
            self.workers.workers()[dead] = worker(self.problem, &self.plan, dead);
            return Err(Trouble::Lost("a worker died".to_owned()));
        }
        self.life -= 1;
        let replies = self.workers.ask(step, &request)?;
        let travelled = replies
            .iter()
            .map(|reply| from_bytes(&to_bytes(reply).unwrap()).unwrap());
        Ok(travelled.collect())
    }

    fn recover(&mut self) -> Result<(), Trouble> {
        self.workers = Self::all(self.problem, &self.plan);
        if let Some((step, rows)) = &self.stored {
            for (worker, rows) in self.workers.workers().iter_mut().zip(rows) {
                worker
                    .restore(*step, rows.as_ref().map(Vec::as_slice))
                    .unwrap();
            }
        }
        Ok(())
    }

    fn store(&mut self, step: u64, _: &[Sweep]) -> Result<(), Trouble> {
        if self.next(3) == 0 {
            self.deaths += 1;
            self.workers = Self::all(self.problem, &self.plan);
            return Err(Trouble::Lost(
                "a worker died while it stored its rows".to_owned(),
            ));
        }
        self.stored = Some((step, self.rows()));
        Ok(())
    }
}

#[test]
fn workers_that_die_at_any_moment_do_not_change_a_bit() {
    let (data, scheme) = (data(), Scheme::uniform(0.05));
    let params = params().check().unwrap();
    let one = fit(&data, &scheme, &params, Run::default()).unwrap();
    let objectives: Vec<f64> = one
        .model
        .history()
        .iter()
        .map(|sweep| sweep.objective.total())
        .collect();
    let problem = Problem::of_data(&data, &scheme, &params).unwrap();
    for (seed, every) in (0..20).zip([None, Some(1), Some(2)].into_iter().cycle()) {
        let plan = Plan::new(&problem, 3);
        let mut workers = Mortal {
            workers: Mortal::all(&problem, &plan),
            problem: &problem,
            plan,
            stored: None,
            life: 1 + seed as usize % 7,
            deaths: 0,
            random: seed,
        };
        let outline = Outline {
            shape: problem.shape(),
            entries: data.len(),
            rank: 1,
            may_be_negative: false,
            at_zero: data.len() as f64,
        };
        let backend = Sharded::new(&mut workers, outline.clone(), &params, 0);
        let run = Run {
            checkpoint_every: every,
            ..Run::default()
        };
        let run = fit_remote(backend, &outline, &params, &RemoteStart::Random, run).unwrap();
        let found: Vec<f64> = run
            .history
            .iter()
            .map(|sweep| sweep.objective.total())
            .collect();
        assert_eq!(found, objectives, "seed {seed}");
        assert!(workers.deaths > 0);
        let (mut at, rows) = (0, workers.rows());
        for row in rows.iter().flat_map(|rows| rows.users.chunks(8)) {
            assert_eq!(
                row,
                one.model.user_factors().row(at),
                "seed {seed}, user {at}"
            );
            at += 1;
        }
        assert_eq!(at, ROWS as usize);
    }
}

#[test]
fn a_step_that_was_made_is_not_made_again() {
    let (data, scheme) = (data(), Scheme::uniform(0.05));
    let params = params().check().unwrap();
    let problem = Problem::of_data(&data, &scheme, &params).unwrap();
    let mut workers = LocalWorkers::new(vec![worker(&problem, &Plan::new(&problem, 1), 0)]);
    let worker = &mut workers.workers()[0];
    let request = Request::HalfSweep {
        axis: Axis::User,
        measured: true,
        caches: None,
        sampled: Vec::new(),
    };
    let own: [&[f32]; 1] = [&[]];
    let received = Received {
        rows: &own,
        whole: &[],
    };
    let mut ask = |step, wave| worker.answer(step, &request, wave, received);
    let first = ask(1, Wave::ALL).unwrap();
    let again = ask(1, Wave::ALL).unwrap();
    assert_eq!(to_bytes(&first).unwrap(), to_bytes(&again).unwrap());
    assert!(ask(3, Wave::ALL).is_err());
    assert!(ask(0, Wave::ALL).is_err());
    let second = Wave { index: 1, count: 2 };
    assert!(ask(2, second).is_err(), "a wave was left out");
    assert_eq!(worker.steps(), 1);
}

#[test]
fn a_step_that_was_made_leaves_the_rows_alone_when_it_is_asked_for_again() {
    let (data, scheme) = (data(), Scheme::uniform(0.05));
    let params = params().check().unwrap();
    let problem = Problem::of_data(&data, &scheme, &params).unwrap();
    let mut workers = LocalWorkers::new(vec![worker(&problem, &Plan::new(&problem, 1), 0)]);
    let request = Request::HalfSweep {
        axis: Axis::User,
        measured: false,
        caches: None,
        sampled: Vec::new(),
    };
    workers.ask(1, &request).unwrap();
    let rows = workers.workers()[0].all_rows(Axis::User);
    workers.ask(1, &request).unwrap();
    assert_eq!(workers.workers()[0].all_rows(Axis::User), rows);
}
