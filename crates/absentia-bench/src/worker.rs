//! One measured run of our engine, as anyone would call it.

use std::time::{Duration, Instant};

use absentia::Dense;
use absentia::data::{Confidence, Interactions, Targets};
use absentia::evaluate::{EvaluateOptions, History, Metric, TestSet, evaluate};
use absentia::fit::{Checkpoint, Control, Init, Observer, Sweep};
use absentia::model::Factors;
use absentia::ranking::{RankRequest, Scorer};
use absentia::weights::{Scheme, Strength};
use absentia::{Params, Run, Solver, fit};
use anyhow::{Context, Result, bail};

use crate::request::{Answer, Objective, Request, Task};
use crate::{arrays, big, data, process};

/// Carries out a request.
pub(crate) fn run(request: &Request) -> Result<Answer> {
    // Evaluation and building run on as many threads as training does.
    rayon::ThreadPoolBuilder::new()
        .num_threads(request.threads)
        .build_global()?;
    let rest_bytes = process::resident();
    let mut answer = match request.task {
        Task::Sweeps => sweeps(request)?,
        Task::Curve => curve(request)?,
        Task::Recommend => recommend(request)?,
        Task::Big => big::measure(request)?,
        Task::Peak => bail!("the peak is measured by a peer's matrix product"),
    };
    answer.peak_bytes = process::peak();
    answer.rest_bytes = rest_bytes;
    env!("CARGO_PKG_VERSION").clone_into(&mut answer.version);
    Ok(answer)
}

/// Weights on missing entries and parameters of an objective.
pub(crate) fn settings(request: &Request) -> Result<(Scheme, Params)> {
    let solver = match request.solver.as_str() {
        "eals" => Solver::Eals,
        "subspace" => Solver::Subspace {
            block: request.block,
        },
        "als-cg" => Solver::AlsCg { steps: 3 },
        other => bail!("no solver is called {other:?} here"),
    };
    let params = Params::new()
        .factors(request.factors)
        .iterations(request.iterations)
        .solver(solver)
        .threads(request.threads);
    let popularity = |alpha| Scheme::popularity(Strength::Mean(0.1), alpha);
    Ok(match request.objective {
        Objective::Default => (popularity(0.4), params),
        Objective::Implicit => (
            Scheme::uniform(1.0),
            params
                .confidence(Confidence::Constant { weight: 50.0 })
                .regularization(60.0)
                .reg_exponent(0.0),
        ),
        Objective::Own => (
            popularity(0.25),
            params
                .targets(Targets::Normalized {
                    user: 0.35,
                    item: 0.35,
                })
                .regularization(0.001)
                .post_scale(0.45),
        ),
    })
}

/// Positive weights of rank Z with a mean of 0.1.
fn random_weights(users: usize, items: usize, rank: usize) -> Scheme {
    let value = |row: usize, col: usize| 1.0 + 0.5 * ((row * 131 + col * 71) as f64).sin() as f32;
    let share = 0.1 / rank as f32;
    Scheme::low_rank(
        Dense::from_fn(users, rank, value),
        Dense::from_fn(items, rank, |row, col| share * value(row + 7777, col)),
    )
}

/// Seconds of each sweep.
#[derive(Default)]
pub(crate) struct Seconds {
    pub(crate) all: Vec<f64>,
    /// Whether each is printed at once.
    pub(crate) printed: bool,
}

impl Observer for Seconds {
    fn swept(&mut self, sweep: &Sweep) -> Control {
        if self.printed {
            eprintln!("sweep {} took {:.1} s", sweep.iteration, sweep.seconds);
        }
        self.all.push(sweep.seconds);
        Control::Continue
    }
}

fn sweeps(request: &Request) -> Result<Answer> {
    let data = data::read(&request.data, request.items)?;
    let (mut scheme, params) = settings(request)?;
    if request.rank > 0 {
        scheme = random_weights(data.n_users(), data.n_items(), request.rank);
    }
    let mut seconds = Seconds::default();
    let run = Run {
        observer: Some(&mut seconds),
        ..Run::default()
    };
    fit(&data, &scheme, &params.check()?, run)?;
    Ok(Answer {
        seconds: seconds.all,
        ..Answer::default()
    })
}

