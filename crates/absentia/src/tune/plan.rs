//! Which trial comes next: a function of the trials so far and nothing else, so that a search that
//! was interrupted goes on as if it had not been.

use super::ladder::{Ladder, Rung, Work, highest};
use super::options::{Budget, Options};
use super::propose::Proposer;
use super::space::Space;
use super::trial::{Origin, Trial, ranked};

/// Trials of the first rung before the model proposes.
const RANDOM: usize = 12;
/// Trials of a rung that may be promoted to the next.
const PROMOTED: usize = 8;
/// A rise smaller than this share of the metric is none.
const GAIN: f64 = 0.002;
/// Trials without a rise after which a rung is left, on rungs before the last and on the last.
const PATIENCE: (usize, usize) = (40, 10);
/// The factors of a rung below are tried on the last one where they came this close to it.
const CLOSE: f64 = 0.985;
/// And are taken where they cost no more than this.
const AS_GOOD: f64 = 0.999;
/// Times the penalty of the best that are tried beside it.
const PENALTIES: [f64; 2] = [3.0, 1.0 / 3.0];
/// Trials of the last rung before its best is tried with more factors than it has.
const SETTLED: usize = 2;

/// A trial to be made.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Step {
    pub(super) rung: usize,
    pub(super) origin: Origin,
    pub(super) point: Vec<f64>,
    /// The trial whose factors it starts from.
    pub(super) parent: Option<usize>,
    pub(super) factors: usize,
    /// Post-scaling near which the best one is looked for.
    pub(super) post_scale: f32,
}

/// Plans the trials of a search.
pub(super) struct Planner<'s> {
    pub(super) space: &'s Space,
    pub(super) options: &'s Options,
    pub(super) work: Work,
}

