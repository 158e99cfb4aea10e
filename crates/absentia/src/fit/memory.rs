//! The memory that a run needs, computed before anything large is allocated.

use super::learned::estimate_params;
use crate::baselines;
use crate::data::{Confidence, Interactions, Targets};
use crate::error::Axis;
use crate::linalg::LANES;
use crate::linalg::kernels::Kernels;
use crate::params::{Method, Params, Solver};
use crate::relations::{Content, Relations};
use crate::solver::block::SOLVING_BYTES;
use crate::solver::cache::GramCache;
use crate::solver::in_double::double_bytes;
use crate::solver::lane_parallel::scratch_bytes as lane_scratch_bytes;
use crate::solver::{scratch_bytes, stored_layout_bytes};
use crate::weights::Scheme;

/// Bytes for each exposure while the estimate of learned weights builds its matrix of them: the three
/// columns it is built from, the keys they are sorted by, and the rows.
const EXPOSURE: u64 = 28;

/// Bytes a run needs, part by part.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct MemoryPlan {
    /// What takes memory, and how much.
    pub parts: Vec<(&'static str, u64)>,
}

/// The sizes a plan depends on.
#[derive(Clone, Copy, Debug)]
pub struct Sizes {
    /// Number of users M.
    pub users: usize,
    /// Number of items N.
    pub items: usize,
    /// Number of entries |R|.
    pub entries: usize,
    /// Most entries of a row, of users or of items.
    pub longest_row: usize,
    /// Bytes of the matrix and its transpose, as built.
    pub data: u64,
    /// Whether targets, and weights, differ from entry to entry in the matrix as it is.
    pub vary: (bool, bool),
    /// Whether it has exposed entries, which have their own target and weight.
    pub exposed: bool,
    /// Rank Z of the weights on missing entries.
    pub rank: usize,
    /// Rank of weights that are estimated from the data before the run, 0 if there are none.
    pub rank_to_estimate: usize,
    /// Whether the weights follow from the times of the entries, which are put in order before the run.
    pub orders_times: bool,
    /// Whether the best model so far is stored beside the current one.
    pub keeps_best: bool,
    /// Most neighbours that `itemknn` can find, of all items together; 0 for other methods.
    pub neighbours: u64,
    /// Rows and columns of blocks of features.
    pub feature_rows: usize,
}

impl Sizes {
    /// Yields the sizes of a run on `data` with the weights of `scheme`.
    #[must_use]
    pub fn of(data: &Interactions<'_>, scheme: &Scheme, params: &Params, keeps_best: bool) -> Self {
        Self {
            users: data.n_users(),
            items: data.n_items(),
            entries: data.len(),
            longest_row: data.longest_row(),
            data: data.bytes(),
            vary: data.varies(),
            exposed: data.n_interactions() < data.len(),
            rank: scheme.rank_bound(data),
            rank_to_estimate: scheme.rank_to_estimate(),
            orders_times: scheme.needs_times(),
            keeps_best,
            neighbours: baselines::most_neighbours(data, params.solver),
            feature_rows: 0,
        }
    }

    /// Yields the sizes of the stacked matrix of a run with further relations.
    #[must_use]
    pub fn stacked(mut self, relations: Option<&Relations<'_>>) -> Self {
        let Some(relations) = relations else {
            return self;
        };
        for entity in relations.entities.iter().skip(2) {
            match entity.axis {
                Axis::User => self.users += entity.count,
                Axis::Item => self.items += entity.count,
            }
        }
        for relation in &relations.relations {
            match &relation.content {
                Content::Entries(entries) => {
                    let data = &entries.data;
                    self.entries += data.len();
                    // Itself, with its own targets and weights, and transposed.
                    self.data += 3 * data.bytes();
                    self.longest_row += data.longest_row();
                    self.rank += entries.scheme.rank_bound(data);
                }
                Content::Features(features) => {
                    self.data += features.bytes() + features.bytes() / 2;
                    self.rank += 1;
                    let (rows, columns) = relation.shape();
                    self.feature_rows += rows + columns;
                }
            }
        }
        let rows = (self.users + self.items) as u64;
        self.data += 8 * rows + 24 * self.entries as u64;
        self.vary = (true, true);
        self
    }
}

