//! Which trial comes next: a function of the trials so far and nothing else, so that an interrupted
//! search continues as if it had not been interrupted.

use std::collections::BTreeMap;

use absentia::fit::ProblemSize;

use super::options::{Budget, SearchOptions};
use super::propose::Proposer;
use super::schedule::{Schedule, trial_cost};
use crate::space::{Family, Scope, Space};
use crate::trial::{Origin, Trial, best_first, ranked};

/// Number of random trials on the first rung before the model proposes.
const RANDOM: usize = 12;
/// Number of trials of a rung that may be promoted to the next.
const PROMOTED: usize = 8;
/// The metric must rise by this share to count as a gain.
const GAIN: f64 = 0.002;
/// Number of trials without a gain, for each setting that is searched, after which a rung before the last ends: a larger
/// space needs more trials to find a gain. The last rung ends after a quarter of that.
const PATIENCE: usize = 10;
/// The smallest number of trials without a gain after which a rung before the last ends.
const LEAST_PATIENCE: usize = 40;
/// Fewer factors are chosen if their score is at least this share of the best.
const AS_GOOD: f64 = 0.999;

/// Of trials whose scores are at least this share of the best, the one with the highest NDCG is chosen: scores differ
/// by as much by chance, and NDCG also says where in the list the hits are.
const LEVEL: f64 = 0.99;

/// A trial to be made.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct PlannedTrial {
    pub(crate) rung: usize,
    /// The scope of the space that its point belongs to.
    pub(crate) scope: Scope,
    pub(crate) origin: Origin,
    pub(crate) point: Vec<f64>,
    /// The trial whose factors it starts from.
    pub(crate) parent: Option<usize>,
    pub(crate) factors: usize,
    /// Where the search for the best post-scaling starts.
    pub(crate) post_scale: f32,
}

impl PlannedTrial {
    /// The plan that a trial was made by, to make it again or to vary it.
    pub(crate) fn of(trial: &Trial) -> Self {
        Self {
            rung: trial.rung,
            scope: trial.scope,
            origin: trial.origin,
            point: trial.point.clone(),
            parent: None,
            factors: trial.params.factors,
            post_scale: trial.params.post_scale,
        }
    }
}

/// Plans the trials of a phase of a search.
pub(crate) struct Planner<'s> {
    pub(crate) space: &'s Space,
    pub(crate) options: SearchOptions,
    /// Families that have trials of their own, the simplest first.
    pub(crate) families: &'static [Family],
    /// Number of trials of the phase before.
    pub(crate) made_before: usize,
    /// The best trial of uniform weights of the phase before, as a point of this space, if that phase did not reach its
    /// last rung.
    pub(crate) uniform: Option<Trial>,
    pub(crate) data: ProblemSize,
}

impl<'s> Planner<'s> {
    /// Plans a search that has one phase.
    pub(crate) fn new(space: &'s Space, options: SearchOptions, data: ProblemSize) -> Self {
        Self {
            space,
            options,
            families: space.families(),
            made_before: 0,
            uniform: None,
            data,
        }
    }

    /// The rungs, given the trials of this phase so far.
    pub(crate) fn schedule(&self, trials: &[Trial]) -> Schedule {
        let first = trials.first().map(|trial| trial.seconds);
        Schedule::new(&self.options, &self.data, first)
    }

    /// The next trial, or nothing when the budget is spent.
    pub(crate) fn next(&self, trials: &[Trial]) -> Option<PlannedTrial> {
        let schedule = self.schedule(trials);
        if let Some(more) = self.more_factors(trials, &schedule) {
            return Some(more);
        }
        let rung = self.rung(trials, &schedule)?;
        Some(match rung {
            0 => self.first_rung(trials, &schedule),
            rung => self.later_rung(trials, &schedule, rung),
        })
    }