/// Recall@20 of scores on held-out entries, all unseen items ranked.
pub(crate) fn recall(scorer: &dyn Scorer, train: &Interactions<'_>, test: &TestSet) -> Result<f64> {
    let options = EvaluateOptions {
        cutoffs: vec![20],
        metrics: vec![Metric::Recall],
        ..EvaluateOptions::default()
    };
    let found = evaluate(scorer, &History::of(train), test, &options, &|_, _| {})?;
    Ok(found.get("recall@20").context("no recall")?.summary.mean)
}

/// Takes a point of the curve whenever the run shows its state.
struct Points<'d> {
    train: &'d Interactions<'d>,
    /// Held-out entries; without them only the time is taken.
    test: Option<TestSet>,
    start: Instant,
    paused: Duration,
    answer: Answer,
    failure: Option<anyhow::Error>,
}

impl Observer for Points<'_> {
    fn swept(&mut self, sweep: &Sweep) -> Control {
        self.answer.seconds.push(sweep.seconds);
        Control::Continue
    }

    fn checkpoint(&mut self, checkpoint: &Checkpoint) -> Control {
        let now = Instant::now();
        let elapsed = (now - self.start).saturating_sub(self.paused);
        let scorer = checkpoint.model.scorer();
        let found = self
            .test
            .as_ref()
            .map(|test| recall(&scorer, self.train, test));
        match found.transpose() {
            Ok(recall) => self.answer.recall.extend(recall),
            Err(error) => self.failure = Some(error),
        }
        self.answer.measured.push(checkpoint.iterations());
        self.answer.elapsed.push(elapsed.as_secs_f64());
        self.paused += now.elapsed();
        if self.failure.is_some() {
            return Control::Stop;
        }
        Control::Continue
    }
}

fn curve(request: &Request) -> Result<Answer> {
    let data = data::read(&request.data, request.items)?;
    let held_out = request
        .test
        .as_ref()
        .map(|folder| data::read(folder, request.items));
    let (scheme, params) = settings(request)?;
    let mut points = Points {
        train: &data,
        test: held_out
            .transpose()?
            .as_ref()
            .map(TestSet::from_interactions),
        start: Instant::now(),
        paused: Duration::ZERO,
        answer: Answer::default(),
        failure: None,
    };
    let run = Run {
        observer: Some(&mut points),
        init: match request.passes {
            0 => Init::Gaussian,
            passes => Init::Sketch { passes },
        },
        checkpoint_every: Some(if request.last_only {
            request.iterations
        } else {
            1
        }),
        ..Run::default()
    };
    fit(&data, &scheme, &params.check()?, run)?;
    match points.failure {
        Some(error) => Err(error),
        None => Ok(points.answer),
    }
}

/// Trains a model, leaves its factors and times recommending to everyone.
fn recommend(request: &Request) -> Result<Answer> {
    const SWEEPS: usize = 4;
    let data = data::read(&request.data, request.items)?;
    let (scheme, params) = settings(request)?;
    let model = fit(
        &data,
        &scheme,
        &params.iterations(SWEEPS).check()?,
        Run::default(),
    )?
    .model;
    let out = request
        .out
        .as_ref()
        .context("recommending needs a folder")?;
    write_factors(&out.join("users.npy"), model.user_factors())?;
    write_factors(&out.join("items.npy"), model.item_factors())?;
    let users: Vec<u32> = (0..data.n_users() as u32).collect();
    let unseen = RankRequest {
        users: &users,
        top: 20,
        exclude: Some(&data),
        ..RankRequest::default()
    };
    let (mut answer, mut lists) = (Answer::default(), Vec::new());
    for _ in 0..request.iterations {
        let start = Instant::now();
        lists = model.recommend(&unseen)?;
        answer.seconds.push(start.elapsed().as_secs_f64());
    }
    let ids: Vec<u32> = lists.iter().flatten().map(|scored| scored.item).collect();
    arrays::write_u32(&out.join("absentia-ids.npy"), &[users.len(), 20], &ids)?;
    Ok(answer)
}

fn write_factors(path: &std::path::Path, factors: &Factors) -> Result<()> {
    let (rows, cols) = (factors.rows(), factors.cols());
    let values = (0..rows).flat_map(|row| factors.row(row).iter().copied());
    let values: Vec<f32> = values.collect();
    Ok(absentia_io::npy::write_file(path, &[rows, cols], &values)?)
}
