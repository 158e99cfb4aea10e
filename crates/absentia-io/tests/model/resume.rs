//! A run that is killed and resumed ends as if it had not been.

use std::path::{Path, PathBuf};

use absentia::fit::{Checkpoint, Control, Fitted, Observer, Run, Validation, fit};
use absentia::weights::{Scheme, Strength};
use absentia::{Model, Params, Solver};
use absentia_io::model::{Ids, load_checkpoint, save_checkpoint};

use crate::build::{bits, interactions};

const USERS: u32 = 40;
const ITEMS: u32 = 31;

/// Saves every checkpoint, and is killed after one of them.
struct Killed {
    path: PathBuf,
    after: usize,
}

impl Observer for Killed {
    fn checkpoint(&mut self, checkpoint: &Checkpoint) -> Control {
        save_checkpoint(
            &self.path,
            checkpoint,
            &Ids::dense(USERS, ITEMS),
            None,
            None,
        )
        .unwrap();
        if checkpoint.iterations() == self.after {
            Control::Stop
        } else {
            Control::Continue
        }
    }
}

/// Rises, then falls, so that the best model is not the last.
fn metric(model: &Model) -> f64 {
    let sweeps = model.history().len() as f64;
    f64::from(model.scores(&[(0, 0)]).unwrap()[0]) / 100.0 - (sweeps - 4.0).abs()
}

fn train(solver: Solver, resume: Option<Checkpoint>, killed: Option<&mut Killed>) -> Fitted {
    let data = interactions(USERS, ITEMS);
    let scheme = Scheme::popularity(Strength::Mean(0.2), 0.5);
    let params = Params::new()
        .factors(11)
        .iterations(7)
        .solver(solver)
        .init_std(0.1)
        .post_scale(0.3);
    let run = Run {
        resume,
        validation: Some(Validation {
            metric: Box::new(metric),
            every: 1,
            patience: None,
        }),
        observer: killed.map(|killed| killed as &mut dyn Observer),
        checkpoint_every: Some(1),
        ..Run::default()
    };
    fit(&data, &scheme, &params.check().unwrap(), run).unwrap()
}

fn resumed(solver: Solver, after: usize, folder: &Path) -> Fitted {
    let path = folder.join("c.absentia");
    let mut killed = Killed {
        path: path.clone(),
        after,
    };
    train(solver, None, Some(&mut killed));
    let checkpoint = load_checkpoint(&path).unwrap().checkpoint;
    assert_eq!(checkpoint.iterations(), after);
    train(solver, Some(checkpoint), None)
}

#[test]
fn killed_at_any_sweep_and_resumed_the_run_ends_in_the_same_bits() {
    let folder = tempfile::tempdir().unwrap();
    for solver in [
        Solver::Eals,
        Solver::Subspace { block: 4 },
        Solver::AlsCg { steps: 2 },
    ] {
        let whole = train(solver, None, None);
        for after in 1..7 {
            let resumed = resumed(solver, after, folder.path());
            assert_eq!(resumed.chosen_iteration, whole.chosen_iteration);
            for (one, other) in [
                (&whole.model, &resumed.model),
                (&whole.checkpoint.model, &resumed.checkpoint.model),
            ] {
                assert_eq!(bits(one.user_factors()), bits(other.user_factors()));
                assert_eq!(bits(one.item_factors()), bits(other.item_factors()));
                let course = |model: &Model| -> Vec<_> {
                    let sweeps = model.history().iter();
                    sweeps
                        .map(|s| (s.iteration, s.objective, s.validation))
                        .collect()
                };
                assert_eq!(course(one), course(other));
            }
        }
    }
}