    /// The trial with the best settings, on the highest rung that was reached; one with fewer factors
    /// if it is as good, and of trials that are level the one with the highest NDCG.
    pub(crate) fn best<'t>(&self, trials: &'t [Trial]) -> Option<&'t Trial> {
        let with_score = best_first(trials).into_iter();
        let highest = with_score.map(|trial| trial.rung).max()?;
        let found = ranked(trials, highest);
        let enough = found.first()?.score?
            * if self.options.may_shrink {
                AS_GOOD
            } else {
                1.0
            };
        // Trials are sorted by score, and of equal numbers of factors the first is taken.
        let with_least_factors = found
            .iter()
            .filter(|trial| trial.score.is_some_and(|score| score >= enough))
            .min_by_key(|trial| trial.params.factors)?;
        let factors = with_least_factors.params.factors;
        let level = with_least_factors.score? * LEVEL;
        let is_level = |trial: &&&Trial| {
            trial.params.factors == factors && trial.score.is_some_and(|score| score >= level)
        };
        // The first of equals.
        let by_ndcg = |a: &&Trial, b: &&Trial| a.ndcg.partial_cmp(&b.ndcg);
        found
            .iter()
            .filter(is_level)
            .copied()
            .reduce(|best, next| match by_ndcg(&next, &best) {
                Some(std::cmp::Ordering::Greater) => next,
                _ => best,
            })
    }

    /// The rung of the next trial.
    fn rung(&self, trials: &[Trial], schedule: &Schedule) -> Option<usize> {
        let reached = trials.iter().map(|trial| trial.rung).max().unwrap_or(0);
        match self.options.budget {
            Budget::Trials(n) => {
                let last = schedule.last();
                // Every rung has a trial if there are enough; the rest is divided by shares.
                let end = |rung: usize| {
                    let share = (schedule.spent(rung, self.options.budget) * n as f64).round();
                    let most = n.saturating_sub(last - rung).max(n.min(rung + 1));
                    (share as usize).max(rung + 1).min(most)
                };
                (0..=last).find(|&rung| trials.len() < end(rung))
            }
            Budget::Time(budget) => {
                self.rung_by_time(trials, schedule, reached, budget.as_secs_f64())
            }
        }
    }

    fn rung_by_time(
        &self,
        trials: &[Trial],
        schedule: &Schedule,
        reached: usize,
        budget: f64,
    ) -> Option<usize> {
        let elapsed: f64 = trials.iter().map(|trial| trial.seconds).sum();
        let has = |rung| trials.iter().any(|trial| trial.rung == rung);
        for rung in reached.min(schedule.last())..schedule.last() {
            let in_time = elapsed < schedule.spent(rung, self.options.budget) * budget;
            if !has(rung)
                || (in_time && !stalled(&searched(trials, schedule, rung), self.patience()))
            {
                return Some(rung);
            }
        }
        let last = schedule.last();
        let longest = self.longest(trials, schedule);
        let fits = longest.is_none_or(|seconds| elapsed + seconds <= budget);
        (fits && !self.is_done(trials, schedule)).then_some(last)
    }

    /// Number of trials without a gain after which a rung before the last ends.
    fn patience(&self) -> usize {
        (PATIENCE * self.space.dimensions().len()).max(LEAST_PATIENCE)
    }

    /// Whether the last rung has stopped gaining.
    pub(crate) fn is_done(&self, trials: &[Trial], schedule: &Schedule) -> bool {
        let last = schedule.last();
        // If there is one rung only, the whole search happens on it.
        let part = if last == 0 { 1 } else { 4 };
        stalled(&searched(trials, schedule, last), self.patience() / part)
    }

    /// Seconds of the longest trial of the last rung, or an estimate from another rung with as many
    /// factors.
    pub(crate) fn longest(&self, trials: &[Trial], schedule: &Schedule) -> Option<f64> {
        let of = |rung| {
            let here = searched(trials, schedule, rung).into_iter();
            here.map(|trial| trial.seconds).reduce(f64::max)
        };
        let (last, full) = (schedule.last(), schedule.first_full());
        let work = |rung: usize| trial_cost(&self.data, &schedule.rungs[rung]);
        of(last).or_else(|| Some(of(full)? * work(last) / work(full)))
    }

    fn first_rung(&self, trials: &[Trial], schedule: &Schedule) -> PlannedTrial {
        let proposer = Proposer::new(self.space, self.options.seed);
        let number = trials.len();
        let recipes = self.space.recipes();
        let ranked = ranked(trials, 0);
        if number >= recipes.len()
            && let Some(uniform) = self.uniform_before(trials, schedule, 0)
        {
            return uniform;
        }
        let stream = self.stream(trials);
        let (origin, point) = if number < recipes.len() {
            (Origin::Recipe, recipes[number].clone())
        } else if number < recipes.len() + RANDOM || ranked.is_empty() {
            (Origin::Random, proposer.random(stream))
        } else if let Some(family) = self.simpler_in_turn(number) {
            (
                Origin::Model,
                self.near_the_best_of(family, stream, &ranked, 1.0),
            )
        } else {
            (Origin::Model, proposer.model(stream, &ranked, 1.0))
        };
        PlannedTrial {
            rung: 0,
            scope: self.space.scope(),
            origin,
            point,
            parent: None,
            factors: schedule.rungs[0].factors,
            post_scale: ranked.first().map_or(0.2, |best| best.params.post_scale),
        }
    }

    /// The stream of random numbers of the next trial: no two trials of a search have the same.
    fn stream(&self, trials: &[Trial]) -> usize {
        self.made_before + trials.len()
    }

    /// The best of the rung below, variations of it, the second best, the best of each family that has trials of its own,
    /// then in turn a proposal of the model and the next best.
    fn later_rung(&self, trials: &[Trial], schedule: &Schedule, rung: usize) -> PlannedTrial {
        let here = searched(trials, schedule, rung);
        let (made, here) = (here.len(), ranked(here, rung));
        if let Some(variation) = self.variation(trials, schedule, rung) {
            return variation;
        }
        let below = best_below(trials, rung);
        let untried = |candidate: &&&Trial| {
            let same = |trial: &&Trial| self.space.penalty_over(&trial.point, &candidate.point);
            !here.iter().any(|trial| same(trial).is_some())
        };
        let next_best = below.iter().take(PROMOTED).find(untried);
        let promoted = |candidate: &Trial| self.promoted(candidate, trials, schedule, rung);
        if let Some(simpler) = self.best_of_family(trials, rung).filter(|_| made > 1) {
            return promoted(&simpler);
        }
        if let Some(recipe) = best_recipe(trials, schedule, rung).filter(|_| made > 1) {
            let point = recipe.point.clone();
            return PlannedTrial {
                point,
                ..promoted(&recipe)
            };
        }
        match next_best {
            Some(candidate) if made < 2 || made.is_multiple_of(2) => promoted(candidate),
            _ => self.near_the_best(trials, schedule, rung),
        }
    }

    /// A trial of a rung below, or of the phase before, on this rung.
    pub(crate) fn promoted(
        &self,
        candidate: &Trial,
        trials: &[Trial],
        schedule: &Schedule,
        rung: usize,
    ) -> PlannedTrial {
        let here = ranked(searched(trials, schedule, rung), rung);
        let best = here.first();
        PlannedTrial {
            rung,
            scope: self.space.scope(),
            origin: Origin::Promoted,
            point: self.with_penalty_of_this_rung(trials, schedule, rung, &candidate.point),
            parent: schedule.starts_warm(rung).then_some(candidate.number),
            factors: best.map_or(schedule.rungs[rung].factors, |best| best.params.factors),
            post_scale: candidate.params.post_scale,
        }
    }

    fn near_the_best(&self, trials: &[Trial], schedule: &Schedule, rung: usize) -> PlannedTrial {
        let proposer = Proposer::new(self.space, self.options.seed);
        let here = ranked(searched(trials, schedule, rung), rung);
        let below = best_below(trials, rung);
        let best = here.first().or(below.first());
        let (number, stream) = (trials.len(), self.stream(trials));
        let propose = |trials: &[&Trial]| match self.simpler_in_turn(number) {
            Some(family) => self.near_the_best_of(family, stream, trials, 0.5),
            None => proposer.model(stream, trials, 0.5),
        };
        let point = if here.len() >= 4 {
            propose(&here)
        } else {
            let point = propose(&below);
            self.with_penalty_of_this_rung(trials, schedule, rung, &point)
        };
        PlannedTrial {
            rung,
            scope: self.space.scope(),
            origin: Origin::Model,
            point,
            parent: best
                .filter(|_| schedule.starts_warm(rung))
                .and_then(|best| best.parent.or((best.rung < rung).then_some(best.number))),
            factors: here
                .first()
                .map_or(schedule.rungs[rung].factors, |best| best.params.factors),
            post_scale: best.map_or(0.2, |best| best.params.post_scale),
        }
    }

    /// A point of a rung below, with its penalty changed by the factor that made the best trial of this
    /// rung better. This is done on the first rung with all factors only.
    fn with_penalty_of_this_rung(
        &self,
        trials: &[Trial],
        schedule: &Schedule,
        rung: usize,
        point: &[f64],
    ) -> Vec<f64> {
        let from_below = |trial: &&Trial| {
            let below = trials.iter().filter(|below| below.rung < rung);
            let mut times = below.map(|b| self.space.penalty_over(&trial.point, &b.point));
            times.find_map(|times| times)
        };
        let here = (rung == schedule.first_full()).then(|| ranked(trials, rung));
        let times = here.and_then(|here| here.iter().find_map(from_below));
        // Values are rounded: a penalty that did not change must not move.
        let times = times.filter(|times| (times - 1.0).abs() > 0.01);
        let moved = times.and_then(|times| self.space.penalised(point, times));
        moved.unwrap_or_else(|| point.to_vec())
    }
}

