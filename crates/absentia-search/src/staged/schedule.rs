//! The rungs of a search: few factors and few users first, more of both for what did well.

use absentia::Solver;
use absentia::fit::ProblemSize;

use crate::staged::options::{Budget, SearchOptions};
use crate::trial::Trial;

/// Most factors on the first rung, and fewest on any.
const FIRST: usize = 128;
const LEAST: usize = 16;
/// Most factors of the last rung, unless four sevenths of what a model may have are more.
const HIGH: usize = 1024;
/// Samples of held-out users, each a part of the next: that of the first rung, of those between, and
/// of the last, where settings that differ by little are to be told apart.
const SAMPLES: [usize; 3] = [3000, 10_000, 30_000];
/// Sweeps on a rung before the last, from random factors and from those of the rung below.
pub(crate) const SWEEPS: usize = 4;
pub(crate) const WARM_SWEEPS: usize = 3;
/// Sweeps after which the last rung measures; it goes on while the metric rises.
pub(crate) const LAST_SWEEPS: [usize; 5] = [4, 6, 8, 12, 16];
/// Trials that should fit into the time of the first rung, and of the last.
const FIRST_TRIALS: f64 = 40.0;
const LAST_TRIALS: f64 = 3.0;
/// Multiply-adds a second that a machine can be trusted to make.
const RATE: f64 = 5e10;
/// What a multiply-add of ranking costs, of one of training: most are made in bytes.
const RANKING: f64 = 0.3;

/// Shares of the budget, by number of rungs; trials of the first rung are many and short.
const TRIAL_SHARES: [&[f64]; 4] = [
    &[1.0],
    &[0.65, 0.35],
    &[0.5, 0.25, 0.25],
    &[0.5, 0.2, 0.18, 0.12],
];
const TIME_SHARES: [&[f64]; 4] = [
    &[1.0],
    &[0.4, 0.6],
    &[0.25, 0.2, 0.55],
    &[FIRST_SHARE, 0.15, 0.3, LAST_SHARE],
];
const FIRST_SHARE: f64 = 0.2;
const LAST_SHARE: f64 = 0.35;

/// One rung.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rung {
    /// Number of factors K.
    pub factors: usize,
    /// Which sample of the held-out users is measured.
    pub sample: usize,
    /// Whether settings are chosen here, so that sweeps are too.
    pub is_last: bool,
}

/// All rungs, first to last.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Schedule {
    /// The rungs.
    pub rungs: Vec<Rung>,
}

/// The size of the data, as far as time depends on it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DataSize {
    pub(crate) users: f64,
    pub(crate) items: f64,
    pub(crate) entries: f64,
}

impl DataSize {
    /// Multiply-adds of a trial, leading terms only.
    pub(crate) fn of(&self, rung: &Rung) -> f64 {
        let k = rung.factors as f64;
        let size = ProblemSize {
            users: self.users,
            items: self.items,
            entries: self.entries,
            rank: 1.0,
        };
        let sweep = size.sweep_cost(Solver::Eals.into(), rung.factors);
        let users = |sample: usize| self.users.min(SAMPLES[sample] as f64);
        // The best post-scaling takes about five looks, and on the last rung three more; the last
        // rung measures twice or so.
        let (sweeps, looks) = if rung.is_last {
            (6.0, 2.0 * users(rung.sample) + 3.0 * users(1))
        } else {
            (4.0, users(rung.sample))
        };
        sweeps * sweep + RANKING * (looks + 5.0 * users(0)) * self.items * k
    }
}

