//! The best trial so far with one thing changed: the number of factors, the penalty, a setting left out.

use super::options::Budget;
use super::plan::{PlannedTrial, Planner, searched};
use super::schedule::{Rung, Schedule, highest, trial_cost};
use crate::trial::{Origin, Trial, ranked};

/// The number of factors of a lower rung is tried on the last one if its score came this close.
const CLOSE: f64 = 0.985;
/// Factors that the penalty of the best trial is multiplied by.
const PENALTIES: [f64; 2] = [3.0, 1.0 / 3.0];
/// More factors are tried only if there are at least this many times more.
const MORE: f64 = 1.1;
/// Number of trials on the last rung before its best is tried with more factors.
const BEFORE_MORE: usize = 2;

impl Planner<'_> {
    /// The variation of the best trial that comes next on a rung, or the best of uniform weights to compare it with.
    pub(crate) fn variation(
        &self,
        trials: &[Trial],
        schedule: &Schedule,
        rung: usize,
    ) -> Option<PlannedTrial> {
        self.other_penalty(trials, schedule, rung)
            .or_else(|| self.uniform_before(trials, schedule, rung))
            .or_else(|| self.fewer_factors(trials, schedule, rung))
            .or_else(|| self.without_a_setting(trials, schedule, rung))
    }

    /// The best settings of a lower rung with its number of factors, trained as the last rung trains:
    /// once, if more factors gained little or nothing. From then on the search keeps the number of
    /// factors that did best.
    fn fewer_factors(
        &self,
        trials: &[Trial],
        schedule: &Schedule,
        rung: usize,
    ) -> Option<PlannedTrial> {
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
                factors,
                ..PlannedTrial::of(best)
            })
        })
    }

    /// The best of the first rung with all factors, with a larger and with a smaller penalty: a small
    /// number of factors regularizes by itself, and says little about the penalty that many need.
    ///
    /// Later trials have their penalty changed by the same factor and do not repeat this.
    fn other_penalty(
        &self,
        trials: &[Trial],
        schedule: &Schedule,
        rung: usize,
    ) -> Option<PlannedTrial> {
        let best = *ranked(trials, rung).first()?;
        let mut others = trials.iter().filter(|trial| trial.rung == rung).skip(1);
        let only_neighbours = others.all(|trial| trial.origin == Origin::Neighbour);
        if rung != schedule.first_full() || !only_neighbours {
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
            origin: Origin::Neighbour,
            point,
            ..PlannedTrial::of(best)
        })
    }

    /// The best of the first rung with all factors, without one of the settings that can be left out,
    /// each once: the points promoted from below share most of these settings, so that nothing else
    /// would question them.
    fn without_a_setting(
        &self,
        trials: &[Trial],
        schedule: &Schedule,
        rung: usize,
    ) -> Option<PlannedTrial> {
        let best = *ranked(trials, rung).first()?;
        if rung != schedule.first_full() {
            return None;
        }
        let here = || trials.iter().filter(|trial| trial.rung == rung);
        let without = (0..best.point.len()).filter(|&axis| {
            let is_off = |trial: &Trial| self.space.is_off(&trial.point, axis);
            !here().any(is_off)
        });
        // Some settings have no effect in combination with others.
        let settings = |point: &[f64]| self.space.settings(point);
        let point = without
            .filter_map(|axis| self.space.without(&best.point, axis))
            .find(|point| settings(point) != settings(&best.point))?;
        Some(PlannedTrial {
            origin: Origin::Simplified,
            point,
            ..PlannedTrial::of(best)
        })
    }

    /// The best of the last rung with all the factors that a model may have. Such trials take too long
    /// to search by, so this comes last.
    pub(crate) fn more_factors(
        &self,
        trials: &[Trial],
        schedule: &Schedule,
    ) -> Option<PlannedTrial> {
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
        // A last rung that time has lowered cannot afford more.
        let is_useful = has == highest(&self.options)
            && factors as f64 >= MORE * has as f64
            && best.params.factors == has
            && made >= BEFORE_MORE
            && !trials.iter().any(is_same);
        let step = PlannedTrial {
            origin: Origin::Neighbour,
            factors,
            ..PlannedTrial::of(best)
        };
        (is_useful && self.is_turn_of(&step, trials, schedule)).then_some(step)
    }

    /// Whether to make a longer trial now: there is time for it, and no time for shorter ones after it,
    /// or they have stopped gaining.
    fn is_turn_of(&self, longer: &PlannedTrial, trials: &[Trial], schedule: &Schedule) -> bool {
        let budget = match self.options.budget {
            Budget::Trials(n) => return trials.len() + 1 == n,
            Budget::Time(budget) => budget.as_secs_f64(),
        };
        let rung = schedule.rungs[longer.rung];
        let factors = longer.factors;
        let times =
            trial_cost(&self.data, &Rung { factors, ..rung }) / trial_cost(&self.data, &rung);
        let short = self.longest(trials, schedule).unwrap_or(0.0);
        let elapsed: f64 = trials.iter().map(|trial| trial.seconds).sum();
        let then = elapsed + short * times;
        then <= budget && (then + short > budget || self.is_done(trials, schedule))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::space::{Scope, Space};
    use crate::staged::options::SearchOptions;
    use crate::testing::{blocks, trial};
    use absentia::fit::ProblemSize;

    const DATA: ProblemSize = ProblemSize {
        users: 2e4,
        items: 1e3,
        entries: 1e5,
        rank: 1.0,
    };

    #[test]
    fn settings_are_left_out_one_at_a_time_and_once() {
        let space = Space::of(&blocks(), Scope::All);
        let options = SearchOptions {
            max_factors: 64,
            ..SearchOptions::default()
        };
        let planner = Planner::new(&space, options, DATA);
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
                .without_a_setting(&trials, &schedule, 2)
                .map(|step| (step.origin, step.point))
        };
        let mut next = add(whole.clone(), 0.5);
        let mut best = whole;
        for (n, &axis) in axes.iter().enumerate() {
            let (origin, point) = next.expect("a setting that was not left out yet");
            assert_eq!(origin, Origin::Simplified);
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
            let planner = Planner::new(&space, options, DATA);
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
        let early = &trials[..3 + BEFORE_MORE - 1];
        assert_eq!(with(Budget::Trials(early.len() + 1), early), Some(1024));
        // Eleven trials without a rise: it is the last thing to try, whatever time is left.
        trials.extend((10..22).map(|at| of(at, 3, 1024, 10.0)));
        assert_eq!(with(seconds(3600), &trials), Some(1792));
        // However good it is, the search does not continue with that many factors.
        trials.push(Trial {
            score: Some(0.9),
            ..of(22, 3, 1792, 9.0)
        });
        assert_eq!(with(seconds(3600), &trials), None);
        assert_eq!(with(Budget::Trials(25), &trials), Some(1024));
    }
}
