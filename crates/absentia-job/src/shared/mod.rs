//! Jobs that several workers share: what can be shared, the part of each worker, and what all must agree on.

mod facts;
mod frame;
mod record;
mod spread;
mod waves;

use absentia::error::Axis;
use absentia::fit::backend::Problem;
use absentia::fit::shard::ShardParts;
use absentia::weights::{SchemeSpec, Term};
use absentia::{Dense, Method, Params, Sides, Solver};
use absentia_shard::Plan;

use crate::error::JobError;
use crate::fingerprint::of_data;
use crate::job::Job;
use crate::listener::Listener;
use crate::training::Training;
use crate::validation::HeldOutRows;
use record::{RowSums, ids_of};

pub use facts::{Agreed, Facts, Need, Platform};
pub use frame::Frame;
pub use record::Record;
pub use spread::{Bundle, Finished, Opened, Spread};
pub use waves::shards;

/// The part of a job that one worker trains.
pub struct Part {
    /// Its rows and entries, in the parts that are trained one after the other.
    pub parts: Vec<ShardParts>,
    /// The factors of its rows to start from.
    pub start: Sides<Dense>,
    /// What trains them.
    pub solver: Solver,
    /// The parameters of the run.
    pub params: Params,
    /// What it has in common with the parts of others.
    pub facts: Facts,
    /// What a model of all parts has beside its factors.
    pub frame: Frame,
}

impl Job {
    /// The solver of a job that workers can share.
    ///
    /// # Errors
    /// What cannot be divided among workers, by name.
    pub fn check_shared(&self) -> Result<Solver, JobError> {
        let refused =
            |what: String, remedy: &'static str| Err(JobError::NotShared { what, remedy });
        let solvers = "use eals, subspace, als or als-cg";
        let solver = match self.method() {
            Method::Baseline(_) => {
                return refused(format!("the baseline {}", self.method().name()), solvers);
            }
            Method::Solver(Solver::EalsVanilla) => {
                return refused("the solver eals-vanilla".to_owned(), solvers);
            }
            Method::Solver(solver) => solver,
        };
        let weights: SchemeSpec = self.weights()?;
        if let Some(name) = weights.terms().iter().find_map(Term::not_divisible) {
            return refused(
                format!("{name} weights"),
                "train on one machine, or use weights that follow from counts, groups or two factors",
            );
        }
        if !self.relation.is_empty() {
            return refused("a relation".to_owned(), "train on one machine");
        }
        if self.validation.held_out() != HeldOutRows::None {
            return refused(
                "choosing the best model on held-out rows".to_owned(),
                "leave out valid and valid-split, and evaluate the model when it is trained",
            );
        }
        if self.settings.automatic().regularization {
            return refused(
                "choosing the regularization".to_owned(),
                "give regularization; `absentia tune` finds one on a sample of the data",
            );
        }
        if self.settings.post_scale_half_life.is_some() {
            return refused(
                "a half-life of the post-scaling".to_owned(),
                "give post-scale alone",
            );
        }
        Ok(solver)
    }

    /// Reads all data and cuts the part of one worker out of it.
    ///
    /// # Errors
    /// What workers cannot share, data that cannot be read or trained on.
    pub fn part(
        &self,
        worker: usize,
        workers: usize,
        listener: &dyn Listener,
    ) -> Result<Part, JobError> {
        let solver = self.check_shared()?;
        let data = self.read(listener)?;
        let training = self.training(data.input())?;
        let (params, init) = (training.params.clone(), self.start(&training)?);
        params.clone().check()?;
        let problem = Problem::of_data(&data.data, &training.scheme, &params)?;
        let plan = Plan::new(&problem, workers);
        let parts = ShardParts::cut(&problem, &plan.workers()[worker]);
        let ids = Sides {
            users: ids_of(&data.ids.users, parts.rows(Axis::User)),
            items: ids_of(&data.ids.items, parts.rows(Axis::Item)),
        };
        let row_sums = RowSums::of(&problem, &parts, &ids);
        Ok(Part {
            start: parts.start(&init, &params)?,
            facts: Facts::of(
                (worker, workers),
                (self, &self.weights()?),
                (&problem, &parts),
                (of_data(&data.data, &data.ids, &[]), row_sums),
            )?,
            frame: Frame::of(&problem, data.ids.clone(), self.configuration_of(&training)),
            parts: vec![parts],
            solver,
            params,
        })
    }

    fn configuration_of(&self, training: &Training<'_>) -> Option<String> {
        toml::to_string(&self.as_run(training)).ok()
    }
}