impl Schedule {
    /// The rungs of a search, given the trials so far: under a time budget, the first trial tells
    /// how many factors the last rung can afford.
    pub(crate) fn new(options: &SearchOptions, work: &DataSize, trials: &[Trial]) -> Self {
        let most = highest(options);
        if options.first_rung_only {
            return Self {
                rungs: vec![Rung {
                    factors: most,
                    sample: 0,
                    is_last: false,
                }],
            };
        }
        let first = first_factors(most, options.budget, work);
        let top = match options.budget {
            // Where the number of factors was asked for, fewer would be another model.
            Budget::Time(budget) if options.may_shrink => match trials.first() {
                Some(trial) => {
                    let seconds = budget.as_secs_f64() * LAST_SHARE / LAST_TRIALS;
                    affordable(most, first, work, trial.seconds, seconds)
                }
                None => most,
            },
            Budget::Time(_) | Budget::Trials(_) => most,
        };
        if top < 2 * first {
            return Self::of(&[top.max(first)]);
        }
        if top < 4 * first {
            return Self::of(&[first, top]);
        }
        let middle = ((first * top) as f64).sqrt() as usize / LEAST * LEAST;
        if work.users <= SAMPLES[1] as f64 {
            return Self::of(&[first, middle, top]);
        }
        // What few factors say of many is not enough: the last rung's are searched with fewer sweeps
        // and fewer users first. Where there are few users, nothing is saved by that but sweeps,
        // and settings that take many of them would be left behind.
        Self::of(&[first, middle, top, top])
    }

    fn of(factors: &[usize]) -> Self {
        let last = factors.len() - 1;
        let rung = |(at, &factors): (usize, &usize)| Rung {
            factors,
            sample: match at {
                at if at == last => SAMPLES.len() - 1,
                0 => 0,
                _ => 1,
            },
            is_last: at == last,
        };
        Self {
            rungs: factors.iter().enumerate().map(rung).collect(),
        }
    }

    /// Place of the last rung.
    #[must_use]
    pub fn last(&self) -> usize {
        self.rungs.len() - 1
    }

    /// The first rung above others that has the factors of the last.
    pub(crate) fn first_full(&self) -> usize {
        let all = self.rungs[self.last()].factors;
        let full = |rung: &usize| self.rungs[*rung].factors == all;
        (1..=self.last()).find(full).unwrap_or(0)
    }

    /// Whether runs of a rung start from the factors of the rung below. Those with all factors start
    /// from random ones, as training will: what does well from the factors of a smaller model may
    /// not do so by itself.
    pub(crate) fn starts_warm(&self, rung: usize) -> bool {
        (1..self.first_full()).contains(&rung)
    }

    /// The share of the budget that is spent when a rung is done.
    pub(crate) fn spent(&self, rung: usize, budget: Budget) -> f64 {
        let shares = match budget {
            Budget::Trials(_) => TRIAL_SHARES,
            Budget::Time(_) => TIME_SHARES,
        };
        shares[self.last()][..=rung].iter().sum()
    }
}

/// Most factors of the last rung: all that a model may have, or as many as can be tried often.
pub(crate) fn highest(options: &SearchOptions) -> usize {
    let most = options.max_factors;
    if options.may_shrink {
        most.min(HIGH.max(most * 4 / 7 / LEAST * LEAST))
    } else {
        most
    }
}

/// Factors of the first rung: a fourth of the most, or what a time budget can pay.
///
/// It must not depend on a measured speed: a search that is resumed climbs the same rungs.
fn first_factors(most: usize, budget: Budget, work: &DataSize) -> usize {
    let mut first = (most / 4 / LEAST * LEAST).clamp(LEAST, FIRST).min(most);
    if let Budget::Time(budget) = budget {
        let payable = budget.as_secs_f64() * FIRST_SHARE / FIRST_TRIALS * RATE;
        let cost = |factors| {
            work.of(&Rung {
                factors,
                sample: 0,
                is_last: false,
            })
        };
        while first > LEAST && cost(first) > payable {
            first = (first / 2).next_multiple_of(LEAST);
        }
    }
    first
}

