//! Beyond the paper: the rank that realistic weights need, what truncation costs, negative weights.

use std::time::Instant;

use absentia::Dense;
use absentia::evaluate::Evaluation;
use absentia::fit::{FitError, Run, fit};
use absentia::weights::{Decomposition, Rank, Scheme};
use absentia::{Interactions, Solver};
use absentia_report::format::{count, p_value, percent, signed, significant};
use anyhow::Result;

use super::data::Set;
use super::lab::{Difference, Lab, METRICS, Setting, mean_text, measured};
use super::part::{AxisScale, Block, Grid, Lines};

/// Mean weight that each matrix has, about.
const MEAN: f64 = 0.02;
/// Most entries of a weight matrix that is written out.
const MOST: usize = 40_000_000;

/// Weight matrices that are not products of low rank, of the kinds that users want.
fn matrices(train: &Interactions<'_>) -> Vec<(&'static str, Dense)> {
    let (users, items) = (places(&train.user_counts()), places(&train.item_counts()));
    let share = move |u: usize, i: usize| (users[u], items[i]);
    let (m, n) = (train.n_users(), train.n_items());
    let scaled = |rule: &dyn Fn(usize, usize) -> f64| {
        let mut w = Dense::from_fn(m, n, |u, i| rule(u, i) as f32);
        let mean = w.as_slice().iter().map(|x| f64::from(*x)).sum::<f64>() / (m * n) as f64;
        let scale = (MEAN / mean.max(f64::MIN_POSITIVE)) as f32;
        w.as_mut_slice().iter_mut().for_each(|x| *x *= scale);
        w
    };
    vec![
        (
            "chance of having met the item: 1 − exp(−4 activity · popularity²), both as ranks in 0 to 1",
            scaled(&|u, i| {
                let (a, p) = share(u, i);
                1.0 - (-4.0 * a * p * p).exp() + 1e-3
            }),
        ),
        (
            "availability: items launched after a user left weigh nothing, in 12 periods",
            scaled(&|u, i| f64::from(u8::from((u * 7) % 12 >= (i * 5) % 12))),
        ),
        (
            "reach: popular items for all, others for active users only",
            scaled(&|u, i| {
                let (a, p) = share(u, i);
                if p + a > 1.0 { 1.0 } else { 0.05 }
            }),
        ),
    ]
}

/// The rank of each count among all, from 0 (smallest) to 1.
fn places(counts: &[u32]) -> Vec<f64> {
    let mut sorted = counts.to_vec();
    sorted.sort_unstable();
    let below = |count: &u32| sorted.partition_point(|other| other < count);
    let last = counts.len().saturating_sub(1).max(1) as f64;
    counts
        .iter()
        .map(|count| below(count) as f64 / last)
        .collect()
}

/// Rank by rank: error, negative weights, the result of training with them, and accuracy.
pub(super) fn blocks(lab: &Lab<'_>, set: &Set) -> Result<Vec<Block>> {
    if set.train.n_users() * set.train.n_items() > MOST {
        return Ok(vec![Block::text(
            "Too large to write its weight matrix out.",
        )]);
    }
    let mut blocks = Vec::new();
    let mut chart = Lines::new(
        format!("{}: relative error over missing entries by rank", set.name),
        (AxisScale::Log, "rank Z"),
        (AxisScale::Linear, "relative error of SVD"),
    );
    for (name, w) in matrices(&set.train) {
        let (grid, curve) = of_matrix(lab, set, name, &w)?;
        blocks.push(Block::Table(grid));
        chart = chart.series(name.split(':').next().unwrap_or(name), curve);
    }
    blocks.insert(0, Block::Lines(chart));
    blocks.push(Block::text(
        "Exact weights are trained with the vanilla algorithm, which takes W as it is. The last column \
         is the difference in `ndcg@100` from that model, paired by user. Where SVD leaves negative \
         weights a row can lose its minimum, and training ends with the row named; the non-negative \
         factorisation cannot fail this way, at the error and the seconds shown beside it.",
    ));
    Ok(blocks)
}

fn setting(lab: &Lab<'_>, scheme: Scheme, solver: Solver) -> Setting {
    Setting {
        scheme,
        params: lab
            .params(lab.size.factors().min(32), lab.size.rank_sweeps())
            .solver(solver),
    }
}

