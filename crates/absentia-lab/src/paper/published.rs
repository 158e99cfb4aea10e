//! Published results of the paper and of its authors' program, to compare with ours.
//!
//! From He, Tang, Du, Hong, Ren and Chua, *Fast Matrix Factorization with Non-Uniform Weights on
//! Missing Data*, as numbered there.

/// Table II: data set, method, HR@100, NDCG@100, training loss.
pub(super) const TABLE_TWO: [(&str, &str, f64, f64, f64); 4] = [
    ("Yelp", "SVD", 0.1816, 0.0439, 5.9222e5),
    ("Yelp", "eALS", 0.1814, 0.0438, 5.9223e5),
    ("Amazon", "SVD", 0.2945, 0.0690, 3.0172e6),
    ("Amazon", "eALS", 0.2945, 0.0690, 3.0172e6),
];

/// The table of data sets: name, reviews, items, users.
pub(super) const DATA: [(&str, u64, usize, usize); 2] = [
    ("Yelp", 731_671, 25_815, 25_677),
    ("Amazon", 5_020_705, 75_389, 117_176),
];

/// Mean absolute difference of SVD's and eALS's predictions on observed entries.
pub(super) const MAE: [(&str, f64); 2] = [("Yelp", 3.1e-4), ("Amazon", 9.7e-6)];

/// Table III: K and seconds an iteration of eALS, RCD and WALS on Yelp, then on Amazon.
pub(super) const TABLE_THREE: [(usize, [f64; 3], [f64; 3]); 6] = [
    (32, [1.0, 1.0, 10.0], [9.0, 10.0, 74.0]),
    (64, [4.0, 3.0, 46.0], [23.0, 17.0, 288.0]),
    (128, [13.0, 10.0, 221.0], [72.0, 42.0, 1260.0]),
    (256, [60.0, 54.0, 1380.0], [240.0, 168.0, 7200.0]),
    (512, [120.0, 120.0, 9000.0], [720.0, 540.0, 41_760.0]),
    (1024, [420.0, 660.0, 91_440.0], [3240.0, 2880.0, 266_400.0]),
];

/// Seconds of fast eALS on Amazon at K = 64: with Z = 64 by the text on the figure of seconds, with
/// Z = 1 by the table of seconds.
pub(super) const AMAZON_SECONDS: (f64, f64) = (300.0, 23.0);

/// Table I: method and time complexity of an iteration.
pub(super) const TABLE_ONE: [(&str, &str); 5] = [
    ("WALS", "(M+N)K³ + |R|K²"),
    ("IALS1", "K³ + (M+N)K² + |R|K"),
    ("ii-SVD", "(M+N)K² + MN log K"),
    ("RCD", "(M+N)K² + |R|K"),
    ("eALS", "(M+N)K²Z + |R|KZ"),
];

/// Section IV-D: data set, best c0, best α, number of items.
pub(super) const BEST_WEIGHTS: [(&str, f64, f64, f64); 2] = [
    ("Yelp", 512.0, 0.4, 25_815.0),
    ("Amazon", 64.0, 0.5, 75_389.0),
];

/// The weight of a missing entry the paper states for Amazon's best c0.
pub(super) const STATED_AMAZON_WEIGHT: f64 = 0.0001;

/// The released program on Yelp: K = 64, c0 = 10, α = 0.75, λ = 0.01, start N(0, 0.01²), 500 sweeps,
/// training items ranked too.
pub(super) struct Published {
    pub(super) factors: usize,
    pub(super) c0: f32,
    pub(super) alpha: f32,
    pub(super) lambda: f32,
    pub(super) loss: f64,
    pub(super) hr: f64,
    pub(super) ndcg: f64,
    pub(super) popular: (f64, f64),
}

pub(super) const PUBLISHED: Published = Published {
    factors: 64,
    c0: 10.0,
    alpha: 0.75,
    lambda: 0.01,
    loss: 16_288.56,
    hr: 0.1931,
    ndcg: 0.0471,
    popular: (0.0705, 0.0176),
};
