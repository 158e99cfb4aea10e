//! Settings of a run as they were given; what was not given has a default or is chosen automatically.

use absentia::data::Targets;
use absentia::{Baseline, Method, Params};
use absentia_io::time::{TimeSpan, TimeUnit};
use absentia_search::Automatic;

use crate::error::JobError;
use crate::keys::keys;
use crate::listener::{Event, Listener};
use crate::preset::Preset;
use crate::text::{ByteSize, ConfidenceRule};

/// Settings that every model of a command shares.
#[derive(Clone, Debug, Default, PartialEq)]
#[cfg_attr(feature = "clap", derive(clap::Args))]
#[cfg_attr(feature = "clap", command(next_help_heading = "Training"))]
pub struct GivenSettings {
    /// Settings for a kind of data, measured on real data sets (docs/accuracy.md); other arguments
    /// override them.
    #[cfg_attr(feature = "clap", arg(long, value_name = "KIND"))]
    pub preset: Option<Preset>,
    /// Number of factors K: numbers that describe each user and each item. More factors capture finer
    /// preferences and take longer [default: 64].
    #[cfg_attr(feature = "clap", arg(long, short = 'k', value_name = "K"))]
    pub factors: Option<usize>,
    /// Maximum number of sweeps: passes over all users and all items [default: 20].
    #[cfg_attr(feature = "clap", arg(long, value_name = "N"))]
    pub iterations: Option<usize>,
    /// Regularization λ: how strongly factors are pulled towards 0, against overfitting. Larger values suit
    /// small data [default: the best of a few values on a held-out fifth of the rows; 0.01
    /// for a baseline].
    #[cfg_attr(
        feature = "clap",
        arg(long, value_name = "LAMBDA", allow_negative_numbers = true)
    )]
    pub regularization: Option<f32>,
    /// How the regularization grows with the weight m of a user's or item's entries, λ m^ν: 0 is the same for
    /// all, as in the paper; 1 pulls active users as strongly as others, and suits many factors [default: 1].
    #[cfg_attr(
        feature = "clap",
        arg(long, value_name = "NU", allow_hyphen_values = true)
    )]
    pub reg_exponent: Option<f32>,
    /// Factors solved together by --solver subspace: 1, 2, 4, 8 or a multiple of 16 [default: 16].
    #[cfg_attr(feature = "clap", arg(long, value_name = "N"))]
    pub block: Option<usize>,
    /// Conjugate-gradient steps for each row of --solver als-cg [default: 3].
    #[cfg_attr(feature = "clap", arg(long, value_name = "N"))]
    pub cg_steps: Option<usize>,
    /// Similar items that --solver itemknn stores for each item [default: 100].
    #[cfg_attr(feature = "clap", arg(long, value_name = "N"))]
    pub neighbours: Option<usize>,
    /// Step size of --solver bpr and sgd-observed [default: 0.05].
    #[cfg_attr(
        feature = "clap",
        arg(long, value_name = "RATE", allow_negative_numbers = true)
    )]
    pub learning_rate: Option<f32>,
    /// The value that the score of an observed entry should reach: raw (the value), binary (1), log (ln(1 + value)), or
    /// normalized:0.35[,0.35] (n_u^-0.35 n_i^-0.35, where n_u and n_i are the numbers of rows of the user and of the
    /// item, scaled to a mean of 1: rows of busy users and popular items count less) [default: binary; `train` without
    /// --weights, --targets and --regularization uses normalized:0.1 if that does better on held-out
    /// rows].
    #[cfg_attr(feature = "clap", arg(long, value_name = "TARGETS"))]
    pub targets: Option<Targets>,
    /// Weight of an observed entry, how sure it is: a number, linear:ALPHA (1 + αx, where x is the value of the
    /// row), log:ALPHA,EPSILON (1 + α ln(1 + x/ε)), decay:30d (half the weight for every 30 days of age), or column
    /// (--weight-col) [default: 1].
    #[cfg_attr(feature = "clap", arg(long, value_name = "RULE"))]
    pub confidence: Option<ConfidenceRule>,
    /// Exponent ρ: after training, scores of an item are multiplied by n_i^ρ, where n_i is its number of rows.
    /// Above 0 popular items come up more often, below 0 rare ones do [default: chosen together with
    /// the regularization, or 0 if --regularization or weights by lowrank, groups or dense are given].
    #[cfg_attr(
        feature = "clap",
        arg(long, value_name = "RHO", allow_hyphen_values = true)
    )]
    pub post_scale: Option<f32>,
    /// Count recent rows more in the n_i of --post-scale, as in 30d: a row loses half of its count every 30 days
    /// before the latest row, down to a hundredth. For lists that are right for now where demand moves on
    /// [default: all rows count alike; `train` without --weights, --targets, --regularization and --post-scale uses the
    /// half-life that does best on held-out rows, if that is better by more than noise].
    #[cfg_attr(feature = "clap", arg(long, value_name = "TIME"))]
    pub post_scale_half_life: Option<TimeSpan>,
    /// Start from these factors instead of random ones: P.npy,Q.npy (needs --dense-ids), or a model.
    #[cfg_attr(feature = "clap", arg(long, value_name = "P,Q|MODEL"))]
    pub init: Vec<String>,
    /// How far the random initial factors spread: their standard deviation [default: 0.01].
    #[cfg_attr(
        feature = "clap",
        arg(long, value_name = "SIGMA", allow_negative_numbers = true)
    )]
    pub init_std: Option<f32>,
    /// Seed of the random initial factors [default: 0].
    #[cfg_attr(feature = "clap", arg(long, value_name = "N"))]
    pub seed: Option<u64>,
    /// Stop when a sweep changes the objective, which training lowers, by less than this share of it
    /// [default: never].
    #[cfg_attr(
        feature = "clap",
        arg(long, value_name = "SHARE", allow_negative_numbers = true)
    )]
    pub tolerance: Option<f64>,
    /// Memory the run may take, as in 8GiB; what the machine or container has when not given.
    #[cfg_attr(feature = "clap", arg(skip))]
    pub memory_limit: Option<ByteSize>,
}