impl Planner<'_> {
    pub(super) fn ladder(&self, trials: &[Trial]) -> Ladder {
        Ladder::new(self.options, &self.work, trials)
    }

    /// The next trial, or nothing when the budget is spent.
    pub(super) fn next(&self, trials: &[Trial]) -> Option<Step> {
        let ladder = self.ladder(trials);
        if let Some(more) = self.more(trials, &ladder) {
            return Some(more);
        }
        let rung = self.rung(trials, &ladder)?;
        Some(match rung {
            0 => self.first_rung(trials, &ladder),
            rung => self.later_rung(trials, &ladder, rung),
        })
    }

    /// The trial whose settings are best: on the highest rung that was reached, with fewer factors
    /// where they cost nothing.
    pub(super) fn best<'t>(&self, trials: &'t [Trial]) -> Option<&'t Trial> {
        let reached = (0..=self.ladder(trials).last()).rev();
        let found = reached.map(|rung| ranked(trials, rung));
        let found = found.into_iter().find(|found| !found.is_empty())?;
        let enough = found[0].score?
            * if self.options.may_shrink {
                AS_GOOD
            } else {
                1.0
            };
        // Of equals in size the better one comes first, and the first of equals is kept.
        found
            .into_iter()
            .filter(|trial| trial.score.is_some_and(|score| score >= enough))
            .min_by_key(|trial| trial.params.factors)
    }

    /// The rung whose turn it is.
    fn rung(&self, trials: &[Trial], ladder: &Ladder) -> Option<usize> {
        let reached = trials.iter().map(|trial| trial.rung).max().unwrap_or(0);
        match self.options.budget {
            Budget::Trials(n) => {
                let end =
                    |rung| (ladder.spent(rung, self.options.budget) * n as f64).round() as usize;
                let open = |rung: &usize| trials.len() < end(*rung).clamp(rung + 1, n);
                (0..=ladder.last()).find(open)
            }
            Budget::Time(budget) => {
                self.rung_by_time(trials, ladder, reached, budget.as_secs_f64())
            }
        }
    }

    fn rung_by_time(
        &self,
        trials: &[Trial],
        ladder: &Ladder,
        reached: usize,
        budget: f64,
    ) -> Option<usize> {
        let elapsed: f64 = trials.iter().map(|trial| trial.seconds).sum();
        let has = |rung| trials.iter().any(|trial| trial.rung == rung);
        for rung in reached.min(ladder.last())..ladder.last() {
            let in_time = elapsed < ladder.spent(rung, self.options.budget) * budget;
            if !has(rung) || (in_time && !stalled(trials, rung, PATIENCE.0)) {
                return Some(rung);
            }
        }
        let last = ladder.last();
        let fits = longest(trials, last).is_none_or(|seconds| elapsed + seconds <= budget);
        (fits && !is_done(trials, ladder)).then_some(last)
    }

    fn first_rung(&self, trials: &[Trial], ladder: &Ladder) -> Step {
        let proposer = Proposer::new(self.space, self.options.seed);
        let number = trials.len();
        let recipes = self.space.recipes();
        let ranked = ranked(trials, 0);
        let (origin, point) = if number < recipes.len() {
            (Origin::Recipe, recipes[number].clone())
        } else if number < recipes.len() + RANDOM || ranked.is_empty() {
            (Origin::Random, proposer.random(number))
        } else {
            (Origin::Model, proposer.model(number, &ranked, 1.0))
        };
        Step {
            rung: 0,
            origin,
            point,
            parent: None,
            factors: ladder.rungs[0].factors,
            post_scale: ranked.first().map_or(0.2, |best| best.params.post_scale),
        }
    }

    /// The two best of the rung below, then by turns a proposal of the model and the next best.
    fn later_rung(&self, trials: &[Trial], ladder: &Ladder, rung: usize) -> Step {
        let here = ranked(trials, rung);
        let made = trials.iter().filter(|trial| trial.rung == rung).count();
        if let Some(fewer) = self.fewer(trials, ladder, rung) {
            return fewer;
        }
        if let Some(beside) = self.beside_the_best(trials, ladder, rung) {
            return beside;
        }
        let below = (0..rung)
            .rev()
            .map(|rung| ranked(trials, rung))
            .find(|found| !found.is_empty());
        let below = below.unwrap_or_default();
        let untried = |candidate: &&&Trial| {
            let same = |trial: &&Trial| self.space.penalty_over(&trial.point, &candidate.point);
            !here.iter().any(|trial| same(trial).is_some())
        };
        let next_best = below.iter().take(PROMOTED).find(untried);
        let factors = here
            .first()
            .map_or(ladder.rungs[rung].factors, |best| best.params.factors);
        match next_best {
            Some(candidate) if made < 2 || made.is_multiple_of(2) => Step {
                rung,
                origin: Origin::Promoted,
                point: self.as_penalised_here(trials, ladder, rung, &candidate.point),
                parent: ladder.starts_warm(rung).then_some(candidate.number),
                factors,
                post_scale: candidate.params.post_scale,
            },
            _ => self.near_the_best(trials, ladder, rung),
        }
    }

    fn near_the_best(&self, trials: &[Trial], ladder: &Ladder, rung: usize) -> Step {
        let proposer = Proposer::new(self.space, self.options.seed);
        let here = ranked(trials, rung);
        let rungs = (0..rung).rev().map(|rung| ranked(trials, rung));
        let below = rungs
            .into_iter()
            .find(|found| !found.is_empty())
            .unwrap_or_default();
        let best = here.first().or(below.first());
        let point = if here.len() >= 4 {
            proposer.model(trials.len(), &here, 0.5)
        } else {
            let point = proposer.model(trials.len(), &below, 0.5);
            self.as_penalised_here(trials, ladder, rung, &point)
        };
        Step {
            rung,
            origin: Origin::Model,
            point,
            parent: best
                .filter(|_| ladder.starts_warm(rung))
                .and_then(|best| best.parent.or((best.rung < rung).then_some(best.number))),
            factors: here
                .first()
                .map_or(ladder.rungs[rung].factors, |best| best.params.factors),
            post_scale: best.map_or(0.2, |best| best.params.post_scale),
        }
    }

    /// The best of the first rung with all factors with more and with less penalty, what was not tried
    /// yet: few factors are held back by being few, and say little about the penalty that many need.
    ///
    /// What is tried after them has its penalty changed likewise, and needs none of this again.
    fn beside_the_best(&self, trials: &[Trial], ladder: &Ladder, rung: usize) -> Option<Step> {
        let best = *ranked(trials, rung).first()?;
        let others = trials.iter().filter(|trial| trial.rung == rung);
        let climbed = others.filter(|trial| trial.origin == Origin::Beside);
        let climbs = best.origin == Origin::Beside || climbed.count() < PENALTIES.len();
        if rung != ladder.first_full() || !climbs {
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
        Some(Step {
            rung,
            origin: Origin::Beside,
            point,
            parent: None,
            factors: best.params.factors,
            post_scale: best.params.post_scale,
        })
    }

    /// The best of the last rung with all the factors that a model may have, once, when nothing else
    /// is left to be done: too long a trial to search by.
    fn more(&self, trials: &[Trial], ladder: &Ladder) -> Option<Step> {
        let last = ladder.last();
        let (best, rung) = (*ranked(trials, last).first()?, ladder.rungs[last]);
        let here = || trials.iter().filter(|trial| trial.rung == last);
        // Rungs that time has lowered are as high as it allows.
        let is_for_it = rung.factors == highest(self.options)
            && rung.factors < self.options.max_factors
            && best.params.factors == rung.factors
            && here().count() >= SETTLED
            && here().all(|trial| trial.params.factors <= rung.factors);
        let step = Step {
            rung: last,
            origin: Origin::Beside,
            point: best.point.clone(),
            parent: None,
            factors: self.options.max_factors,
            post_scale: best.params.post_scale,
        };
        (is_for_it && self.is_turn_of(&step, trials, ladder)).then_some(step)
    }

    /// Whether a longer trial is to be made now: it still has the time, and shorter ones do not have
    /// it any more, or bring nothing.
    fn is_turn_of(&self, longer: &Step, trials: &[Trial], ladder: &Ladder) -> bool {
        let budget = match self.options.budget {
            Budget::Trials(n) => return trials.len() + 1 == n,
            Budget::Time(budget) => budget.as_secs_f64(),
        };
        let rung = ladder.rungs[longer.rung];
        let factors = longer.factors;
        let times = self.work.of(&Rung { factors, ..rung }) / self.work.of(&rung);
        let short = longest(trials, longer.rung).unwrap_or(0.0);
        let elapsed: f64 = trials.iter().map(|trial| trial.seconds).sum();
        let then = elapsed + short * times;
        then <= budget && (then + short > budget || is_done(trials, ladder))
    }

    /// A point of a rung below with the penalty changed as it was for the best of this one, where this
    /// is the first with all factors: what served one setting is likely to serve the next.
    fn as_penalised_here(
        &self,
        trials: &[Trial],
        ladder: &Ladder,
        rung: usize,
        point: &[f64],
    ) -> Vec<f64> {
        let from_below = |trial: &&Trial| {
            let below = trials.iter().filter(|below| below.rung < rung);
            let mut times = below.map(|b| self.space.penalty_over(&trial.point, &b.point));
            times.find_map(|times| times)
        };
        let here = (rung == ladder.first_full()).then(|| ranked(trials, rung));
        let times = here.and_then(|here| here.iter().find_map(from_below));
        // Values are rounded: what stayed as it was is not to move.
        let times = times.filter(|times| (times - 1.0).abs() > 0.01);
        let moved = times.and_then(|times| self.space.penalised(point, times));
        moved.unwrap_or_else(|| point.to_vec())
    }

    /// The best settings of a rung below with its factors, trained as the last rung trains: once,
    /// where more factors brought little or nothing. From there on the search stays with the number
    /// of factors that did best.
    fn fewer(&self, trials: &[Trial], ladder: &Ladder, rung: usize) -> Option<Step> {
        let here = ranked(trials, rung);
        let top = here.first()?.score?;
        if !self.options.may_shrink || rung != ladder.last() {
            return None;
        }
        let tried = |factors| {
            trials
                .iter()
                .any(|t| t.rung == rung && t.params.factors == factors)
        };
        (0..rung).rev().find_map(|below| {
            let factors = ladder.rungs[below].factors;
            let best = *ranked(trials, below).first()?;
            let close = best.score? >= CLOSE * top;
            (close && !tried(factors)).then(|| Step {
                rung,
                origin: Origin::Promoted,
                point: best.point.clone(),
                parent: None,
                factors,
                post_scale: best.params.post_scale,
            })
        })
    }
}

