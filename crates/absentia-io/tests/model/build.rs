//! Small models made by hand, and trained ones.

use absentia::Dense;
use absentia::data::{Duplicates, FrozenTransform, Interactions, Triplets};
use absentia::fit::{Best, Checkpoint, Sweep};
use absentia::model::{Factors, ModelParts};
use absentia::weights::{Frozen, FrozenPart, GivenFactors, MissingWeights, Term};
use absentia::{Model, Objective, Params};
use absentia_io::IdMap;
use absentia_io::model::Ids;

/// Sizes and forms of a model.
#[derive(Clone, Debug)]
pub(crate) struct Shape {
    pub(crate) users: usize,
    pub(crate) items: usize,
    pub(crate) factors: usize,
    pub(crate) rank: usize,
    pub(crate) padded: bool,
    pub(crate) sweeps: usize,
    pub(crate) seed: u64,
}

/// Numbers that are spread over many magnitudes and never special.
fn number(seed: u64, at: usize) -> f32 {
    let mixed = (seed ^ (at as u64 + 1)).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    let mixed = (mixed ^ (mixed >> 29)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let float = f32::from_bits((mixed >> 32) as u32);
    if float.is_finite() { float } else { 0.25 }
}

fn dense(rows: usize, cols: usize, seed: u64) -> Dense {
    Dense::from_fn(rows, cols, |row, col| number(seed, row * cols + col))
}

fn factors(shape: &Shape, rows: usize, salt: u64) -> Factors {
    let dense = dense(rows, shape.factors, shape.seed ^ salt);
    let dense = if shape.padded {
        dense.into_padded()
    } else {
        dense
    };
    dense.into()
}

fn history(shape: &Shape) -> Vec<Sweep> {
    let real = |at: usize| f64::from(number(shape.seed, at)) / 3.0;
    (0..shape.sweeps)
        .map(|at| Sweep {
            iteration: at + 1,
            objective: Objective {
                observed: real(4 * at),
                missing: real(4 * at + 1),
                regularization: real(4 * at + 2),
            },
            // Files do not keep them.
            seconds: 0.0,
            validation: (at % 2 == 1).then(|| real(at)),
        })
        .collect()
}

pub(crate) fn model(shape: &Shape) -> Model {
    let rank = shape.rank;
    let (a, b) = (
        dense(shape.users, rank, shape.seed ^ 3),
        dense(shape.items, rank, shape.seed ^ 4),
    );
    let kind = Term::LowRank(GivenFactors);
    let frozen = Frozen {
        parts: vec![FrozenPart { rank, kind }],
    };
    let counts = |n: usize| (0..n as u32).map(|i| i * 7 + 1).collect();
    Model::from_parts(ModelParts {
        related: None,
        user_factors: factors(shape, shape.users, 1),
        item_factors: factors(shape, shape.items, 2),
        weights: MissingWeights::from_parts(a, b, frozen).unwrap(),
        transform: FrozenTransform {
            scale: number(shape.seed, 5),
            ..FrozenTransform::default()
        },
        user_counts: counts(shape.users),
        item_counts: counts(shape.items),
        recent_counts: None,
        params: Params::new()
            .factors(shape.factors)
            .regularization(number(shape.seed, 6).abs())
            .post_scale(0.1)
            .seed(shape.seed)
            .tolerance(1e-5),
        history: history(shape),
        neighbours: None,
    })
    .unwrap()
}

pub(crate) fn checkpoint(shape: &Shape) -> Checkpoint {
    Checkpoint {
        model: model(shape),
        best: Some(Best {
            iteration: 2,
            score: f64::from(number(shape.seed, 9)) / 7.0,
            users: factors(shape, shape.users, 11),
            items: factors(shape, shape.items, 12),
        }),
    }
}

/// A model of a few bytes, for tests that go through all of them.
pub(crate) fn tiny() -> (Checkpoint, Ids) {
    let shape = Shape {
        users: 2,
        items: 3,
        factors: 3,
        rank: 1,
        padded: true,
        sweeps: 2,
        seed: 8,
    };
    let ids = Ids {
        related: Vec::new(),
        users: ["ann", "Zoë"].into_iter().collect(),
        items: ["7", "-3", "12"].into_iter().collect::<IdMap>(),
    };
    (checkpoint(&shape), ids)
}

/// A matrix with some structure: users like items of their own remainder.
pub(crate) fn interactions(users: u32, items: u32) -> Interactions<'static> {
    let mut pairs = (Vec::new(), Vec::new());
    for user in 0..users {
        for item in 0..items {
            if user % 3 == item % 3 && (user * 7 + item * 5) % 4 != 0 {
                pairs.0.push(user);
                pairs.1.push(item);
            }
        }
    }
    Triplets::new(&pairs.0, &pairs.1)
        .build(users as usize, items as usize, Duplicates::Error)
        .unwrap()
}

/// The bits of a matrix, row by row.
pub(crate) fn bits(factors: &Factors) -> Vec<u32> {
    (0..factors.rows())
        .flat_map(|row| factors.row(row).iter().map(|x| x.to_bits()))
        .collect()
}