/// The best recipe of the first rung, on every rung with all factors: what does well on other data may need all of them,
/// or more sweeps than the rungs before the last make.
fn best_recipe(trials: &[Trial], schedule: &Schedule, rung: usize) -> Option<Trial> {
    let is_recipe = |trial: &&&Trial| trial.origin == Origin::Recipe;
    let first = ranked(trials, 0);
    let best = *first.iter().find(is_recipe)?;
    let is_same = |trial: &Trial| trial.rung == rung && trial.point == best.point;
    let is_wanted = rung >= schedule.first_full() && !trials.iter().any(is_same);
    is_wanted.then(|| best.clone())
}

/// Numbers of the trials of a rung, sorted by score, that [`Planner::best`] can choose, now or after more trials: of each
/// number of factors, those that are level with the best and have a higher NDCG than all that score higher.
pub(crate) fn candidates(ranked: &[&Trial]) -> Vec<usize> {
    let mut tops: BTreeMap<usize, (f64, Option<f64>)> = BTreeMap::new();
    let mut found = Vec::new();
    for trial in ranked {
        let Some(score) = trial.score else { continue };
        let top = tops.get(&trial.params.factors).copied();
        let is_candidate = top.is_none_or(|(top, ndcg)| score >= top * LEVEL && trial.ndcg > ndcg);
        if is_candidate {
            let top = top.map_or(score, |(top, _)| top);
            tops.insert(trial.params.factors, (top, trial.ndcg));
            found.push(trial.number);
        }
    }
    found
}