/// Seconds of the longest trial of a rung.
fn longest(trials: &[Trial], rung: usize) -> Option<f64> {
    let here = trials.iter().filter(|trial| trial.rung == rung);
    here.map(|trial| trial.seconds).reduce(f64::max)
}

/// Whether the last rung brings nothing any more.
fn is_done(trials: &[Trial], ladder: &Ladder) -> bool {
    let last = ladder.last();
    // Where there is one rung, all the searching is done on it.
    let patience = if last == 0 { PATIENCE.0 } else { PATIENCE.1 };
    stalled(trials, last, patience)
}

/// Whether the last `patience` trials of a rung brought nothing.
fn stalled(trials: &[Trial], rung: usize, patience: usize) -> bool {
    let scores: Vec<f64> = trials
        .iter()
        .filter(|trial| trial.rung == rung)
        .map(|trial| trial.score.unwrap_or(f64::MIN))
        .collect();
    if scores.len() <= patience {
        return false;
    }
    let (before, after) = scores.split_at(scores.len() - patience);
    let best = |scores: &[f64]| scores.iter().copied().fold(f64::MIN, f64::max);
    best(after) <= best(before) + GAIN * best(before).abs()
}

#[cfg(test)]
mod tests {
    use super::super::space::Scope;
    use super::super::testing::{blocks, trial};
    use super::*;