fn of_matrix(lab: &Lab<'_>, set: &Set, name: &str, w: &Dense) -> Result<(Grid, Vec<(f64, f64)>)> {
    let scheme =
        |rank: usize, method: Decomposition| Scheme::dense(w.clone(), Rank::Fixed(rank), method);
    // Any rank will do for the vanilla algorithm: it takes W itself.
    let exact = lab.train(
        &set.train,
        &setting(lab, scheme(1, Decomposition::Svd), Solver::EalsVanilla),
    )?;
    let exact = measured(&exact.scorer(), &set.train, &set.test, true)?;
    let mut grid = Grid::new(
        format!("{}: {name}", set.name),
        [
            "weights",
            "seconds to factorise",
            "relative error",
            "negative weights",
            "training",
            METRICS[0],
            METRICS[1],
            "ndcg from exact",
        ],
    );
    grid.row([
        "exact W".to_owned(),
        "–".to_owned(),
        "0".to_owned(),
        "0".to_owned(),
        "ended".to_owned(),
        mean_text(&exact, METRICS[0]),
        mean_text(&exact, METRICS[1]),
        "–".to_owned(),
    ]);
    let mut curve = Vec::new();
    for &rank in lab.size.ranks() {
        let tried = Tried::new(lab, set, &scheme(rank, Decomposition::Svd))?;
        curve.push((rank as f64, tried.error));
        grid.row(tried.row(rank, Decomposition::Svd, &exact)?);
        if lab.size.nonnegative_ranks().contains(&rank) {
            let tried = Tried::new(lab, set, &scheme(rank, Decomposition::NonNegative))?;
            grid.row(tried.row(rank, Decomposition::NonNegative, &exact)?);
        }
    }
    Ok((grid, curve))
}

/// One approximation, and what training made of it.
struct Tried {
    /// Seconds of the factorisation.
    seconds: f64,
    error: f64,
    negatives: u64,
    share: f64,
    outcome: Result<Evaluation, String>,
}

impl Tried {
    fn new(lab: &Lab<'_>, set: &Set, scheme: &Scheme) -> Result<Self> {
        let began = Instant::now();
        let weights = scheme.resolve(&set.train)?;
        let seconds = began.elapsed().as_secs_f64();
        let (mut error, mut negatives, mut share) = (0.0, 0, 0.0);
        if let Some(found) = weights.approximation() {
            error = found.relative_error;
            negatives = found.negatives.count;
            share = negatives as f64 / found.measured.entries().max(1) as f64;
        }
        // W has been factorised already.
        let found = Scheme::low_rank(weights.a().clone(), weights.b().clone());
        let Setting { scheme, params } = setting(lab, found, Solver::Eals);
        let outcome = match fit(&set.train, &scheme, &params.check()?, Run::default()) {
            Ok(fitted) => Ok(measured(
                &fitted.model.scorer(),
                &set.train,
                &set.test,
                true,
            )?),
            Err(FitError::NotConvex {
                axis,
                row,
                curvature,
            }) => Err(format!(
                "no minimum: {axis} {row}, curvature {}",
                significant(f64::from(curvature), 2)
            )),
            Err(error) => return Err(error.into()),
        };
        Ok(Self {
            seconds,
            error,
            negatives,
            share,
            outcome,
        })
    }

    fn row(&self, rank: usize, method: Decomposition, exact: &Evaluation) -> Result<Vec<String>> {
        let mut row = vec![
            format!("Z = {rank}, {method}"),
            significant(self.seconds, 2),
            significant(self.error, 3),
            if self.negatives == 0 {
                "0".to_owned()
            } else {
                format!("{} ({})", count(self.negatives), percent(self.share))
            },
        ];
        match &self.outcome {
            Ok(found) => {
                let difference = Difference::of(found, exact, METRICS[1])?;
                row.push("ended".to_owned());
                row.extend(METRICS.map(|name| mean_text(found, name)));
                row.push(format!(
                    "{}, {}",
                    signed(difference.test.difference),
                    p_value(difference.test.p)
                ));
            }
            Err(why) => {
                row.push(why.clone());
                row.extend(["–".to_owned(), "–".to_owned(), "–".to_owned()]);
            }
        }
        Ok(row)
    }
}
