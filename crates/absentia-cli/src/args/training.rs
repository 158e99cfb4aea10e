//! What a model is trained with.

use std::path::PathBuf;

use absentia::data::{Confidence, Targets};
use absentia::weights::SchemeSpec;
use absentia::{Baseline, Method, Params, Solver};
use absentia_io::ColumnRef;
use absentia_search::Automatic;

use super::input::ReadArgs;
use super::texts::{parse_confidence, parse_targets};
use crate::presets::Preset;
use crate::ui::Ui;

/// Factors in a block, and steps a row, when not given.
const DEFAULT_BLOCK: usize = 16;
const DEFAULT_CG_STEPS: usize = 3;
const DEFAULT_NEIGHBOURS: usize = 100;
const DEFAULT_RATE: f32 = 0.05;

/// Hyper-parameters that every model of a command shares.
#[derive(Clone, Debug, clap::Args)]
#[command(next_help_heading = "Training")]
pub(crate) struct HyperArgs {
    /// Settings for a kind of data, measured on real data sets (docs/accuracy.md); other arguments
    /// win over them.
    #[arg(long, value_name = "KIND")]
    pub(crate) preset: Option<Preset>,
    /// Number of factors K.
    #[arg(long, short = 'k', value_name = "K", default_value_t = 64)]
    pub(crate) factors: usize,
    /// Sweeps over users and items at the most.
    #[arg(long, value_name = "N", default_value_t = 20)]
    pub(crate) iterations: usize,
    /// Ridge penalty λ [default: the best of a few on a fifth of the rows held out; 0.01 for a
    /// baseline].
    #[arg(long, value_name = "LAMBDA", allow_negative_numbers = true)]
    pub(crate) regularization: Option<f32>,
    /// Exponent ν of a row's total weight in its penalty λ m^ν: 0 is the paper, 1 suits large K.
    #[arg(
        long,
        value_name = "NU",
        default_value_t = 1.0,
        allow_hyphen_values = true
    )]
    pub(crate) reg_exponent: f32,
    /// Factors solved together by --solver subspace: 1, 2, 4, 8 or a multiple of 16.
    #[arg(long, value_name = "N", default_value_t = DEFAULT_BLOCK)]
    pub(crate) block: usize,
    /// Conjugate-gradient steps a row of --solver als-cg.
    #[arg(long, value_name = "N", default_value_t = DEFAULT_CG_STEPS)]
    pub(crate) cg_steps: usize,
    /// Similar items that --solver itemknn keeps of each item.
    #[arg(long, value_name = "N", default_value_t = DEFAULT_NEIGHBOURS)]
    pub(crate) neighbours: usize,
    /// Step of --solver bpr and sgd-observed.
    #[arg(
        long,
        value_name = "RATE",
        default_value_t = DEFAULT_RATE,
        allow_negative_numbers = true
    )]
    pub(crate) learning_rate: f32,
    /// What a row's value says: raw (the value), binary (1), log (ln(1 + value)), or
    /// normalized:0.35[,0.35] (n_u^-0.35 n_i^-0.35, mean 1) [default: binary; `train` that is told
    /// neither weights nor a penalty may find normalized:0.1 to do better].
    #[arg(long, value_name = "TARGETS", value_parser = parse_targets)]
    pub(crate) targets: Option<Targets>,
    /// Weight of an observed entry: a number, linear:ALPHA (1 + αx), log:ALPHA,EPSILON
    /// (1 + α ln(1 + x/ε)), decay:30d (half a weight every 30 days), or column (--weight-col).
    #[arg(long, value_name = "RULE", default_value = "1", value_parser = parse_confidence)]
    pub(crate) confidence: Confidence,
    /// Exponent ρ: item factors are rescaled by n_i^ρ after training [default: chosen with the
    /// penalty, or 0 where that is given].
    #[arg(long, value_name = "RHO", allow_hyphen_values = true)]
    pub(crate) post_scale: Option<f32>,
    /// Standard deviation of the random start.
    #[arg(
        long,
        value_name = "SIGMA",
        default_value_t = 0.01,
        allow_negative_numbers = true
    )]
    pub(crate) init_std: f32,
    /// Seed of the random start.
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) seed: u64,
    /// Stop when a sweep changes the objective by less than this share of it.
    #[arg(long, value_name = "SHARE", allow_negative_numbers = true)]
    pub(crate) tolerance: Option<f64>,
    /// Memory the run may take, as in 8GiB; what the machine or container has when not given.
    #[arg(long, value_name = "BYTES", value_parser = parse_bytes)]
    pub(crate) memory_limit: Option<u64>,
}

