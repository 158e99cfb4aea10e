//! The rungs of a search: few factors and few users first, more of both for the best settings.

use absentia::Solver;
use absentia::fit::ProblemSize;

use super::options::{Budget, SearchOptions};
use crate::trial::Trial;

/// The largest number of factors on the first rung, and the smallest on any.
const FIRST: usize = 128;
const LEAST: usize = 16;
/// The largest number of factors on the last rung, unless four sevenths of the maximum are more.
const HIGH: usize = 1024;
/// Numbers of held-out users that are measured: on the first rung, on those between, and on the last,
/// which must tell apart settings that differ little. Each sample is part of the next.
const SAMPLES: [usize; 3] = [3000, 10_000, 30_000];
/// Sweeps on a rung before the last, from random factors and from those of the rung below.
const SWEEPS: [usize; 1] = [4];
const WARM_SWEEPS: [usize; 1] = [3];
/// Sweeps after which the last rung measures; it continues while the metric rises.
const LAST_SWEEPS: [usize; 5] = [4, 6, 8, 12, 16];
/// Number of trials that should fit into the time of the first rung, and of the last.
const FIRST_TRIALS: f64 = 40.0;
const LAST_TRIALS: f64 = 3.0;
/// Multiply-adds per second that any machine is expected to reach.
const RATE: f64 = 5e10;
/// Cost of a multiply-add of ranking relative to one of training: most are made on quantised numbers.
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
    /// Whether this rung decides; it also chooses the number of sweeps.
    pub is_last: bool,
}

impl Rung {
    /// Numbers of sweeps after which its trials are measured.
    pub(crate) fn sweeps(&self, is_warm: bool) -> &'static [usize] {
        match (self.is_last, is_warm) {
            (true, _) => &LAST_SWEEPS,
            (false, true) => &WARM_SWEEPS,
            (false, false) => &SWEEPS,
        }
    }
}

/// All rungs, first to last.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Schedule {
    /// The rungs.
    pub rungs: Vec<Rung>,
}

/// Multiply-adds of a trial, leading terms only.
pub(crate) fn trial_cost(data: &ProblemSize, rung: &Rung) -> f64 {
    let sweep = data.sweep_cost(Solver::Eals.into(), rung.factors);
    let users = |sample: usize| data.users.min(SAMPLES[sample] as f64);
    // The best post-scaling takes about five measurements, and on the last rung three more; the last
    // rung measures about twice.
    let (sweeps, measured) = if rung.is_last {
        (6.0, 2.0 * users(rung.sample) + 3.0 * users(1))
    } else {
        (4.0, users(rung.sample))
    };
    let ranking = RANKING * (measured + 5.0 * users(0)) * data.items * rung.factors as f64;
    sweeps * sweep + ranking
}

