//! The exposure process: which item a user of a segment is shown next.

use super::alias::Alias;
use super::catalogue::Catalogue;
use super::params::{ExposureModel, GeneratorParams};
use super::streams::{Purpose, RandomStream, Streams};

/// Draws items from `π_g` in two steps, category then item, so that memory is
/// `O(items + segments · categories)` and not `O(items · segments)`.
#[derive(Clone, Debug)]
pub(super) struct Showing {
    groups: usize,
    categories: usize,
    /// By group, the choice of a category.
    category_of_group: Vec<Alias>,
    /// By group and category, `π_g(i) / popularity_i`.
    lift: Vec<f64>,
    /// By category, the choice of an item.
    item_of_category: Vec<Alias>,
}

impl Showing {
    pub(super) fn new(params: &GeneratorParams, catalogue: &Catalogue, streams: &Streams) -> Self {
        let categories = params.categories;
        let mut shelves = vec![(Vec::new(), Vec::new()); categories];
        for (item, &category) in catalogue.category.iter().enumerate() {
            let (items, weights) = &mut shelves[category as usize];
            items.push(item as u32);
            weights.push(f64::from(catalogue.popularity[item]));
        }
        let sizes: Vec<f64> = shelves
            .iter()
            .map(|(_, weights)| weights.iter().sum())
            .collect();
        let affinity = affinity(params, streams);
        let (category_of_group, lift) = affinity
            .chunks_exact(categories)
            .map(|affinity| choice(affinity, &sizes))
            .unzip::<_, _, Vec<_>, Vec<_>>();
        Self {
            groups: affinity.len() / categories,
            categories,
            category_of_group,
            lift: lift.concat(),
            item_of_category: shelves
                .iter()
                .map(|(items, weights)| Alias::new(items, weights))
                .collect(),
        }
    }

    /// Number of distributions: one per segment, or a single one that all segments share.
    pub(super) fn groups(&self) -> usize {
        self.groups
    }

    /// The distribution that a segment is shown.
    pub(super) fn group(&self, segment: usize) -> usize {
        segment.min(self.groups - 1)
    }

    pub(super) fn draw(&self, segment: usize, stream: &mut RandomStream) -> u32 {
        let category = self.category_of_group[self.group(segment)].draw(stream);
        self.item_of_category[category as usize].draw(stream)
    }

    /// `π_g(i)`: the chance that one draw shows the item.
    pub(super) fn probability(&self, segment: usize, item: u32, catalogue: &Catalogue) -> f64 {
        let category = catalogue.category[item as usize] as usize;
        let lift = self.lift[self.group(segment) * self.categories + category];
        lift * f64::from(catalogue.popularity[item as usize])
    }
}

/// Log-normal affinities, group by group; one group of ones when segments do not matter.
fn affinity(params: &GeneratorParams, streams: &Streams) -> Vec<f64> {
    let ExposureModel::Segmented { strength } = params.exposure else {
        return vec![1.0; params.categories];
    };
    let mut stream = streams.stream(Purpose::Affinity, 0);
    (0..params.segments * params.categories)
        .map(|_| (f64::from(strength) * stream.normal()).exp())
        .collect()
}

/// Yields the table to draw a category from, and how it changes an item's popularity.
fn choice(affinity: &[f64], sizes: &[f64]) -> (Alias, Vec<f64>) {
    let weights: Vec<f64> = affinity
        .iter()
        .zip(sizes)
        .map(|(a, size)| a * size)
        .collect();
    let total: f64 = weights.iter().sum();
    let names: Vec<u32> = (0..sizes.len() as u32).collect();
    (
        Alias::new(&names, &weights),
        affinity.iter().map(|a| a / total).collect(),
    )
}
