//! The backend of a run whose factors are with workers.

use std::collections::BTreeMap;

use absentia::error::Axis;
use absentia::fit::backend::{
    Backend, EntryLoss, Halt, NotConvex, ObjectiveSums, Precision, RemoteBackend, RowSum,
};
use absentia::fit::shard::{Caches, ObjectiveShare, SampledEntry, Totals, sizes_of_sample};
use absentia::fit::{Cancel, Outline, Sweep};
use absentia::{Params, Sides};

use crate::message::{Reply, Request};

/// Why workers did not answer.
#[derive(Clone, Debug, PartialEq)]
pub enum Trouble {
    /// Workers are lost; others can take their place.
    Lost(String),
    /// Nothing can be done.
    Fatal(String),
}

/// The workers of a run, wherever they are.
pub trait Workers: Send {
    /// Asks all workers for a step, and yields their answers in the order of the workers. They send each other
    /// the rows that the request [reads](Request::reads).
    ///
    /// # Errors
    /// Workers that are lost, requests that cannot be answered.
    fn ask(&mut self, step: u64, request: &Request) -> Result<Vec<Reply>, Trouble>;

    /// Replaces workers that are lost and brings all back to the last stored state, or to the start if there is
    /// none.
    ///
    /// # Errors
    /// Workers that cannot be replaced.
    fn recover(&mut self) -> Result<(), Trouble>;

    /// Stores the state after `step`, in which `history` has been made, so that workers can be brought back to
    /// it.
    ///
    /// # Errors
    /// Workers that are lost, a state that cannot be written.
    fn store(&mut self, step: u64, history: &[Sweep]) -> Result<(), Trouble>;
}

impl<W: Workers> Workers for &mut W {
    fn ask(&mut self, step: u64, request: &Request) -> Result<Vec<Reply>, Trouble> {
        (**self).ask(step, request)
    }

    fn recover(&mut self) -> Result<(), Trouble> {
        (**self).recover()
    }

    fn store(&mut self, step: u64, history: &[Sweep]) -> Result<(), Trouble> {
        (**self).store(step, history)
    }
}

/// Losses in a row, without any step between them, after which a run gives up.
const MOST_LOSSES: usize = 16;

/// The sums of a run whose factors are with workers.
///
/// It keeps every step since the last stored state. When workers are lost, the state is restored, the steps are
/// made again with the numbers that they had, and the run goes on as if nothing had happened: all steps depend
/// on the state alone, so that they have the same bits.
pub struct Sharded<W> {
    pub(crate) workers: W,
    outline: Outline,
    factors: usize,
    /// Steps made, and those since the last stored state.
    steps: u64,
    log: Vec<Request>,
    /// What the rows of each side add to the caches, and the caches of all.
    sums: Sides<Option<Vec<f64>>>,
    caches: Sides<Option<Caches>>,
    ridge: Sides<Option<f64>>,
    loss: Option<EntryLoss>,
    /// The sample of entries after the last half-sweep of users, and its items after the last one of items, where no
    /// other step has changed the side since.
    sample: Option<Vec<SampledEntry>>,
    sampled_items: Option<BTreeMap<u32, Vec<f32>>>,
}

impl<W: Workers> Sharded<W> {
    /// A run on workers that have the factors after `steps` steps.
    #[must_use]
    pub fn new(workers: W, outline: Outline, params: &Params, steps: u64) -> Self {
        Self {
            workers,
            outline,
            factors: params.factors,
            steps,
            log: Vec::new(),
            sums: Sides::default(),
            caches: Sides::default(),
            ridge: Sides::default(),
            loss: None,
            sample: None,
            sampled_items: None,
        }
    }

    /// Asks all workers, and replaces those that are lost until all have answered.
    fn ask(&mut self, request: Request) -> Result<Vec<Reply>, Halt> {
        let mut losses = 0;
        let mut is_behind = false;
        loop {
            let caught_up = if is_behind { self.catch_up() } else { Ok(()) };
            let answered = caught_up.and_then(|()| self.workers.ask(self.steps + 1, &request));
            match answered {
                Ok(replies) => {
                    if request.writes().is_some() {
                        self.steps += 1;
                        self.log.push(request);
                    }
                    return Ok(replies);
                }
                Err(Trouble::Fatal(reason)) => return Err(Halt::Failed(reason)),
                Err(Trouble::Lost(reason)) if losses == MOST_LOSSES => {
                    return Err(Halt::Failed(format!(
                        "workers were lost {losses} times in a row: {reason}"
                    )));
                }
                Err(Trouble::Lost(_)) => (losses, is_behind) = (losses + 1, true),
            }
        }
    }

