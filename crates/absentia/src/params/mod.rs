//! Hyper-parameters of a training run, and their check.

use crate::data::{Confidence, Targets};
use crate::error::Fault;
use crate::linalg::LANES;

/// Most factors that are accepted.
pub const MAX_FACTORS: usize = 8192;

/// Most iterations that are accepted.
pub const MAX_ITERATIONS: usize = 1_000_000;

/// Most threads that are accepted.
pub const MAX_THREADS: usize = 1024;

/// How a row is improved while the other side is held fixed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "kebab-case", tag = "kind"))]
pub enum Solver {
    /// One exact step per coordinate, fast (Algorithm 2 of the paper).
    #[default]
    Eals,
    /// One exact step per coordinate over every entry of the matrix (Algorithm 1): slow, for
    /// comparison, and the only one to take a dense W without approximating it.
    EalsVanilla,
    /// One exact solve per block of coordinates (iALS++, for any weights).
    Subspace {
        /// Coordinates in a block: 1, 2, 4, 8, or a multiple of 16.
        block: usize,
    },
    /// One exact solve per row (Hu, Koren and Volinsky 2008, for any weights).
    Als,
    /// A few conjugate-gradient steps per row.
    AlsCg {
        /// Steps per row and half-sweep.
        steps: usize,
    },
    /// The truncated singular value decomposition: the best factors for weights of 1 everywhere.
    Svd,
    /// Pilászy, Zibriczky and Tikk 2010: coordinate steps on K synthetic examples; uniform weights.
    Ials1,
    /// Devooght, Kourtellis and Mantrach 2015: gradient steps on random rows, each with a line
    /// search; uniform weights.
    Rcd,
    /// Volkovs and Yu 2015: the decomposition of item-to-item neighbour scores.
    IiSvd,
    /// Rendle et al. 2009: pairs of an item taken and a sampled one; weights choose the samples.
    Bpr,
    /// Stochastic gradient descent on observed entries alone (the paper's strategy 1).
    SgdObserved,
    /// Items by how many users took them.
    Popularity,
    /// Items near the user's own, by cosine (Sarwar et al. 2001, Deshpande and Karypis 2004).
    #[cfg_attr(feature = "serde", serde(rename = "itemknn"))]
    ItemKnn {
        /// Most similar items kept of each item.
        neighbours: usize,
    },
}

impl Solver {
    /// The name used on the command line and in files.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Solver::Eals => "eals",
            Solver::EalsVanilla => "eals-vanilla",
            Solver::Subspace { .. } => "subspace",
            Solver::Als => "als",
            Solver::AlsCg { .. } => "als-cg",
            Solver::Svd => "svd",
            Solver::Ials1 => "ials1",
            Solver::Rcd => "rcd",
            Solver::IiSvd => "ii-svd",
            Solver::Bpr => "bpr",
            Solver::SgdObserved => "sgd-observed",
            Solver::Popularity => "popularity",
            Solver::ItemKnn { .. } => "itemknn",
        }
    }

    /// Whether it is one of the methods to compare with, rather than a row solver of the paper's
    /// objective with any weights.
    #[must_use]
    pub fn is_baseline(&self) -> bool {
        !matches!(
            self,
            Solver::Eals
                | Solver::EalsVanilla
                | Solver::Subspace { .. }
                | Solver::Als
                | Solver::AlsCg { .. }
        )
    }

    /// Whether what it minimises is the objective J, so that rows can be folded in and explained.
    #[must_use]
    pub fn minimises_objective(&self) -> bool {
        !matches!(
            self,
            Solver::IiSvd | Solver::Bpr | Solver::Popularity | Solver::ItemKnn { .. }
        )
    }

    /// Whether one pass gives its answer, so that further ones would change nothing.
    #[must_use]
    pub fn is_direct(&self) -> bool {
        matches!(
            self,
            Solver::Svd | Solver::IiSvd | Solver::Popularity | Solver::ItemKnn { .. }
        )
    }
}

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
    /// Sweeps over both sides at the most.
    pub iterations: usize,
    /// Ridge penalty λ.
    pub regularization: f32,
    /// Exponent ν of a row's total weight in its penalty.
    pub reg_exponent: f32,
    /// How rows are improved.
    pub solver: Solver,
    /// How targets follow from raw values.
    pub targets: Targets,
    /// How weights of observed entries follow from raw values.
    pub confidence: Confidence,
    /// Exponent ρ: item factors are rescaled by `n_i^ρ` after training.
    pub post_scale: f32,
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
    /// Bytes the run may take; one that needs more is refused before it starts.
    pub memory_limit: Option<u64>,
}

