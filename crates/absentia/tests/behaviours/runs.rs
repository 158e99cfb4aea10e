//! Runs that are resumed, cancelled, cut short or refused.

use absentia::data::{Duplicates, Triplets};
use absentia::fit::{
    Cancel, Checkpoint, Control, Estimate, Observer, Run, StopReason, Sweep, Validation, fit,
};
use absentia::weights::{Learned, Scheme};
use absentia::{Params, Solver};
use absentia_lab::generate::{Generator, GeneratorParams};

use crate::oracle::Problem;
use crate::{SOLVERS, bits, params, shape, train};

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
    let problem = Problem::random(shape());
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

/// Raises a flag from within the run, in the middle of a sweep as far as the run can tell.
struct CancelAt(usize, Cancel);

impl Observer for CancelAt {
    fn swept(&mut self, sweep: &Sweep) -> Control {
        if sweep.iteration == self.0 {
            let cancel = self.1.clone();
            std::thread::spawn(move || cancel.cancel());
        }
        Control::Continue
    }
}

#[test]
fn a_cancelled_run_yields_the_model_of_its_last_complete_sweep() {
    let data = Generator::new(GeneratorParams::new(3000, 2000, 120_000))
        .unwrap()
        .interactions()
        .unwrap();
    let scheme = Scheme::uniform(0.05);
    let checked = Params::new().factors(32).iterations(500).check().unwrap();
    let cancel = Cancel::new();
    let mut observer = CancelAt(2, cancel.clone());
    let run = Run {
        observer: Some(&mut observer),
        cancel,
        ..Run::default()
    };
    let cut = fit(&data, &scheme, &checked, run).unwrap();
    assert_eq!(cut.reason, StopReason::Cancelled);
    let made = cut.model.history().len();
    assert!((2..500).contains(&made));
    let again = train(&data, &scheme, Params::new().factors(32).iterations(made));
    assert_eq!(bits(&cut), bits(&again));
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

#[test]
fn a_user_with_very_many_entries_stalls_nobody() {
    let (mut users, mut items) = (vec![0; 200_000], (0..200_000).collect::<Vec<u32>>());
    for user in 1..=10_000 {
        users.push(user);
        items.push(user * 7 % 200_000);
    }
    let data = Triplets::new(&users, &items)
        .build(10_001, 200_000, Duplicates::Last)
        .unwrap();
    // A solver that formed products of pairs of entries would take hours and terabytes here.
    for solver in [
        Solver::Eals,
        Solver::Subspace { block: 16 },
        Solver::Als,
        Solver::AlsCg { steps: 3 },
    ] {
        let fitted = train(
            &data,
            &Scheme::uniform(1e-4),
            Params::new()
                .factors(16)
                .iterations(2)
                .solver(solver)
                .threads(2),
        );
        assert_eq!(fitted.model.history().len(), 2);
    }
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
