//! Runs that are resumed, cancelled, cut short or refused.

use absentia::Dense;
use absentia::fit::backend::{
    Backend, Device, Halt, LocalBackend, ObjectiveSums, Precision, Problem,
};
use absentia::fit::{
    Cancel, Checkpoint, Control, Estimate, FitError, Observer, Run, StopReason, Sweep, Validation,
    fit_on,
};
use absentia::model::Factors;
use absentia::weights::{Learned, Scheme};
use absentia::{Axis, Params, Sides, Solver};
use absentia_lab::generate::{Generator, GeneratorParams};

use super::{DEVICE, fit, train};
use crate::oracle;
use crate::{SOLVERS, bits, params, shape};

/// Stops after some sweeps, keeping the last checkpoint.
struct StopAfter {
    sweeps: usize,
    checkpoint: Option<Checkpoint>,
}

impl Observer for StopAfter {
    fn swept(&mut self, sweep: &Sweep) -> Control {
        if sweep.iteration >= self.sweeps {
            Control::Stop
        } else {
            Control::Continue
        }
    }

    fn checkpoint(&mut self, checkpoint: &Checkpoint) -> Control {
        self.checkpoint = Some(checkpoint.clone());
        Control::Continue
    }
}

#[test]
fn resuming_ends_in_the_bits_of_an_uninterrupted_run() {
    let problem = oracle::Problem::random(shape());
    let (data, scheme) = (problem.interactions(), problem.scheme());
    for solver in SOLVERS {
        let checked = params(solver).iterations(6).check().unwrap();
        let whole = fit(&data, &scheme, &checked, Run::default()).unwrap();
        for sweeps in [1, 4] {
            let mut observer = StopAfter {
                sweeps,
                checkpoint: None,
            };
            let run = Run {
                observer: Some(&mut observer),
                checkpoint_every: Some(1),
                ..Run::default()
            };
            let part = fit(&data, &scheme, &checked, run).unwrap();
            assert_eq!(
                (part.reason, part.model.history().len()),
                (StopReason::Observer, sweeps)
            );
            let resume = observer.checkpoint;
            let rest = fit(
                &data,
                &scheme,
                &checked,
                Run {
                    resume,
                    ..Run::default()
                },
            )
            .unwrap();
            assert_eq!(bits(&whole), bits(&rest), "{solver:?} from sweep {sweeps}");
        }
    }
    let other = params(Solver::Eals)
        .iterations(6)
        .regularization(0.3)
        .check()
        .unwrap();
    let whole = fit(
        &data,
        &scheme,
        &params(Solver::Eals).check().unwrap(),
        Run::default(),
    )
    .unwrap();
    let error = fit(
        &data,
        &scheme,
        &other,
        Run {
            resume: Some(whole.checkpoint),
            ..Run::default()
        },
    )
    .unwrap_err();
    assert!(error.to_string().contains("parameter"), "{error}");
}

/// A device whose backends raise a flag at the start of a half-sweep.
struct CancelAt<D> {
    device: D,
    half_sweep: usize,
    cancel: Cancel,
}

struct CancellingBackend<B> {
    backend: B,
    half_sweeps_left: usize,
    cancel: Cancel,
}

impl<D: Device> Device for CancelAt<D> {
    type Backend<'p> = CancellingBackend<D::Backend<'p>>;

    fn backend<'p>(
        &self,
        problem: &'p Problem<'p>,
        solver: Solver,
        start: Sides<Dense>,
    ) -> Self::Backend<'p> {
        CancellingBackend {
            backend: self.device.backend(problem, solver, start),
            half_sweeps_left: self.half_sweep,
            cancel: self.cancel.clone(),
        }
    }
}

impl<B: Backend> Backend for CancellingBackend<B> {
    fn half_sweep(&mut self, axis: Axis, measured: bool, cancel: &Cancel) -> Result<(), Halt> {
        self.half_sweeps_left -= 1;
        if self.half_sweeps_left == 0 {
            self.cancel.cancel();
        }
        self.backend.half_sweep(axis, measured, cancel)
    }

    fn sum_caches(&mut self, axis: Axis) -> Result<(), Halt> {
        self.backend.sum_caches(axis)
    }

    fn undo(&mut self, axis: Axis) -> Result<(), Halt> {
        self.backend.undo(axis)
    }