    /// Restores the last stored state and makes the steps since then again.
    fn catch_up(&mut self) -> Result<(), Trouble> {
        self.workers.recover()?;
        let first = self.steps - self.log.len() as u64;
        for (step, request) in (first + 1..).zip(&self.log) {
            self.workers.ask(step, request)?;
        }
        Ok(())
    }

    /// Asks for a step that changes rows, and keeps what it sums.
    fn change(&mut self, request: Request, axis: Axis) -> Result<RowSum<EntryLoss>, Halt> {
        let has_sample = matches!(request, Request::HalfSweep { .. });
        let replies = self.ask(request)?;
        let mut first: Option<NotConvex> = None;
        let (mut total, mut sums) = (RowSum::default(), RowSum::default());
        let (mut entries, mut items) = (Vec::new(), BTreeMap::new());
        for reply in replies {
            match reply {
                Reply::Changed {
                    loss,
                    caches,
                    sample,
                } => {
                    total = total.merge(loss);
                    sums = sums.merge(caches);
                    entries.extend(sample.entries);
                    items.extend(sample.items);
                }
                Reply::NotConvex(at) => {
                    let is_first = first.is_none_or(|first| at.row < first.row);
                    first = if is_first { Some(at) } else { first };
                }
                other => return Err(unexpected(&other)),
            }
        }
        if let Some(at) = first {
            // Other workers have changed their rows.
            self.ask(Request::Undo { axis })?;
            return Err(Halt::NotConvex(at));
        }
        self.sums[axis] = sums.total();
        self.caches[axis] = None;
        match axis {
            Axis::User => self.sample = has_sample.then_some(entries),
            Axis::Item => self.sampled_items = has_sample.then_some(items),
        }
        Ok(total)
    }

    /// The items of the sample, to be sent back by a half-sweep of items.
    fn sampled(&self, axis: Axis) -> Vec<u32> {
        let entries = self.sample.iter().flatten();
        let mut items: Vec<u32> = match axis {
            Axis::User => Vec::new(),
            Axis::Item => entries.map(|entry| entry.item).collect(),
        };
        items.sort_unstable();
        items.dedup();
        items
    }

    /// What the rows of all workers add to the objective: from the sample alone where the half-sweeps have summed the
    /// rest, otherwise all workers are asked.
    fn share(&mut self, precision: Precision, measured: bool) -> Result<ObjectiveShare, Halt> {
        if measured
            && precision == Precision::Fast
            && let (Some(entries), Some(items)) = (&self.sample, &self.sampled_items)
            && let Some(sizes) = sizes_of_sample(entries.iter().collect(), items)
        {
            return Ok(ObjectiveShare::of_sample(sizes));
        }
        let mut share = ObjectiveShare::default();
        for reply in self.ask(Request::SumObjective {
            precision,
            measured,
        })? {
            match reply {
                Reply::Objective(part) => share = share.merge(part),
                other => return Err(unexpected(&other)),
            }
        }
        Ok(share)
    }

    /// Sums over the rows of all workers.
    fn sums(&mut self, request: Request) -> Result<RowSum<Vec<f64>>, Halt> {
        let mut sums = RowSum::default();
        for reply in self.ask(request)? {
            match reply {
                Reply::Sums(part) => sums = sums.merge(part),
                other => return Err(unexpected(&other)),
            }
        }
        Ok(sums)
    }

    /// Sums the caches of a side if no step has.
    fn ensure_sums(&mut self, axis: Axis) -> Result<(), Halt> {
        if self.sums[axis].is_none() {
            self.sums[axis] = self.sums(Request::SumCaches { axis })?.total();
        }
        if self.caches[axis].is_none() {
            let sums = self.sums[axis].clone();
            self.caches[axis] = Some(Caches::new(self.factors, self.outline.rank, sums));
        }
        Ok(())
    }

