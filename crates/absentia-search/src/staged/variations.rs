//! The best so far with one thing changed: fewer or more factors, another penalty, a setting left out.

use crate::staged::options::Budget;
use crate::staged::plan::{PlannedTrial, Planner, is_done, searched};
use crate::staged::schedule::{Rung, Schedule, highest};
use crate::trial::{Origin, Trial, ranked};

/// The factors of a rung below are tried on the last one where they came this close to it.
const CLOSE: f64 = 0.985;
/// Times the penalty of the best that are tried beside it.
const PENALTIES: [f64; 2] = [3.0, 1.0 / 3.0];
/// Times the factors of the last rung that are worth a trial, at the least.
const MORE: f64 = 1.1;
/// Trials of the last rung before its best is tried with more factors than it has.
const SETTLED: usize = 2;

impl Planner<'_> {
    /// What is due on a rung before other points are.
    pub(crate) fn varied(
        &self,
        trials: &[Trial],
        schedule: &Schedule,
        rung: usize,
    ) -> Option<PlannedTrial> {
        self.beside_the_best(trials, schedule, rung)
            .or_else(|| self.fewer(trials, schedule, rung))
            .or_else(|| self.plainer(trials, schedule, rung))
    }

    /// The best settings of a rung below with its factors, trained as the last rung trains: once,
    /// where more factors brought little or nothing. From there on the search stays with the number
    /// of factors that did best.
    fn fewer(&self, trials: &[Trial], schedule: &Schedule, rung: usize) -> Option<PlannedTrial> {
        let here = searched(trials, schedule, rung);
        let top = ranked(here.iter().copied(), rung).first()?.score?;
        if !self.options.may_shrink || rung != schedule.last() {
            return None;
        }
        let tried = |factors| here.iter().any(|trial| trial.params.factors == factors);
        (0..rung).rev().find_map(|below| {
            let factors = schedule.rungs[below].factors;
            let best = *ranked(trials, below).first()?;
            let close = best.score? >= CLOSE * top;
            (close && !tried(factors)).then(|| PlannedTrial {
                rung,
                origin: Origin::Promoted,
                point: best.point.clone(),
                parent: None,
                factors,
                post_scale: best.params.post_scale,
            })
        })
    }

    /// The best of the first rung with all factors with more and with less penalty, what was not tried
    /// yet: few factors are held back by being few, and say little about the penalty that many need.
    ///
    /// What is tried after them has its penalty changed likewise, and needs none of this again.
    fn beside_the_best(
        &self,
        trials: &[Trial],
        schedule: &Schedule,
        rung: usize,
    ) -> Option<PlannedTrial> {
        let best = *ranked(trials, rung).first()?;
        let mut others = trials.iter().filter(|trial| trial.rung == rung).skip(1);
        let climbs = others.all(|trial| trial.origin == Origin::Beside);
        if rung != schedule.first_full() || !climbs {
            return None;
        }
        let untried = |point: &Vec<f64>| {
            let near = |trial: &Trial| {
                let pairs = trial.point.iter().zip(point);
                trial.rung == rung && pairs.into_iter().all(|(x, y)| (x - y).abs() < 0.01)
            };
            !trials.iter().any(near)
        };
        let point = PENALTIES
            .iter()
            .filter_map(|times| self.space.penalised(&best.point, *times))
            .find(untried)?;
        Some(PlannedTrial {
            rung,
            origin: Origin::Beside,
            point,
            parent: None,
            factors: best.params.factors,
            post_scale: best.params.post_scale,
        })
    }

    /// The best of the first rung with all factors without one of the settings that can be left out,
    /// each once: points that did well with few factors have most of them in common, and what they
    /// have in common is not searched any further.
    fn plainer(&self, trials: &[Trial], schedule: &Schedule, rung: usize) -> Option<PlannedTrial> {
        let best = *ranked(trials, rung).first()?;
        if rung != schedule.first_full() {
            return None;
        }
        let here = || trials.iter().filter(|trial| trial.rung == rung);
        let without = (0..best.point.len()).filter(|&axis| {
            let is_off = |trial: &Trial| self.space.is_off(&trial.point, axis);
            !here().any(is_off)
        });
        // Not all settings say something beside all others, and some are next to nothing.
        let settings = |point: &[f64]| self.space.settings(point);
        let point = without
            .filter_map(|axis| self.space.without(&best.point, axis))
            .find(|point| settings(point) != settings(&best.point))?;
        Some(PlannedTrial {
            rung,
            origin: Origin::Plainer,
            point,
            parent: None,
            factors: best.params.factors,
            post_scale: best.params.post_scale,
        })
    }

    /// The best of the last rung with all the factors that a model may have, when nothing else is left
    /// to be done: too long a trial to search by.
    pub(crate) fn more(&self, trials: &[Trial], schedule: &Schedule) -> Option<PlannedTrial> {
        let (last, factors) = (schedule.last(), self.options.max_factors);
        let (here, has) = (
            searched(trials, schedule, last),
            schedule.rungs[last].factors,
        );
        let made = here.len();
        let best = *ranked(here, last).first()?;
        let is_same = |trial: &Trial| {
            trial.rung == last && trial.params.factors == factors && trial.point == best.point
        };
        // Rungs that time has lowered are as high as it allows.
        let is_for_it = has == highest(self.options)
            && factors as f64 >= MORE * has as f64
            && best.params.factors == has
            && made >= SETTLED
            && !trials.iter().any(is_same);
        let step = PlannedTrial {
            rung: last,
            origin: Origin::Beside,
            point: best.point.clone(),
            parent: None,
            factors,
            post_scale: best.params.post_scale,
        };
        (is_for_it && self.is_turn_of(&step, trials, schedule)).then_some(step)
    }

    /// Whether a longer trial is to be made now: it still has the time, and shorter ones do not have
    /// it any more, or bring nothing.
    fn is_turn_of(&self, longer: &PlannedTrial, trials: &[Trial], schedule: &Schedule) -> bool {
        let budget = match self.options.budget {
            Budget::Trials(n) => return trials.len() + 1 == n,
            Budget::Time(budget) => budget.as_secs_f64(),
        };
        let rung = schedule.rungs[longer.rung];
        let factors = longer.factors;
        let times = self.work.of(&Rung { factors, ..rung }) / self.work.of(&rung);
        let short = self.longest(trials, schedule).unwrap_or(0.0);
        let elapsed: f64 = trials.iter().map(|trial| trial.seconds).sum();
        let then = elapsed + short * times;
        then <= budget && (then + short > budget || is_done(trials, schedule))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::space::{Scope, Space};
    use crate::staged::options::SearchOptions;
    use crate::staged::schedule::DataSize;
    use crate::testing::{blocks, trial};

    const WORK: DataSize = DataSize {
        users: 2e4,
        items: 1e3,
        entries: 1e5,
    };

    #[test]
    fn settings_are_left_out_one_at_a_time_and_once() {
        let space = Space::of(&blocks(), Scope::All);
        let options = SearchOptions {
            max_factors: 64,
            ..SearchOptions::default()
        };
        let planner = Planner {
            space: &space,
            options: &options,
            work: WORK,
        };
        let whole = vec![0.9; space.dimensions().len()];
        let axes: Vec<usize> = (0..whole.len())
            .filter(|&axis| space.without(&whole, axis).is_some())
            .collect();
        assert!(axes.len() > 2, "{axes:?}");
        let mut trials = Vec::new();
        let mut add = |point: Vec<f64>, score| {
            let made = trial(trials.len(), point, score);
            trials.push(Trial { rung: 2, ..made });
            let schedule = planner.schedule(&trials);
            planner
                .plainer(&trials, &schedule, 2)
                .map(|step| (step.origin, step.point))
        };
        let mut next = add(whole.clone(), 0.5);
        let mut best = whole;
        for (n, &axis) in axes.iter().enumerate() {
            let (origin, point) = next.expect("a setting that was not left out yet");
            assert_eq!(origin, Origin::Plainer);
            assert_eq!(Some(&point), space.without(&best, axis).as_ref());
            // The second does better and is what others are then left out of.
            if n == 1 {
                best.clone_from(&point);
            }
            next = add(point, if n == 1 { 0.6 } else { 0.4 });
        }
        assert_eq!(next, None);
    }

    #[test]
    fn more_factors_are_tried_once_at_the_end() {
        let space = Space::of(&blocks(), Scope::Uniform);
        let with = |budget, trials: &[Trial]| {
            let options = SearchOptions {
                max_factors: 1792,
                budget,
                ..SearchOptions::default()
            };
            let planner = Planner {
                space: &space,
                options: &options,
                work: WORK,
            };
            planner.next(trials).map(|step| step.factors)
        };
        let of = |number, rung, factors, seconds: f64| {
            let score = if rung < 3 { 0.1 } else { 0.2 + seconds / 1e6 };
            let mut trial = trial(number, vec![0.3, 0.4, 0.1], score);
            (trial.params.factors, trial.seconds, trial.rung) = (factors, seconds, rung);
            trial
        };
        // Three short trials, then seven of ten seconds on the last rung: no longer one, and not the
        // same again and again.
        let mut trials: Vec<Trial> = (0..3)
            .map(|at| of(at, at, [128, 352, 1024][at], 1e-3))
            .collect();
        trials.extend((3..10).map(|at| of(at, 3, 1024, 10.0 + at as f64 / 100.0)));
        let seconds = |n| Budget::Time(std::time::Duration::from_secs(n));
        assert_eq!(with(Budget::Trials(11), &trials), Some(1792));
        assert_eq!(with(Budget::Trials(12), &trials), Some(1024));
        assert_eq!(with(seconds(3600), &trials), Some(1024), "there is time");
        assert_eq!(
            with(seconds(105), &trials),
            Some(1792),
            "there is just time"
        );
        assert_eq!(
            with(seconds(95), &trials),
            Some(1024),
            "there is no time for it"
        );
        assert_eq!(with(seconds(78), &trials), None);
        let early = &trials[..3 + SETTLED - 1];
        assert_eq!(with(Budget::Trials(early.len() + 1), early), Some(1024));
        // Eleven trials without a rise: it is the last thing to try, whatever time is left.
        trials.extend((10..22).map(|at| of(at, 3, 1024, 10.0)));
        assert_eq!(with(seconds(3600), &trials), Some(1792));
        // However good it is, the search does not go on with so many.
        trials.push(Trial {
            score: Some(0.9),
            ..of(22, 3, 1792, 9.0)
        });
        assert_eq!(with(seconds(3600), &trials), None);
        assert_eq!(with(Budget::Trials(25), &trials), Some(1024));
    }
}