impl MemoryPlan {
    /// Counts what a run of these sizes with these parameters takes at its peak.
    #[must_use]
    pub fn new(sizes: &Sizes, params: &Params) -> Self {
        let trained = baselines::n_factors(params);
        let stride = trained.next_multiple_of(LANES);
        let rows = (sizes.users + sizes.items) as u64;
        let factors = 4 * rows * stride as u64;
        let threads = params.threads.unwrap_or_else(default_threads) as u64;
        let mut parts = vec![
            ("matrix and transpose", sizes.data),
            ("targets and weights of entries", transformed(sizes, params)),
            ("factors", factors),
            ("factors of the last complete sweep", factors),
            (
                "weights on missing entries",
                (4 * rows).saturating_mul(sizes.rank as u64),
            ),
            ("caches", caches(sizes, params, trained)),
            ("layouts", layouts(sizes, params)),
            (
                "work",
                threads * scratch(sizes, params) + rows * 8 + rows / 8,
            ),
            (
                // The returned model and the final checkpoint each have their own.
                "weights and counts of the models",
                (8 * rows).saturating_mul(sizes.rank as u64 + 1),
            ),
        ];
        if let Method::Baseline(baseline) = params.solver {
            let bytes = baselines::bytes(baseline, sizes, params);
            parts.push(("work of the baseline", bytes));
        }
        if sizes.feature_rows > 0 {
            // The rows that are multiplied, their product, and the strips it is made in.
            let bytes = 8 * sizes.feature_rows as u64 * stride as u64;
            parts.push(("products with features", bytes));
        }
        if sizes.keeps_best {
            parts.push(("best factors", factors));
        }
        let mut plan = Self { parts };
        plan.add_estimate(sizes, params);
        plan
    }

    /// The estimate of learned weights, and the order of times, are over before the run has factors of its own:
    /// what counts is what they take beyond them.
    fn add_estimate(&mut self, sizes: &Sizes, params: &Params) {
        let shared = sizes.data + transformed(sizes, params);
        let run = self.total().saturating_sub(shared);
        let times = 8 * sizes.entries as u64 * u64::from(sizes.orders_times);
        let beyond = estimate(sizes, params).max(times).saturating_sub(run);
        if beyond > 0 {
            self.parts.push(("estimate of the weights", beyond));
        }
    }

    /// Total number of bytes.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.parts
            .iter()
            .fold(0, |sum: u64, (_, bytes)| sum.saturating_add(*bytes))
    }
}

/// Number of threads this process may use: those of the machine that the container, if any, allows.
#[must_use]
pub fn default_threads() -> usize {
    std::thread::available_parallelism().map_or(1, std::num::NonZero::get)
}

/// Whether options make targets, and weights, differ from entry to entry.
fn varied(sizes: &Sizes, params: &Params) -> (bool, bool) {
    let targets = matches!(params.targets, Targets::Normalized { .. } | Targets::Log);
    let weights = !matches!(
        params.confidence,
        Confidence::Constant { .. } | Confidence::Column
    );
    let is_one = matches!(params.confidence, Confidence::Constant { weight } if weight.to_bits() == 1.0_f32.to_bits());
    // Exposed entries keep their weights, which may be those of the others.
    let others = sizes.exposed && (sizes.vary.1 || !is_one);
    (targets || sizes.exposed, weights || others)
}

/// Whether targets, and weights, differ from entry to entry in a run.
fn vary(sizes: &Sizes, params: &Params) -> (bool, bool) {
    let (targets, weights) = varied(sizes, params);
    (
        targets || (params.targets == Targets::Raw && sizes.vary.0),
        weights || (params.confidence == Confidence::Column && sizes.vary.1),
    )
}

/// Numbers that options make vary from entry to entry, in both orientations.
fn transformed(sizes: &Sizes, params: &Params) -> u64 {
    let (targets, weights) = varied(sizes, params);
    8 * sizes.entries as u64 * (u64::from(targets) + u64::from(weights))
}

/// The order of entries for the lane-parallel `eals`, where it is stored.
fn layouts(sizes: &Sizes, params: &Params) -> u64 {
    if params.solver != Method::Solver(Solver::Eals) || !Kernels::in_use().uses_lane_parallel() {
        return 0;
    }
    let (targets, weights) = vary(sizes, params);
    let rows = sizes.users + sizes.items;
    stored_layout_bytes(
        rows,
        sizes.entries,
        usize::from(targets) + usize::from(weights),
    )
}