impl HyperArgs {
    /// Says what a preset stands for, and which options no solver of a command takes.
    pub(crate) fn warn_of_unused(&self, solvers: &[SolverName], ui: &Ui) {
        if let Some(preset) = self.preset {
            ui.note(format!("unless told otherwise: {}", preset.flags()));
        }
        let unused = |name: &str, solver: &str| {
            ui.warn(format!(
                "--{name} is for --solver {solver} alone and has no effect here"
            ));
        };
        if self.block != DEFAULT_BLOCK && !solvers.contains(&SolverName::Subspace) {
            unused("block", "subspace");
        }
        if self.cg_steps != DEFAULT_CG_STEPS && !solvers.contains(&SolverName::AlsCg) {
            unused("cg-steps", "als-cg");
        }
        if self.neighbours != DEFAULT_NEIGHBOURS && !solvers.contains(&SolverName::Itemknn) {
            unused("neighbours", "itemknn");
        }
        let takes_rate =
            |solver: &SolverName| matches!(solver, SolverName::Bpr | SolverName::SgdObserved);
        if self.learning_rate.to_bits() != DEFAULT_RATE.to_bits() && !solvers.iter().any(takes_rate)
        {
            unused("learning-rate", "bpr or sgd-observed");
        }
    }

    /// What is left to be settled on rows held out.
    pub(crate) fn open(&self) -> Automatic {
        Automatic {
            regularization: self.regularization.is_none(),
            // Whoever says how the model is penalised wants the model as it is.
            post_scale: self.regularization.is_none() && self.post_scale.is_none(),
            recipe: false,
        }
    }

    /// Yields the parameters of one run; those that are [`open`](Self::open) have a value for want of
    /// a better one.
    pub(crate) fn params(&self, solver: SolverName, threads: Option<usize>) -> Params {
        let solver: Method = match solver {
            SolverName::Eals => Solver::Eals.into(),
            SolverName::EalsVanilla => Solver::EalsVanilla.into(),
            SolverName::Subspace => Solver::Subspace { block: self.block }.into(),
            SolverName::Als => Solver::Als.into(),
            SolverName::AlsCg => Solver::AlsCg {
                steps: self.cg_steps,
            }
            .into(),
            SolverName::Svd => Baseline::Svd.into(),
            SolverName::Ials1 => Baseline::Ials1.into(),
            SolverName::Rcd => Baseline::Rcd.into(),
            SolverName::IiSvd => Baseline::IiSvd.into(),
            SolverName::Bpr => Baseline::Bpr.into(),
            SolverName::SgdObserved => Baseline::SgdObserved.into(),
            SolverName::Popularity => Baseline::Popularity.into(),
            SolverName::Itemknn => Baseline::ItemKnn {
                neighbours: self.neighbours,
            }
            .into(),
        };
        let plain = Params::default();
        Params {
            factors: self.factors,
            iterations: self.iterations,
            regularization: self.regularization.unwrap_or(plain.regularization),
            reg_exponent: self.reg_exponent,
            solver,
            targets: self.targets.unwrap_or_default(),
            confidence: self.confidence,
            post_scale: self.post_scale.unwrap_or(plain.post_scale),
            init_std: self.init_std,
            seed: self.seed,
            learning_rate: self.learning_rate,
            threads,
            tolerance: self.tolerance,
            memory_limit: self.memory_limit,
        }
    }
}

/// How rows are improved.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum SolverName {
    /// Element-wise, fast (the paper's Algorithm 2).
    Eals,
    /// Element-wise over every entry (Algorithm 1): slow, exact for a dense W.
    EalsVanilla,
    /// Exact per block of factors (iALS++).
    Subspace,
    /// Exact per row.
    Als,
    /// A few conjugate-gradient steps a row.
    AlsCg,
    /// Baseline: truncated SVD (weights 1 everywhere).
    Svd,
    /// Baseline: IALS1, coordinate steps on synthetic examples (uniform weights).
    Ials1,
    /// Baseline: RCD, gradient steps on random rows with a line search (uniform weights).
    Rcd,
    /// Baseline: ii-SVD, the SVD of item-to-item neighbour scores (no weights).
    IiSvd,
    /// Baseline: BPR, with negatives drawn by the weights of items.
    Bpr,
    /// Baseline: stochastic gradient descent on observed entries alone (no weights).
    SgdObserved,
    /// Baseline: the most popular items (no weights).
    Popularity,
    /// Baseline: similar items by cosine (no weights).
    Itemknn,
}