    /// A half-sweep after which the run was found to be cancelled is undone.
    fn unless_cancelled(&mut self, axis: Axis, cancel: &Cancel) -> Result<(), Halt> {
        if cancel.is_cancelled() {
            self.undo(axis)?;
            return Err(Halt::Cancelled);
        }
        Ok(())
    }

    fn visits_every_entry(&self) -> bool {
        let Sides { users, items } = self.outline.shape;
        absentia::fit::shard::visits_every_entry(users, items, self.factors)
    }
}

fn unexpected(reply: &Reply) -> Halt {
    let kind = match reply {
        Reply::Changed { .. } => "changed rows",
        Reply::NotConvex(_) => "a row without a minimum",
        Reply::Sums(_) => "sums",
        Reply::Objective(_) => "an objective",
    };
    Halt::Failed(format!("a worker answered with {kind}, which is a defect"))
}

impl<W: Workers> Backend for Sharded<W> {
    fn half_sweep(&mut self, axis: Axis, measured: bool, cancel: &Cancel) -> Result<(), Halt> {
        if cancel.is_cancelled() {
            return Err(Halt::Cancelled);
        }
        self.ensure_sums(axis.other())?;
        let caches = self.sums[axis.other()].clone();
        let request = Request::HalfSweep {
            axis,
            measured,
            caches,
            sampled: self.sampled(axis),
        };
        let loss = self.change(request, axis)?.total().unwrap_or_default();
        self.ridge[axis] = Some(loss.ridge);
        self.loss = measured.then_some(loss);
        self.unless_cancelled(axis, cancel)
    }

    fn half_sweep_in_double(&mut self, axis: Axis, cancel: &Cancel) -> Result<(), Halt> {
        let sums = self.sums(Request::SumInDouble { axis: axis.other() })?;
        let request = Request::HalfSweepInDouble {
            axis,
            caches: sums.total(),
            by_entry: self.visits_every_entry(),
        };
        self.change(request, axis)?;
        (self.ridge[axis], self.loss) = (None, None);
        self.unless_cancelled(axis, cancel)
    }

    fn sum_caches(&mut self, axis: Axis) -> Result<(), Halt> {
        // The answers of a half-sweep have the sums of the new rows.
        self.ensure_sums(axis)
    }

    fn undo(&mut self, axis: Axis) -> Result<(), Halt> {
        self.change(Request::Undo { axis }, axis)?;
        (self.ridge[axis], self.loss) = (None, None);
        Ok(())
    }

    fn objective_sums(&mut self, precision: Precision) -> Result<ObjectiveSums, Halt> {
        self.ensure_sums(Axis::User)?;
        self.ensure_sums(Axis::Item)?;
        let measured =
            self.loss.is_some() && self.ridge.users.is_some() && self.ridge.items.is_some();
        let share = self.share(precision, measured)?;
        let double = match precision {
            Precision::Double => Some(Sides {
                users: self.sums(Request::SumInDouble { axis: Axis::User })?,
                items: self.sums(Request::SumInDouble { axis: Axis::Item })?,
            }),
            _ => None,
        };
        let (Some(users), Some(items)) = (&self.caches.users, &self.caches.items) else {
            return Err(Halt::Failed("caches have not been summed".to_owned()));
        };
        let totals = Totals {
            precision,
            measured: self.loss,
            ridge: self.ridge,
            caches: Sides { users, items },
            double,
            entries: self.outline.entries,
            factors: self.factors,
            rank: self.outline.rank,
            may_be_negative: self.outline.may_be_negative,
        };
        Ok(totals.objective(share))
    }
}

impl<W: Workers> RemoteBackend for Sharded<W> {
    fn checkpoint(&mut self, history: &[Sweep]) -> Result<(), Halt> {
        let mut is_behind = false;
        for _ in 0..MOST_LOSSES {
            // What was lost has to be computed again before it can be stored: rows of another step are not this state.
            let caught_up = if is_behind { self.catch_up() } else { Ok(()) };
            match caught_up.and_then(|()| self.workers.store(self.steps, history)) {
                Ok(()) => {
                    self.log.clear();
                    return Ok(());
                }
                Err(Trouble::Fatal(reason)) => return Err(Halt::Failed(reason)),
                Err(Trouble::Lost(_)) => is_behind = true,
            }
        }
        let reason =
            format!("workers were lost {MOST_LOSSES} times while a checkpoint was written");
        Err(Halt::Failed(reason))
    }
}