/// What the estimate of learned weights takes beside the matrix: a small run, the exposures of the
/// observed entries and of the same number of missing ones, and the rates before and after.
fn estimate(sizes: &Sizes, params: &Params) -> u64 {
    if sizes.rank_to_estimate == 0 {
        return 0;
    }
    let run = Sizes {
        data: 0,
        vary: vary(sizes, params),
        rank: sizes.rank_to_estimate,
        rank_to_estimate: 0,
        orders_times: false,
        keeps_best: false,
        ..*sizes
    };
    let rates = 16 * ((sizes.users + sizes.items) * sizes.rank_to_estimate) as u64;
    let exposures = EXPOSURE * 2 * sizes.entries as u64;
    MemoryPlan::new(&run, &estimate_params(params)).total() + exposures + rates
}

/// Two sides' caches: both are alive at once, and one is being built on top of that. Sums in double
/// precision, which are made where rounding may have raised J, take caches in `f64` instead of these.
fn caches(sizes: &Sizes, params: &Params, factors: usize) -> u64 {
    let stored = GramCache::stored_bytes(factors, sizes.rank);
    let building = |rows| GramCache::building_bytes(rows, factors, sizes.rank);
    let single = building(sizes.users).max(building(sizes.items));
    let double = match params.solver {
        Method::Solver(Solver::EalsVanilla) | Method::Baseline(_) => 0,
        Method::Solver(_) => {
            let threads = params.threads.unwrap_or_else(default_threads);
            double_bytes(factors, sizes.rank, threads)
        }
    };
    stored.saturating_mul(2).saturating_add(single).max(double)
}

/// Buffers of one worker; those of baselines are small.
fn scratch(sizes: &Sizes, params: &Params) -> u64 {
    if params.solver.is_baseline() {
        return 0;
    }
    let stride = params.factors.next_multiple_of(LANES) as u64;
    let window = match params.solver {
        Method::Solver(Solver::Als) => stride,
        Method::Solver(Solver::Subspace { block }) => (block as u64).max(16).min(stride),
        Method::Solver(Solver::Eals | Solver::EalsVanilla | Solver::AlsCg { .. })
        | Method::Baseline(_) => 16,
    };
    let grams = if window == 16 {
        2 * 32 * 256
    } else {
        2 * window * window
    };
    let rows = match params.solver {
        Method::Solver(Solver::Eals) => {
            lane_scratch_bytes(sizes.entries, sizes.longest_row, stride as usize)
        }
        Method::Solver(Solver::EalsVanilla) => 24 * sizes.users.max(sizes.items) as u64,
        Method::Solver(Solver::AlsCg { .. }) => 3 * 32 * 4 * stride,
        Method::Solver(Solver::Subspace { .. } | Solver::Als) | Method::Baseline(_) => {
            4 * 32 * 5 * window
        }
    };
    let packed = scratch_bytes(sizes.longest_row.min(sizes.entries), stride as usize);
    4 * grams + rows + packed + SOLVING_BYTES
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sizes(rank_to_estimate: usize) -> Sizes {
        Sizes {
            feature_rows: 0,
            users: 1000,
            items: 500,
            entries: 100_000,
            longest_row: 1000,
            data: 800_000,
            vary: (false, false),
            exposed: false,
            rank: 4,
            rank_to_estimate,
            orders_times: false,
            keeps_best: false,
            neighbours: 0,
        }
    }

    fn total_of(sizes: &Sizes, factors: usize) -> u64 {
        let params = Params::new().factors(factors).threads(1);
        MemoryPlan::new(sizes, &params).total()
    }

    fn total(rank_to_estimate: usize, factors: usize) -> u64 {
        total_of(&sizes(rank_to_estimate), factors)
    }

    #[test]
    fn the_estimate_of_weights_counts_where_it_takes_more_than_the_run() {
        // 200,000 exposures and the matrix itself, whatever the run takes.
        assert!(total(4, 16) >= 800_000 + EXPOSURE * 200_000);
        assert!(total(4, 16) > total(0, 16));
        assert_eq!(total(4, 1024), total(0, 1024));
    }

    #[test]
    fn the_order_of_times_counts_where_it_takes_more_than_the_run() {
        let many = Sizes {
            entries: 100_000_000,
            ..sizes(0)
        };
        let ordered = |sizes: Sizes| Sizes {
            orders_times: true,
            ..sizes
        };
        assert!(total_of(&ordered(many), 8) >= 8 * 100_000_000);
        assert!(total_of(&many, 8) < 4 * 100_000_000);
        assert_eq!(total_of(&ordered(sizes(0)), 1024), total(0, 1024));
    }
}
