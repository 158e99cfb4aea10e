//! Hyper-parameters of a training run.

use super::method::Method;
use crate::data::{Confidence, Targets};

/// Hyper-parameters of one training run.
///
/// | name | symbol | default | range |
/// | --- | --- | --- | --- |
/// | `factors` | K | 64 | 1 to 8192 |
/// | `iterations` | | 20 | 1 to 1,000,000 |
/// | `regularization` | λ | 0.01 | ≥ 0 |
/// | `reg_exponent` | ν in `λ_u = λ m_u^ν`; 0 is the paper's | 1 | finite |
/// | `solver` | | `eals` | |
/// | `targets` | `r_ui` | binary | |
/// | `confidence` | `c_ui` | 1 | |
/// | `post_scale` | ρ in `q_i n_i^ρ` | 0 | finite |
/// | `post_scale_half_life` | half-life of the counts `n_i` in it | none: all rows count alike | > 0 |
/// | `init_std` | σ of the Gaussian start | 0.01 | > 0 |
/// | `learning_rate` | step of `bpr` and `sgd-observed` | 0.05 | > 0 |
/// | `seed` | | 0 | |
/// | `threads` | | what the machine or container allows | 1 to 1024 |
/// | `tolerance` | relative change of J that ends the run | none | ≥ 0 |
/// | `memory_limit` | bytes the run may take | none | |
///
/// ```
/// use absentia::{Params, Solver};
///
/// let params = Params::new().factors(32).regularization(0.05).solver(Solver::Subspace { block: 16 }).check()?;
/// assert_eq!(params.factors, 32);
/// assert!(Params::new().factors(0).check().is_err());
/// # Ok::<(), absentia::ParamsError>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(default))]
pub struct Params {
    /// Latent dimension K.
    pub factors: usize,
    /// Largest number of sweeps over both sides.
    pub iterations: usize,
    /// Regularization λ (ridge penalty).
    pub regularization: f32,
    /// Exponent ν of a row's total weight in its regularization.
    pub reg_exponent: f32,
    /// What trains the factors.
    pub solver: Method,
    /// How targets follow from raw values.
    pub targets: Targets,
    /// How weights of observed entries follow from raw values.
    pub confidence: Confidence,
    /// Exponent ρ: item factors are rescaled by `n_i^ρ` after training.
    pub post_scale: f32,
    /// Half-life of a row in the counts `n_i` of the rescaling, in the unit of the times; all rows count alike
    /// when not given.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "Option::is_none"))]
    pub post_scale_half_life: Option<f64>,
    /// Standard deviation of the Gaussian start.
    pub init_std: f32,
    /// Seed of the Gaussian start.
    pub seed: u64,
    /// Step of the stochastic gradient methods, `bpr` and `sgd-observed`.
    pub learning_rate: f32,
    /// Number of threads; what the machine or container allows when not given.
    pub threads: Option<usize>,
    /// Relative change of the objective over a sweep below which the run ends.
    pub tolerance: Option<f64>,
    /// Bytes the run may take; one that needs more is rejected before it starts.
    pub memory_limit: Option<u64>,
}

impl Default for Params {
    fn default() -> Self {
        Self {
            factors: 64,
            iterations: 20,
            regularization: 0.01,
            reg_exponent: 1.0,
            solver: Method::default(),
            targets: Targets::default(),
            confidence: Confidence::default(),
            post_scale: 0.0,
            post_scale_half_life: None,
            init_std: 0.01,
            seed: 0,
            learning_rate: 0.05,
            threads: None,
            tolerance: None,
            memory_limit: None,
        }
    }
}

/// Defines a consuming setter per parameter.
macro_rules! setters {
    ($($(#[$doc:meta])* $name:ident: $type:ty;)*) => {
        $($(#[$doc])*
        #[must_use]
        pub fn $name(mut self, $name: $type) -> Self {
            self.$name = $name;
            self
        })*
    };
}

impl Params {
    /// Yields the defaults.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    setters! {
        /// Sets the latent dimension K.
        factors: usize;
        /// Sets the largest number of sweeps.
        iterations: usize;
        /// Sets the regularization λ (ridge penalty).
        regularization: f32;
        /// Sets the exponent ν of a row's total weight in its regularization.
        reg_exponent: f32;
        /// Sets how targets follow from raw values.
        targets: Targets;
        /// Sets how weights of observed entries follow from raw values.
        confidence: Confidence;
        /// Sets the exponent of the rescaling of item factors after training.
        post_scale: f32;
        /// Sets the standard deviation of the Gaussian start.
        init_std: f32;
        /// Sets the seed of the Gaussian start.
        seed: u64;
        /// Sets the step of the stochastic gradient methods.
        learning_rate: f32;
    }

    /// Sets what trains the factors: a [`Solver`](super::Solver), a [`Baseline`](super::Baseline) or a
    /// [`Method`].
    #[must_use]
    pub fn solver(mut self, solver: impl Into<Method>) -> Self {
        self.solver = solver.into();
        self
    }

    /// Sets the half-life of a row in the counts of the rescaling, in the unit of the times.
    #[must_use]
    pub fn post_scale_half_life(mut self, half_life: f64) -> Self {
        self.post_scale_half_life = Some(half_life);
        self
    }

    /// Sets the number of threads.
    #[must_use]
    pub fn threads(mut self, threads: usize) -> Self {
        self.threads = Some(threads);
        self
    }

    /// Sets the relative change of the objective below which the run ends.
    #[must_use]
    pub fn tolerance(mut self, tolerance: f64) -> Self {
        self.tolerance = Some(tolerance);
        self
    }

    /// Sets how many bytes the run may take.
    #[must_use]
    pub fn memory_limit(mut self, bytes: u64) -> Self {
        self.memory_limit = Some(bytes);
        self
    }
}
