//! How much work a reproduction is: seconds for tests, minutes for a first look, an hour in full.

use crate::generate::GeneratorParams;

/// How much work a reproduction is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Size {
    /// The sizes of the paper and whole data sets: within an hour on two cores.
    Full,
    /// Smaller models and samples of the larger data sets: within five minutes on two cores.
    Quick,
    /// Generated data of a few hundred users: seconds, to try it out.
    Tiny,
}

impl Size {
    fn pick<T>(self, full: T, quick: T, tiny: T) -> T {
        match self {
            Size::Full => full,
            Size::Quick => quick,
            Size::Tiny => tiny,
        }
    }

    pub(super) fn name(self) -> &'static str {
        self.pick("full", "quick", "tiny")
    }

    /// Generated data for timings, with its name.
    pub(super) fn shapes(self) -> Vec<(&'static str, GeneratorParams)> {
        match self {
            Size::Full => vec![
                ("Yelp's shape", GeneratorParams::yelp_shape()),
                ("Amazon's shape", GeneratorParams::amazon_shape()),
            ],
            Size::Quick => vec![(
                "a quarter of Yelp's shape",
                GeneratorParams::new(12_838, 12_907, 182_917),
            )],
            Size::Tiny => vec![("a tiny shape", GeneratorParams::new(400, 300, 4_000))],
        }
    }

    /// Data on which the vanilla algorithm finishes.
    pub(super) fn vanilla_shape(self) -> GeneratorParams {
        let (users, items, entries) = self.pick(
            (4_000, 3_000, 60_000),
            (1_500, 1_200, 20_000),
            (150, 120, 1_200),
        );
        GeneratorParams::new(users, items, entries)
    }

    /// One of this many users of the larger real data sets is used.
    pub(super) fn sample(self) -> u32 {
        self.pick(1, 6, 1)
    }

    /// K of the accuracy experiments (the paper's 128).
    pub(super) fn factors(self) -> usize {
        self.pick(128, 32, 8)
    }

    /// Sweeps of the accuracy experiments.
    pub(super) fn sweeps(self) -> usize {
        self.pick(20, 12, 4)
    }

    /// K, sweeps and seeds of Table II.
    pub(super) fn table_two(self) -> (usize, usize, u64) {
        self.pick((64, 100, 5), (32, 60, 3), (6, 60, 2))
    }

    /// K of Tables I and III, rising.
    pub(super) fn timed_factors(self) -> &'static [usize] {
        self.pick(
            &[32, 64, 128, 256, 512, 1024],
            &[32, 64, 128],
            &[16, 32, 64],
        )
    }

    /// Seconds an iteration may take before the next K is left out.
    pub(super) fn patience(self) -> f64 {
        self.pick(120.0, 4.0, 1.0)
    }

    /// K and Z of Figure 3.
    pub(super) fn grid_kz(self) -> (&'static [usize], &'static [usize]) {
        self.pick(
            (&[16, 32, 64, 128], &[1, 8, 16, 32, 64]),
            (&[16, 32, 64], &[1, 8, 16, 32]),
            (&[16, 32], &[1, 4, 8]),
        )
    }

    /// Values of c0 tried (α = 0).
    pub(super) fn c0_grid(self) -> &'static [f32] {
        self.pick(
            &[4.0, 16.0, 64.0, 256.0, 1024.0, 4096.0, 16384.0],
            &[16.0, 64.0, 256.0, 1024.0, 4096.0],
            &[4.0, 32.0, 128.0],
        )
    }

    /// Values of α tried at the best c0.
    pub(super) fn alpha_grid(self) -> &'static [f32] {
        self.pick(
            &[0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.8],
            &[0.0, 0.2, 0.4, 0.6],
            &[0.0, 0.25, 0.5],
        )
    }

    /// Repetitions of a timing, of which the fastest counts.
    pub(super) fn repeats(self) -> usize {
        self.pick(2, 2, 2)
    }

    /// Sweeps of Figure 5.
    pub(super) fn curve_sweeps(self) -> usize {
        self.pick(20, 10, 4)
    }

    /// Users that curves are measured on; tables are measured on all.
    pub(super) fn curve_users(self) -> usize {
        self.pick(2000, 1000, 2000)
    }

    /// Sweeps of the models whose weights are approximated, and of the vanilla algorithm beside them.
    pub(super) fn rank_sweeps(self) -> usize {
        self.pick(12, 8, 4)
    }

    /// Ranks by which weight matrices are approximated.
    pub(super) fn ranks(self) -> &'static [usize] {
        self.pick(&[1, 2, 4, 8, 16, 32], &[1, 2, 8], &[1, 2, 4])
    }

    /// Those of them at which non-negative factors are found too; at 1 they are the SVD's.
    pub(super) fn nonnegative_ranks(self) -> &'static [usize] {
        self.pick(&[4, 16], &[8], &[4])
    }

    /// K and sweeps of the model that learns from a stream; in full those of the authors.
    pub(super) fn online_model(self) -> (usize, usize) {
        self.pick((64, 50), (32, 15), (8, 4))
    }

    /// Steps of an event.
    pub(super) fn online_steps(self) -> &'static [u32] {
        self.pick(&[1, 2, 3, 4, 5], &[1, 3, 5], &[1, 3, 5])
    }

    /// Weights of a new entry beside 1.
    pub(super) fn online_weights(self) -> &'static [f32] {
        self.pick(&[2.0, 4.0, 8.0, 16.0], &[4.0, 16.0], &[4.0, 16.0])
    }

    /// Largest number of events of a stream that are learned.
    pub(super) fn online_events(self) -> usize {
        self.pick(usize::MAX, 2_000, 200)
    }

    /// Number of events between refits, `full` in full.
    pub(super) fn online_refit(self, full: usize) -> usize {
        self.pick(full, full, 100)
    }

    /// Sweeps of the run that the authors' published figures come from.
    pub(super) fn published_sweeps(self) -> usize {
        self.pick(500, 500, 10)
    }
}