    fn objective_sums(&mut self, precision: Precision) -> Result<ObjectiveSums, Halt> {
        self.backend.objective_sums(precision)
    }
}

impl<B: LocalBackend> LocalBackend for CancellingBackend<B> {
    fn factors(&self) -> Sides<Factors> {
        self.backend.factors()
    }
}

#[test]
fn a_cancelled_run_yields_the_model_of_its_last_complete_sweep() {
    let data = Generator::new(GeneratorParams::new(300, 200, 4000))
        .unwrap()
        .interactions()
        .unwrap();
    let scheme = Scheme::uniform(0.05);
    let base = Params::new().factors(16).iterations(5);
    // In the middle of the users of the third sweep, and of its items.
    for half_sweep in [5, 6] {
        let cancel = Cancel::new();
        let device = CancelAt {
            device: DEVICE,
            half_sweep,
            cancel: cancel.clone(),
        };
        let run = Run {
            cancel,
            ..Run::default()
        };
        let checked = base.clone().check().unwrap();
        let cut = fit_on(&device, &data, &scheme, &checked, run).unwrap();
        assert_eq!(cut.reason, StopReason::Cancelled);
        assert_eq!(cut.model.history().len(), 2);
        let again = train(&data, &scheme, base.clone().iterations(2));
        assert_eq!(bits(&cut), bits(&again));
    }
}

/// Hardware whose half-sweeps all raise the objective.
struct Rising<D>(D);

struct RisingBackend<B> {
    backend: B,
    half_sweeps: u32,
}

impl<D: Device> Device for Rising<D> {
    type Backend<'p> = RisingBackend<D::Backend<'p>>;

    fn backend<'p>(
        &self,
        problem: &'p Problem<'p>,
        solver: Solver,
        start: Sides<Dense>,
    ) -> Self::Backend<'p> {
        RisingBackend {
            backend: self.0.backend(problem, solver, start),
            half_sweeps: 0,
        }
    }
}

impl<B: Backend> Backend for RisingBackend<B> {
    fn half_sweep(&mut self, axis: Axis, measured: bool, cancel: &Cancel) -> Result<(), Halt> {
        self.half_sweeps += 1;
        self.backend.half_sweep(axis, measured, cancel)
    }

    fn sum_caches(&mut self, axis: Axis) -> Result<(), Halt> {
        self.backend.sum_caches(axis)
    }

    fn undo(&mut self, axis: Axis) -> Result<(), Halt> {
        self.half_sweeps -= 1;
        self.backend.undo(axis)
    }

    fn objective_sums(&mut self, precision: Precision) -> Result<ObjectiveSums, Halt> {
        let mut sums = self.backend.objective_sums(precision)?;
        sums.objective.observed = 1e6 * f64::from(1 + self.half_sweeps);
        (sums.objective.missing, sums.objective.regularization) = (0.0, 0.0);
        Ok(sums)
    }
}

impl<B: LocalBackend> LocalBackend for RisingBackend<B> {
    fn factors(&self) -> Sides<Factors> {
        self.backend.factors()
    }
}

#[test]
fn a_sweep_that_raises_the_objective_in_any_precision_ends_the_run_with_an_error() {
    let data = Generator::new(GeneratorParams::new(300, 200, 4000))
        .unwrap()
        .interactions()
        .unwrap();
    let params = Params::new().factors(4).check().unwrap();
    let scheme = Scheme::uniform(0.05);
    let error = fit_on(&Rising(DEVICE), &data, &scheme, &params, Run::default()).unwrap_err();
    let expected = FitError::Rises {
        iteration: 1,
        before: 1e6,
        after: 3e6,
    };
    assert_eq!(error, expected);
    assert!(error.to_string().contains("from 1e6 to 3e6"), "{error}");
}