impl Default for Params {
    fn default() -> Self {
        Self {
            factors: 64,
            iterations: 20,
            regularization: 0.01,
            reg_exponent: 1.0,
            solver: Solver::default(),
            targets: Targets::default(),
            confidence: Confidence::default(),
            post_scale: 0.0,
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
        /// Sets how many sweeps are made at the most.
        iterations: usize;
        /// Sets the ridge penalty λ.
        regularization: f32;
        /// Sets the exponent ν of a row's total weight in its penalty.
        reg_exponent: f32;
        /// Sets how rows are improved.
        solver: Solver;
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

    /// Yields the parameters as a set that can be run.
    ///
    /// # Errors
    /// Names the first parameter that is out of range.
    pub fn check(self) -> Result<CheckedParams, ParamsError> {
        whole("factors", self.factors, 1, MAX_FACTORS)?;
        whole("iterations", self.iterations, 1, MAX_ITERATIONS)?;
        if let Some(threads) = self.threads {
            whole("threads", threads, 1, MAX_THREADS)?;
        }
        real(
            "regularization",
            self.regularization,
            self.regularization >= 0.0,
            "at least 0",
        )?;
        real("reg_exponent", self.reg_exponent, true, "finite")?;
        real("post_scale", self.post_scale, true, "finite")?;
        real("init_std", self.init_std, self.init_std > 0.0, "above 0")?;
        real(
            "learning_rate",
            self.learning_rate,
            self.learning_rate > 0.0,
            "above 0",
        )?;
        if let Some(tolerance) = self.tolerance {
            real(
                "tolerance",
                tolerance as f32,
                tolerance >= 0.0,
                "at least 0",
            )?;
        }
        match self.solver {
            Solver::Subspace { block } => check_block(block)?,
            Solver::AlsCg { steps } => whole("steps", steps, 1, 1000)?,
            Solver::ItemKnn { neighbours } => whole("neighbours", neighbours, 1, 100_000)?,
            _ => {}
        }
        Ok(CheckedParams(self))
    }
}

fn check_block(block: usize) -> Result<(), ParamsError> {
    let fits = block > 0
        && block <= MAX_FACTORS
        && (LANES.is_multiple_of(block) || block.is_multiple_of(LANES));
    if fits {
        Ok(())
    } else {
        Err(ParamsError::Block { got: block })
    }
}

fn whole(name: &'static str, got: usize, least: usize, most: usize) -> Result<(), ParamsError> {
    if (least..=most).contains(&got) {
        Ok(())
    } else {
        Err(ParamsError::Whole {
            name,
            got,
            least,
            most,
        })
    }
}

fn real(name: &'static str, got: f32, ok: bool, range: &'static str) -> Result<(), ParamsError> {
    if got.is_finite() && ok {
        Ok(())
    } else {
        Err(ParamsError::Real { name, got, range })
    }
}

/// Proof that [`Params::check`] succeeded; training accepts nothing else.
#[derive(Clone, Debug, PartialEq)]
pub struct CheckedParams(Params);

impl std::ops::Deref for CheckedParams {
    type Target = Params;

    fn deref(&self) -> &Params {
        &self.0
    }
}

/// A parameter out of range.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ParamsError {
    /// A whole number out of range.
    #[error("{name} is {got}; it must be {least} to {most}")]
    Whole {
        /// Name of the parameter.
        name: &'static str,
        /// What was given.
        got: usize,
        /// Least that is accepted.
        least: usize,
        /// Most that is accepted.
        most: usize,
    },
    /// A real number out of range.
    #[error("{name} is {got}; it must be {range}")]
    Real {
        /// Name of the parameter.
        name: &'static str,
        /// What was given.
        got: f32,
        /// What is accepted.
        range: &'static str,
    },
    /// A block that does not fit the kernels.
    #[error("block is {got}; it must be 1, 2, 4, 8, or a multiple of 16 up to {MAX_FACTORS}")]
    Block {
        /// What was given.
        got: usize,
    },
}

impl ParamsError {
    /// Whose fault the error is.
    #[must_use]
    pub fn fault(&self) -> Fault {
        Fault::Caller
    }
}