/// The most factors whose trials take at most `seconds`, when the first trial took `first_seconds`.
fn affordable(
    most: usize,
    first: usize,
    work: &DataSize,
    first_seconds: f64,
    seconds: f64,
) -> usize {
    let rung = |factors, is_last| Rung {
        factors,
        sample: if is_last { SAMPLES.len() - 1 } else { 0 },
        is_last,
    };
    let rate = work.of(&rung(first, false)) / first_seconds.max(1e-3);
    let mut top = most;
    while top > first && work.of(&rung(top, true)) / rate > seconds {
        top = (top * 3 / 4) / LEAST * LEAST;
    }
    top.max(first)
}

/// Held-out users of each sample.
pub(crate) fn sample_sizes(folds: usize) -> [usize; SAMPLES.len()] {
    // Folds measure different rows of the same users, so that they share the work.
    SAMPLES.map(|users| users.div_ceil(folds))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    const WORK: DataSize = DataSize {
        users: 30_000.0,
        items: 41_000.0,
        entries: 8e5,
    };

    fn schedule(most: usize, budget: Budget, first_seconds: Option<f64>) -> Vec<usize> {
        let options = SearchOptions {
            max_factors: most,
            budget,
            ..SearchOptions::default()
        };
        rungs(&options, first_seconds)
    }

    fn rungs(options: &SearchOptions, first_seconds: Option<f64>) -> Vec<usize> {
        let trials: Vec<Trial> = first_seconds
            .map(|seconds| Trial {
                seconds,
                ..crate::testing::trial(0, vec![0.5], 0.1)
            })
            .into_iter()
            .collect();
        let schedule = Schedule::new(options, &WORK, &trials);
        assert!(schedule.rungs.iter().filter(|rung| rung.is_last).count() == 1);
        schedule.rungs.iter().map(|rung| rung.factors).collect()
    }

    #[test]
    fn rungs_climb_to_the_most_factors() {
        assert_eq!(
            schedule(1024, Budget::Trials(50), None),
            [128, 352, 1024, 1024]
        );
        assert_eq!(
            schedule(1792, Budget::Trials(50), None),
            [128, 352, 1024, 1024]
        );
        assert_eq!(
            schedule(4096, Budget::Trials(50), None),
            [128, 544, 2336, 2336]
        );
        assert_eq!(schedule(64, Budget::Trials(50), None), [16, 32, 64, 64]);
        assert_eq!(schedule(8, Budget::Trials(50), None), [8]);
    }

    #[test]
    fn few_users_are_measured_to_the_end_at_once() {
        let options = SearchOptions {
            max_factors: 64,
            budget: Budget::Trials(50),
            ..SearchOptions::default()
        };
        let few = DataSize {
            users: 2000.0,
            ..WORK
        };
        let schedule = Schedule::new(&options, &few, &[]);
        let factors: Vec<usize> = schedule.rungs.iter().map(|rung| rung.factors).collect();
        assert_eq!(factors, [16, 32, 64]);
        assert_eq!((schedule.first_full(), schedule.last()), (2, 2));
    }

    #[test]
    fn a_time_budget_lowers_the_last_rung_to_what_it_can_pay() {
        let minutes = |n: u64| Budget::Time(Duration::from_secs(60 * n));
        let (short, long) = (
            schedule(1024, minutes(2), Some(1.0)),
            schedule(1024, minutes(60), Some(1.0)),
        );
        assert_eq!(long, [128, 352, 1024, 1024]);
        assert!(short.last() < long.last(), "{short:?}");
        assert_eq!(schedule(1024, minutes(1), Some(100.0)).len(), 1);
    }

    #[test]
    fn a_number_of_factors_that_was_asked_for_is_kept_whatever_the_time() {
        let options = SearchOptions {
            max_factors: 512,
            may_shrink: false,
            budget: Budget::Time(Duration::from_secs(6)),
            ..SearchOptions::default()
        };
        assert_eq!(rungs(&options, Some(1.0)).last(), Some(&512));
    }
}