#[test]
fn patience_keeps_the_best_model_not_the_last() {
    let data = Generator::new(GeneratorParams::new(200, 150, 2000))
        .unwrap()
        .interactions()
        .unwrap();
    let checked = Params::new().factors(4).iterations(50).check().unwrap();
    let mut scores = [0.1, 0.5, 0.4, f64::NAN, 0.3, 0.9].into_iter();
    let validation = Validation {
        metric: Box::new(move |_| scores.next().unwrap()),
        every: 1,
        patience: Some(3),
    };
    let run = Run {
        validation: Some(validation),
        ..Run::default()
    };
    let fitted = fit(&data, &Scheme::uniform(0.1), &checked, run).unwrap();
    assert_eq!(
        (fitted.reason, fitted.chosen_iteration),
        (StopReason::Patience, 2)
    );
    let second = train(
        &data,
        &Scheme::uniform(0.1),
        Params::new().factors(4).iterations(2),
    );
    assert_eq!(fitted.model.user_factors(), second.model.user_factors());
    assert_eq!(fitted.checkpoint.iterations(), 5);
}

#[test]
fn a_tolerance_ends_the_run() {
    let data = Generator::new(GeneratorParams::new(200, 150, 2000))
        .unwrap()
        .interactions()
        .unwrap();
    let fitted = train(
        &data,
        &Scheme::uniform(0.1),
        Params::new().factors(4).iterations(500).tolerance(1e-4),
    );
    assert_eq!(fitted.reason, StopReason::Converged);
    assert!(fitted.model.history().len() < 500);
}

#[test]
fn a_run_that_cannot_fit_is_refused_with_numbers() {
    let data = Generator::new(GeneratorParams::new(200, 150, 2000))
        .unwrap()
        .interactions()
        .unwrap();
    let checked = Params::new().memory_limit(10_000).check().unwrap();
    let text = fit(&data, &Scheme::uniform(0.1), &checked, Run::default())
        .unwrap_err()
        .to_string();
    assert!(text.contains("10000") && text.contains("bytes"), "{text}");
}

/// Cancels, or stops, once some sweeps of the estimate of learned weights are made.
struct EndEstimate {
    after: usize,
    cancel: Option<Cancel>,
    estimates: Vec<Estimate>,
    sweeps: usize,
}

impl Observer for EndEstimate {
    fn estimating(&mut self, estimate: &Estimate) -> Control {
        self.estimates.push(*estimate);
        if estimate.done < self.after {
            return Control::Continue;
        }
        match &self.cancel {
            Some(cancel) => {
                cancel.cancel();
                Control::Continue
            }
            None => Control::Stop,
        }
    }

    fn swept(&mut self, _: &Sweep) -> Control {
        self.sweeps += 1;
        Control::Continue
    }
}

#[test]
fn the_estimate_of_learned_weights_can_be_followed_and_cancelled() {
    let data = Generator::new(GeneratorParams::new(200, 150, 2000))
        .unwrap()
        .interactions()
        .unwrap();
    let scheme = Scheme::learned(Learned {
        rounds: 3,
        ..Learned::new(0.1)
    });
    let checked = Params::new().factors(4).iterations(3).check().unwrap();
    let follow = |after: usize, cancel: Option<Cancel>| {
        let mut observer = EndEstimate {
            after,
            cancel: cancel.clone(),
            estimates: Vec::new(),
            sweeps: 0,
        };
        let run = Run {
            observer: Some(&mut observer),
            cancel: cancel.unwrap_or_default(),
            ..Run::default()
        };
        let fitted = fit(&data, &scheme, &checked, run).unwrap();
        (fitted, observer.estimates, observer.sweeps)
    };
    let (whole, estimates, sweeps) = follow(usize::MAX, None);
    assert_eq!((whole.reason, sweeps), (StopReason::Iterations, 3));
    let total = estimates[0].total;
    let done: Vec<usize> = estimates.iter().map(|estimate| estimate.done).collect();
    assert_eq!(done, (1..=total).collect::<Vec<_>>());

    let (cut, estimates, sweeps) = follow(2, Some(Cancel::new()));
    assert_eq!((cut.reason, sweeps), (StopReason::Cancelled, 0));
    assert_eq!(estimates.len(), 2);
    assert!(cut.model.history().is_empty());
    let (stopped, estimates, _) = follow(5, None);
    assert_eq!((stopped.reason, estimates.len()), (StopReason::Observer, 5));

    // Nothing was trained yet: going on is starting again.
    let run = Run {
        resume: Some(cut.checkpoint),
        ..Run::default()
    };
    let resumed = fit(&data, &scheme, &checked, run).unwrap();
    assert_eq!(bits(&whole), bits(&resumed));
}
