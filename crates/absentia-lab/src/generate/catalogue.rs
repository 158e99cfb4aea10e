//! The items: their popularity, category and place in taste.

use rayon::prelude::*;

use super::params::{ExposureModel, GeneratorParams};
use super::permutation::Permutation;
use super::streams::{Purpose, Streams};
use super::taste::item_vector;

/// Everything that is stored per item.
#[derive(Clone, Debug)]
pub(super) struct Catalogue {
    /// Weight in the exposure process, summing to 1.
    pub(super) popularity: Vec<f32>,
    pub(super) category: Vec<u16>,
    vectors: Vec<f32>,
    rank: usize,
}

impl Catalogue {
    pub(super) fn new(params: &GeneratorParams, streams: &Streams) -> Self {
        let (items, rank) = (params.items, params.rank);
        let mut vectors = vec![0.0; items * rank];
        let mut category = vec![0; items];
        vectors
            .par_chunks_exact_mut(rank)
            .zip(&mut category)
            .enumerate()
            .for_each(|(item, (vector, category))| {
                let mut stream = streams.stream(Purpose::Item, item as u64);
                *category = stream.below(params.categories) as u16;
                item_vector(&mut stream, vector);
            });
        Self {
            popularity: popularity(params, streams),
            category,
            vectors,
            rank,
        }
    }

    pub(super) fn vector(&self, item: u32) -> &[f32] {
        &self.vectors[item as usize * self.rank..][..self.rank]
    }
}

/// Zipf's law over a shuffle of the items.
fn popularity(params: &GeneratorParams, streams: &Streams) -> Vec<f32> {
    if params.exposure == ExposureModel::Uniform {
        return vec![1.0 / params.items as f32; params.items];
    }
    let shuffle = Permutation::new(params.items, streams, 1);
    let weight = |rank: u64| (rank as f64 + 1.0).powf(-f64::from(params.popularity_exponent));
    let total: f64 = (0..params.items as u64).map(weight).sum();
    (0..params.items as u64)
        .map(|item| (weight(shuffle.place(item)) / total) as f32)
        .collect()
}