impl Schedule {
    /// The rungs of a search. Under a time budget, the duration of the first trial in seconds decides how many
    /// factors the last rung can have.
    pub(crate) fn new(
        options: &SearchOptions,
        data: &ProblemSize,
        first_seconds: Option<f64>,
    ) -> Self {
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
        let first = first_factors(most, options.budget, data);
        let top = match options.budget {
            // A requested number of factors is kept whatever it takes.
            Budget::Time(budget) if options.may_shrink => match first_seconds {
                Some(first_seconds) => {
                    let seconds = budget.as_secs_f64() * LAST_SHARE / LAST_TRIALS;
                    affordable(most, first, data, first_seconds, seconds)
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
        if data.users <= SAMPLES[1] as f64 {
            return Self::of(&[first, middle, top]);
        }
        // Settings that are good with few factors need not be good with many: the number of factors of
        // the last rung is searched with fewer sweeps and fewer users first. With few users, that would
        // save sweeps only, and lose settings that need many sweeps.
        Self::of(&[first, middle, top, top])
    }

    /// Seconds in which any machine is expected to make one trial on every rung. They follow from the options and the
    /// data alone, so that a resumed search expects the same.
    pub(crate) fn expected_seconds(options: &SearchOptions, data: &ProblemSize) -> f64 {
        let seconds = |rung: &Rung| trial_cost(data, rung) / RATE;
        let before = Self::new(options, data, None);
        let schedule = Self::new(options, data, Some(seconds(&before.rungs[0])));
        schedule.rungs.iter().map(seconds).sum()
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

    /// The rung that a trial was made on: the last one for a trial of a log whose larger time budget had more rungs.
    pub(crate) fn rung_of(&self, trial: &Trial) -> &Rung {
        &self.rungs[trial.rung.min(self.last())]
    }

    /// The first rung with as many factors as the last; 0 if that is the only rung.
    pub(crate) fn first_full(&self) -> usize {
        let all = self.rungs[self.last()].factors;
        let full = |rung: &usize| self.rungs[*rung].factors == all;
        (1..=self.last()).find(full).unwrap_or(0)
    }

    /// Whether trials of a rung start from the factors of the rung below. Trials with all factors start
    /// from random ones, as the final training will: settings that do well from the factors of a smaller
    /// model may do badly from random ones.
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

/// The number of factors of the last rung: all that a model may have, or what can be tried often.
pub(crate) fn highest(options: &SearchOptions) -> usize {
    let most = options.max_factors;
    if options.may_shrink {
        most.min(HIGH.max(most * 4 / 7 / LEAST * LEAST))
    } else {
        most
    }
}

/// The number of factors of the first rung: a quarter of the most, or what a time budget allows.
///
/// It must not depend on a measured speed: a resumed search has the same rungs.
fn first_factors(most: usize, budget: Budget, data: &ProblemSize) -> usize {
    let mut first = (most / 4 / LEAST * LEAST).clamp(LEAST, FIRST).min(most);
    if let Budget::Time(budget) = budget {
        let payable = budget.as_secs_f64() * FIRST_SHARE / FIRST_TRIALS * RATE;
        let cost = |factors| {
            trial_cost(
                data,
                &Rung {
                    factors,
                    sample: 0,
                    is_last: false,
                },
            )
        };
        while first > LEAST && cost(first) > payable {
            first = (first / 2).next_multiple_of(LEAST);
        }
    }
    first
}

/// The largest number of factors whose trials take at most `seconds`, given the duration of the first trial.
fn affordable(
    most: usize,
    first: usize,
    data: &ProblemSize,
    first_seconds: f64,
    seconds: f64,
) -> usize {
    let rung = |factors, is_last| Rung {
        factors,
        sample: if is_last { SAMPLES.len() - 1 } else { 0 },
        is_last,
    };
    let rate = trial_cost(data, &rung(first, false)) / first_seconds.max(1e-3);
    let mut top = most;
    while top > first && trial_cost(data, &rung(top, true)) / rate > seconds {
        top = (top * 3 / 4) / LEAST * LEAST;
    }
    top.max(first)
}

/// Number of held-out users of each sample.
pub(crate) fn sample_sizes(folds: usize) -> [usize; SAMPLES.len()] {
    // Folds measure different rows of the same users, so that they share the work.
    SAMPLES.map(|users| users.div_ceil(folds))
}

impl Rung {
    /// Number of users that it measures, where a number of folds each hold out rows of a number of users.
    #[must_use]
    pub fn measured_users(&self, folds: usize, held_out: usize) -> usize {
        sample_sizes(folds)[self.sample].min(held_out)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    const DATA: ProblemSize = ProblemSize {
        users: 30_000.0,
        items: 41_000.0,
        entries: 8e5,
        rank: 1.0,
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
        let schedule = Schedule::new(options, &DATA, first_seconds);
        assert!(schedule.rungs.iter().filter(|rung| rung.is_last).count() == 1);
        schedule.rungs.iter().map(|rung| rung.factors).collect()
    }

    #[test]
    fn rungs_grow_to_the_most_factors() {
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
        let few = ProblemSize {
            users: 2000.0,
            ..DATA
        };
        let schedule = Schedule::new(&options, &few, None);
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