keys!(GivenSettings {
    preset,
    factors,
    iterations,
    regularization,
    reg_exponent,
    block,
    cg_steps,
    neighbours,
    learning_rate,
    targets,
    confidence,
    post_scale,
    post_scale_half_life,
    init,
    init_std,
    seed,
    tolerance,
    memory_limit,
});

/// A setting that has no effect on any of the methods it was given with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct UnusedSetting {
    /// Key of the setting.
    pub(crate) key: &'static str,
    /// The methods that take it.
    pub(crate) methods: &'static str,
}

impl GivenSettings {
    /// The numbers of methods that have a key of their own, by [`Method::number_key`].
    fn numbers(&self) -> [(&'static str, Option<usize>); 3] {
        [
            ("block", self.block),
            ("cg-steps", self.cg_steps),
            ("neighbours", self.neighbours),
        ]
    }

    /// The number of a method that was given by a key of its own.
    pub(crate) fn number_of(&self, method: Method) -> Option<usize> {
        let key = method.number_key()?;
        let mut numbers = self.numbers().into_iter();
        numbers.find(|(own, _)| *own == key)?.1
    }

    /// The method with its number, where that is given by a setting of its own: `block`, `cg-steps`
    /// or `neighbours`.
    #[must_use]
    pub fn method(&self, method: Method) -> Method {
        self.number_of(method)
            .map_or(method, |number| method.with_number(number))
    }

    /// The files of initial factors: given one by one, or in one text with a comma between them.
    pub fn init_files(&self) -> impl Iterator<Item = &str> {
        self.init.iter().flat_map(|files| files.split(','))
    }

    /// What is chosen automatically on held-out rows, except for targets and weights, which depend on the
    /// whole job ([`Job::automatic`](crate::Job::automatic)).
    #[must_use]
    pub fn automatic(&self) -> Automatic {
        Automatic {
            regularization: self.regularization.is_none(),
            // If the regularization is given, the factors are used as trained.
            post_scale: self.regularization.is_none() && self.post_scale.is_none(),
            recipe: false,
            by_time: false,
        }
    }

    /// The parameters of one run on data whose times have this unit; those that are
    /// [automatic](Self::automatic) have their defaults.
    #[must_use]
    pub fn params(&self, method: Method, threads: Option<usize>, unit: TimeUnit) -> Params {
        let usual = Params::default();
        Params {
            factors: self.factors.unwrap_or(usual.factors),
            iterations: self.iterations.unwrap_or(usual.iterations),
            regularization: self.regularization.unwrap_or(usual.regularization),
            reg_exponent: self.reg_exponent.unwrap_or(usual.reg_exponent),
            solver: self.method(method),
            targets: self.targets.unwrap_or(usual.targets),
            confidence: self
                .confidence
                .map_or(usual.confidence, |rule| rule.in_unit(unit)),
            post_scale: self.post_scale.unwrap_or(usual.post_scale),
            post_scale_half_life: self
                .post_scale_half_life
                .map(|half_life| half_life.seconds() * unit.per_second()),
            init_std: self.init_std.unwrap_or(usual.init_std),
            seed: self.seed.unwrap_or(usual.seed),
            learning_rate: self.learning_rate.unwrap_or(usual.learning_rate),
            threads,
            tolerance: self.tolerance.or(usual.tolerance),
            memory_limit: self.memory_limit.map(|size| size.0).or(usual.memory_limit),
        }
    }

    /// Takes the parameters of a finished run, so that it can be repeated without choosing anything.
    pub(crate) fn fix(&mut self, params: &Params, unit: TimeUnit) {
        self.preset = None;
        self.factors = Some(params.factors);
        self.iterations = Some(params.iterations);
        self.regularization = Some(params.regularization);
        self.reg_exponent = Some(params.reg_exponent);
        let number = |key| {
            let own = Some(params.solver).filter(|solver| solver.number_key() == Some(key));
            own.or(method_with(key)).and_then(Method::number)
        };
        self.block = number("block");
        self.cg_steps = number("cg-steps");
        self.neighbours = number("neighbours");
        self.targets = Some(params.targets);
        self.confidence = Some(ConfidenceRule::of(params.confidence, unit));
        self.post_scale = Some(params.post_scale);
        self.post_scale_half_life = half_life_of(params, unit);
        self.init_std = Some(params.init_std);
        self.seed = Some(params.seed);
        self.learning_rate = Some(params.learning_rate);
        self.tolerance = params.tolerance;
        self.memory_limit = params.memory_limit.map(ByteSize);
    }

    /// Rejects or reports rules for targets and confidence that need ratings or weights of entries, which
    /// the data does not have.
    ///
    /// # Errors
    /// Weights of entries are to come from a column that is not there.
    pub fn check_columns(
        &self,
        (has_ratings, has_weights): (bool, bool),
        listener: &dyn Listener,
    ) -> Result<(), JobError> {
        let confidence = self.confidence.unwrap_or_default();
        if confidence.needs_column() && !has_weights {
            return Err(JobError::NoWeightColumn);
        }
        if has_ratings {
            return Ok(());
        }
        if let Some(targets @ (Targets::Raw | Targets::Log)) = self.targets {
            listener.event(&Event::TargetsWithoutRatings(targets));
        }
        if confidence.needs_ratings() {
            listener.event(&Event::ConfidenceWithoutRatings(confidence));
        }
        Ok(())
    }

    /// Settings that none of these methods takes.
    pub(crate) fn unused(&self, methods: &[Method]) -> Vec<UnusedSetting> {
        // No warning for a default that is written out, as in the configuration of a model.
        let numbers = self.numbers().into_iter().filter_map(|(key, given)| {
            let usual = method_with(key)?;
            let is_used = methods.iter().any(|one| one.number_key() == Some(key));
            let unused = given.is_some() && given != usual.number() && !is_used;
            unused.then(|| (key, usual.name()))
        });
        let has_rate = |method: &Method| {
            matches!(
                method,
                Method::Baseline(Baseline::Bpr | Baseline::SgdObserved)
            )
        };
        let usual_rate = Params::default().learning_rate;
        let other_rate = |given: f32| given.to_bits() != usual_rate.to_bits();
        let rate = (self.learning_rate.is_some_and(other_rate) && !methods.iter().any(has_rate))
            .then_some(("learning-rate", "bpr or sgd-observed"));
        let unused = numbers.chain(rate);
        unused
            .map(|(key, methods)| UnusedSetting { key, methods })
            .collect()
    }
}

/// The method whose number has a key.
fn method_with(key: &str) -> Option<Method> {
    let mut all = Method::ALL.into_iter();
    all.find(|method| method.number_key() == Some(key))
}

/// The half-life of post-scaling as it is written, for data whose times have this unit.
#[must_use]
pub fn half_life_of(params: &Params, unit: TimeUnit) -> Option<TimeSpan> {
    let half_life = params.post_scale_half_life?;
    TimeSpan::from_seconds(half_life / unit.per_second())
}

/// The post-scaling of items in words.
#[must_use]
pub fn post_scaling_text(params: &Params, unit: TimeUnit) -> String {
    match half_life_of(params, unit) {
        Some(half_life) => format!(
            "{}, counts with a half-life of {half_life}",
            params.post_scale
        ),
        None => params.post_scale.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use absentia::Solver;

    use super::*;
    use crate::keys::Keys as _;

    #[test]
    fn every_number_of_a_method_has_a_key() {
        for method in Method::ALL {
            let Some(number) = method.number() else {
                assert_eq!(method.number_key(), None);
                continue;
            };
            let key = method.number_key().unwrap();
            let mut given = GivenSettings::default();
            given
                .set_key(key, &toml::Value::String((number + 16).to_string()))
                .unwrap();
            assert_eq!(given.method(method).number(), Some(number + 16), "{key}");
        }
    }

    #[test]
    fn nothing_given_is_the_engine_s_defaults() {
        let params = GivenSettings::default().params(Method::default(), None, TimeUnit::default());
        assert_eq!(params, Params::default());
    }

    #[test]
    fn fixed_settings_give_the_same_parameters_and_leave_nothing_open() {
        let params = Params {
            factors: 7,
            regularization: 0.3,
            post_scale: -0.25,
            post_scale_half_life: Some(3_600_000.0),
            solver: Solver::Subspace { block: 32 }.into(),
            ..Params::default()
        };
        let mut given = GivenSettings::default();
        given.fix(&params, TimeUnit::Milliseconds);
        assert_eq!(
            given.params(params.solver, None, TimeUnit::Milliseconds),
            params
        );
        assert_eq!(given.automatic(), Automatic::default());
    }

    #[test]
    fn numbers_of_other_methods_are_unused() {
        let given = GivenSettings {
            block: Some(32),
            cg_steps: Some(3),
            ..GivenSettings::default()
        };
        let keys = |name: &str| {
            let method: Method = name.parse().expect("a method");
            let unused = given.unused(&[method]).into_iter();
            unused.map(|unused| unused.key).collect::<Vec<_>>()
        };
        assert_eq!(keys("eals"), ["block"]);
        assert!(keys("subspace").is_empty());
        assert_eq!(given.method(Method::ALL[2]).to_string(), "subspace:32");
    }
}