/// The trials of the highest rung below `rung` that has any with a score, best first.
fn best_below(trials: &[Trial], rung: usize) -> Vec<&Trial> {
    let mut below = (0..rung).rev().map(|rung| ranked(trials, rung));
    below.find(|found| !found.is_empty()).unwrap_or_default()
}

/// Trials of a rung in order, without those that have more factors than the rung.
pub(crate) fn searched<'t>(
    trials: &'t [Trial],
    schedule: &Schedule,
    rung: usize,
) -> Vec<&'t Trial> {
    let most = schedule.rungs[rung].factors;
    let is_part = |trial: &&Trial| trial.rung == rung && trial.params.factors <= most;
    trials.iter().filter(is_part).collect()
}

/// Whether the last `patience` trials gained nothing.
fn stalled(trials: &[&Trial], patience: usize) -> bool {
    let scores = trials.iter().map(|trial| trial.score.unwrap_or(f64::MIN));
    let scores: Vec<f64> = scores.collect();
    if scores.len() <= patience {
        return false;
    }
    let (before, after) = scores.split_at(scores.len() - patience);
    let best = |scores: &[f64]| scores.iter().copied().fold(f64::MIN, f64::max);
    best(after) <= best(before) + GAIN * best(before).abs()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{blocks, timed_blocks, trial};

    const DATA: ProblemSize = ProblemSize {
        users: 2e4,
        items: 1e3,
        entries: 1e5,
        rank: 1.0,
    };

    fn on(rung: usize, trial: Trial) -> Trial {
        Trial { rung, ..trial }
    }

    #[test]
    fn of_level_trials_the_one_with_the_highest_ndcg_is_best() {
        let space = Space::of(&blocks(), Scope::Uniform);
        let options = SearchOptions {
            max_factors: 8,
            ..SearchOptions::default()
        };
        let planner = Planner::new(&space, options, DATA);
        let of = |number, score, ndcg| Trial {
            ndcg,
            ..trial(number, vec![0.5; 3], score)
        };
        let trials = [
            of(0, 0.300, Some(0.10)),
            of(1, 0.298, Some(0.12)),
            of(2, 0.299, Some(0.11)),
            of(3, 0.250, Some(0.20)),
        ];
        assert_eq!(planner.best(&trials).map(|best| best.number), Some(1));
        let unknown = [of(0, 0.300, None), of(1, 0.298, None)];
        assert_eq!(planner.best(&unknown).map(|best| best.number), Some(0));
    }

    #[test]
    fn a_rung_of_a_larger_space_waits_longer_for_a_gain() {
        let on_first_rung = |scope| {
            let space = Space::of(&timed_blocks(), scope);
            let options = SearchOptions {
                max_factors: 64,
                budget: Budget::Time(std::time::Duration::from_secs(6000)),
                ..SearchOptions::default()
            };
            let planner = Planner::new(&space, options, DATA);
            let mut trials: Vec<Trial> = Vec::new();
            while let Some(next) = planner.next(&trials).filter(|next| next.rung == 0) {
                let mut made = trial(trials.len(), next.point, 0.1);
                made.params.factors = next.factors;
                trials.push(made);
            }
            (space.dimensions().len(), trials.len())
        };
        // The first trial is what the others do not gain on.
        assert_eq!(on_first_rung(Scope::Uniform), (3, 41));
        let (settings, trials) = on_first_rung(Scope::All);
        assert!(settings > 4, "{settings}");
        assert_eq!(trials, 10 * settings + 1);
    }

    #[test]
    fn the_smallest_budgets_leave_no_rung_out() {
        let space = Space::of(&blocks(), Scope::All);
        for budget in 1..=12 {
            let options = SearchOptions {
                max_factors: 64,
                budget: Budget::Trials(budget),
                ..SearchOptions::default()
            };
            let planner = Planner::new(&space, options, DATA);
            let mut trials: Vec<Trial> = Vec::new();
            while let Some(step) = planner.next(&trials) {
                assert!(trials.len() < budget);
                let made = trial(trials.len(), step.point, 0.1);
                let mut made = on(step.rung, made);
                (made.origin, made.params.factors) = (step.origin, step.factors);
                trials.push(made);
            }
            let reached: Vec<usize> = trials.iter().map(|trial| trial.rung).collect();
            assert_eq!(reached.len(), budget);
            assert!(reached.is_sorted());
            assert!(
                (0..4.min(budget)).all(|rung| reached.contains(&rung)),
                "{reached:?}"
            );
        }
    }

    #[test]
    fn the_first_rung_with_all_factors_penalises_the_next_as_it_did_its_best() {
        let space = Space::of(&blocks(), Scope::Uniform);
        let options = SearchOptions {
            max_factors: 64,
            budget: Budget::Trials(100),
            ..SearchOptions::default()
        };
        let planner = Planner::new(&space, options, DATA);
        let (first, second) = (vec![0.3, 0.4, 0.1], vec![0.6, 0.5, 0.1]);
        let more = space.penalised(&first, 3.0).unwrap();
        let mut trials = vec![
            trial(0, first.clone(), 0.3),
            trial(1, second.clone(), 0.2),
            on(2, trial(2, first, 0.3)),
        ];
        let schedule = planner.schedule(&trials);
        assert_eq!((schedule.last(), schedule.first_full()), (3, 2));
        let promoted = |trials: &[Trial], rung| {
            planner.with_penalty_of_this_rung(trials, &schedule, rung, &second)
        };
        assert_eq!(
            promoted(&trials, 2),
            second,
            "the best was promoted as it was"
        );
        for rung in 1..4 {
            trials.push(on(rung, trial(2 + rung, more.clone(), 0.4)));
        }
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