    const WORK: Work = Work {
        users: 1e3,
        items: 1e3,
        entries: 1e4,
    };

    fn on(rung: usize, trial: Trial) -> Trial {
        Trial { rung, ..trial }
    }

    #[test]
    fn more_factors_are_tried_once_at_the_end() {
        let space = Space::of(&blocks(), Scope::Uniform);
        let with = |budget, trials: &[Trial]| {
            let options = Options {
                max_factors: 1792,
                budget,
                ..Options::default()
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
            let mut trial = on(rung, trial(number, vec![0.3, 0.4, 0.1], score));
            (trial.params.factors, trial.seconds) = (factors, seconds);
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
        trials.push(of(22, 3, 1792, 9.0));
        assert_eq!(with(seconds(3600), &trials), None);
        assert_eq!(with(Budget::Trials(24), &trials), Some(1024));
    }

    #[test]
    fn the_first_rung_with_all_factors_penalises_the_next_as_it_did_its_best() {
        let space = Space::of(&blocks(), Scope::Uniform);
        let options = Options {
            max_factors: 64,
            budget: Budget::Trials(100),
            ..Options::default()
        };
        let planner = Planner {
            space: &space,
            options: &options,
            work: WORK,
        };
        let (first, second) = (vec![0.3, 0.4, 0.1], vec![0.6, 0.5, 0.1]);
        let more = space.penalised(&first, 3.0).unwrap();
        let mut trials = vec![
            trial(0, first.clone(), 0.3),
            trial(1, second.clone(), 0.2),
            on(2, trial(2, first, 0.3)),
        ];
        let ladder = planner.ladder(&trials);
        assert_eq!((ladder.last(), ladder.first_full()), (3, 2));
        let promoted =
            |trials: &[Trial], rung| planner.as_penalised_here(trials, &ladder, rung, &second);
        assert_eq!(
            promoted(&trials, 2),
            second,
            "the best was promoted as it was"
        );
        trials.push(on(2, trial(3, more, 0.4)));
        let times = space.penalty_over(&promoted(&trials, 2), &second).unwrap();
        assert!((times - 3.0).abs() < 0.05, "{times}");
        assert_eq!(
            promoted(&trials, 1),
            second,
            "rungs with fewer factors do not know"
        );
        assert_eq!(promoted(&trials, 3), second, "what comes from there has it");
    }
}
