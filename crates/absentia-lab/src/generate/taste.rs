//! What users would like if it were shown to them.

use super::params::GeneratorParams;
use super::streams::RandomStream;

/// Turns the product of a user's and an item's vector into the probability of liking.
#[derive(Clone, Debug)]
pub(super) struct Taste {
    scale: f64,
    bias: f64,
    noise: f64,
    like_rate: f64,
}

impl Taste {
    /// Takes checked parameters and sets the bias so that `like_rate` of all pairs are liked.
    pub(super) fn new(params: &GeneratorParams) -> Self {
        let mut taste = Self {
            scale: f64::from(params.taste),
            bias: 0.0,
            noise: f64::from(params.noise),
            like_rate: f64::from(params.like_rate),
        };
        let reach = 10.0 * (1.0 + taste.scale) + 100.0;
        let (mut low, mut high) = (-reach, reach);
        for _ in 0..60 {
            taste.bias = f64::midpoint(low, high);
            if taste.mean() < taste.like_rate {
                low = taste.bias;
            } else {
                high = taste.bias;
            }
        }
        taste
    }

    /// Mean of σ over pairs: θ is normal and β has length 1, so their product is standard normal.
    fn mean(&self) -> f64 {
        let nodes = (-800..=800).map(|node| f64::from(node) / 100.0);
        let (weighted, total) = nodes.fold((0.0, 0.0), |(weighted, total), z| {
            let density = (-0.5 * z * z).exp();
            (weighted + density * self.sigmoid(z), total + density)
        });
        weighted / total
    }

    fn sigmoid(&self, product: f64) -> f64 {
        1.0 / (1.0 + (-self.scale * product - self.bias).exp())
    }

    pub(super) fn like_probability(&self, user: &[f32], item: &[f32]) -> f64 {
        let product: f32 = user.iter().zip(item).map(|(x, y)| x * y).sum();
        (1.0 - self.noise) * self.sigmoid(f64::from(product)) + self.noise * self.like_rate
    }
}

/// Yields a vector with standard normal elements.
pub(super) fn user_vector(stream: &mut RandomStream, rank: usize) -> Vec<f32> {
    (0..rank).map(|_| stream.normal() as f32).collect()
}

/// Fills in a direction, uniform on the sphere.
pub(super) fn item_vector(stream: &mut RandomStream, vector: &mut [f32]) {
    vector.fill_with(|| stream.normal() as f32);
    let length = vector.iter().map(|x| x * x).sum::<f32>().sqrt();
    for x in vector {
        *x /= length;
    }
}
