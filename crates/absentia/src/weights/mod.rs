//! stub
#![allow(missing_docs)]
use crate::data::Interactions;
use crate::linalg::Dense;
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum WeightsError {
    #[error("x")]
    X,
}
#[derive(Clone, Debug)]
pub enum Scheme {
    Uniform { weight: f32 },
    LowRank { a: Dense, b: Dense },
    Dense(Dense),
}
impl Scheme {
    pub fn resolve(&self, data: &Interactions<'_>) -> Result<MissingWeights, WeightsError> {
        Ok(match self {
            Scheme::Uniform { weight } => MissingWeights {
                a: Dense::from_fn(data.n_users(), 1, |_, _| *weight),
                b: Dense::from_fn(data.n_items(), 1, |_, _| 1.0),
            },
            Scheme::LowRank { a, b } => MissingWeights {
                a: a.clone(),
                b: b.clone(),
            },
            Scheme::Dense(w) => MissingWeights {
                a: Dense::from_fn(w.rows(), 1, |_, _| 1.0),
                b: Dense::from_fn(w.cols(), 1, |_, _| 1.0),
            },
        })
    }
    pub fn rank_bound(&self, _: &Interactions<'_>) -> usize {
        match self {
            Scheme::LowRank { a, .. } => a.cols(),
            _ => 1,
        }
    }
    pub fn dense(&self) -> Option<&Dense> {
        match self {
            Scheme::Dense(w) => Some(w),
            _ => None,
        }
    }
}
#[derive(Clone, Debug)]
pub struct MissingWeights {
    a: Dense,
    b: Dense,
}
impl MissingWeights {
    pub fn a(&self) -> &Dense {
        &self.a
    }
    pub fn b(&self) -> &Dense {
        &self.b
    }
    pub fn rank(&self) -> usize {
        self.a.cols()
    }
    pub fn may_be_negative(&self) -> bool {
        self.a
            .as_slice()
            .iter()
            .chain(self.b.as_slice())
            .any(|x| *x < 0.0)
    }
    pub fn new_user(&self, _n: u32) -> Result<Vec<f32>, WeightsError> {
        Ok(self.a.row(0).to_vec())
    }
    pub fn new_item(&self, _n: u32) -> Result<Vec<f32>, WeightsError> {
        Ok(self.b.row(0).to_vec())
    }
}