impl SolverName {
    /// The method with the number that goes with it at its default.
    fn method(self) -> Method {
        let value = clap::ValueEnum::to_possible_value(&self);
        let method = value.and_then(|value| value.get_name().parse().ok());
        method.unwrap_or_default()
    }

    /// The weights on missing entries of a method that leaves no choice.
    pub(crate) fn own_weights(self) -> Option<SchemeSpec> {
        SchemeSpec::only_for(self.method())
    }

    /// The weights on missing entries when none are given.
    pub(crate) fn default_weights(self) -> SchemeSpec {
        SchemeSpec::default_for(self.method())
    }
}

/// Weights on missing entries that come from files, and exceptions to them.
#[derive(Clone, Debug, clap::Args)]
#[command(next_help_heading = "Weights on missing entries")]
pub(crate) struct WeightArgs {
    /// File of pairs that were shown and not taken: they get target 0 and a weight of their own.
    #[arg(long, value_name = "FILE", num_args = 1)]
    pub(crate) exposed: Vec<String>,
    /// Weight of the exposed pairs; the file's weight column when not given, or else 1.
    #[arg(long, value_name = "W", allow_negative_numbers = true)]
    pub(crate) exposed_weight: Option<f32>,
    /// Start from these factors instead of random ones: P.npy,Q.npy (needs --dense-ids), or a model.
    #[arg(long, value_name = "P,Q|MODEL", value_delimiter = ',')]
    pub(crate) init: Vec<PathBuf>,
}

impl WeightArgs {
    /// Says so when a column of weights is read and nothing uses it.
    pub(crate) fn warn_of_unused(&self, read: &ReadArgs, confidence: Confidence, ui: &Ui) {
        let named = matches!(&read.weight_col, Some(column) if *column != ColumnRef::Absent);
        if named && confidence != Confidence::Column && self.exposed.is_empty() {
            ui.warn("--weight-col has no effect without --confidence column");
        }
    }
}

/// Reads `1073741824`, `512MiB`, `8GB`.
pub(crate) fn parse_bytes(text: &str) -> Result<u64, String> {
    let digits = text.trim_end_matches(|c: char| c.is_alphabetic() || c == ' ');
    let unit: f64 = match text[digits.len()..].trim().to_ascii_lowercase().as_str() {
        "" | "b" => 1.0,
        "k" | "kib" => 1024.0,
        "m" | "mib" => 1024.0 * 1024.0,
        "g" | "gib" => 1024.0 * 1024.0 * 1024.0,
        "t" | "tib" => 1024.0 * 1024.0 * 1024.0 * 1024.0,
        "kb" => 1e3,
        "mb" => 1e6,
        "gb" => 1e9,
        "tb" => 1e12,
        _ => return Err("expected a size such as 512MiB or 8GB".to_owned()),
    };
    match digits.parse::<f64>() {
        Ok(number) if number >= 0.0 => Ok((number * unit) as u64),
        _ => Err("expected a size such as 512MiB or 8GB".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn help_names_the_default_weights() {
        use clap::CommandFactory as _;
        let weights = SolverName::Eals.default_weights().to_string();
        let mut command = crate::cli::Cli::command();
        for verb in ["train", "compare"] {
            let verb = command.find_subcommand_mut(verb).expect("a command");
            let help = verb.render_long_help().to_string();
            assert!(help.contains(&weights), "{help}");
        }
    }

    #[test]
    fn sizes_are_read_with_their_units() {
        assert_eq!(parse_bytes("1024"), Ok(1024));
        assert_eq!(parse_bytes("2 GiB"), Ok(2 << 30));
        assert_eq!(parse_bytes("1.5kB"), Ok(1500));
        assert!(parse_bytes("plenty").is_err());
    }
}
