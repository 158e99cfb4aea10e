//! Parameters as they are written on the command line.

use absentia::data::{Confidence, Targets};
use absentia::weights::Frozen;
use absentia::{Baseline, Method, Params, Solver};
use absentia_io::time::{TimeSpan, TimeUnit};

/// The value of `--targets`.
pub(crate) fn targets(targets: Targets) -> String {
    match targets {
        Targets::Raw => "raw".to_owned(),
        Targets::Binary => "binary".to_owned(),
        Targets::Log => "log".to_owned(),
        Targets::Normalized { user, item } => format!("normalized:{user},{item}"),
    }
}

/// The value of `--confidence`, for data whose latest time is `now`.
pub(crate) fn confidence(confidence: Confidence, now: i64) -> String {
    match confidence {
        Confidence::Constant { weight } => weight.to_string(),
        Confidence::Linear { alpha } => format!("linear:{alpha}"),
        Confidence::Log { alpha, epsilon } => format!("log:{alpha},{epsilon}"),
        Confidence::Decay { half_life, .. } => {
            let per_second = TimeUnit::of_latest(now).per_second();
            format!("decay:{}", span(half_life / per_second))
        }
        Confidence::Column => "column".to_owned(),
    }
}

/// A half-life in seconds as it is written; one that is not above zero has no unit.
fn span(seconds: f64) -> String {
    TimeSpan::from_seconds(seconds).map_or_else(|| seconds.to_string(), |span| span.to_string())
}

/// The value of `--solver`, with the option that goes with it.
pub(crate) fn solver(method: Method) -> String {
    let name = method.name();
    match method {
        Method::Solver(Solver::Subspace { block }) => format!("{name} --block {block}"),
        Method::Solver(Solver::AlsCg { steps }) => format!("{name} --cg-steps {steps}"),
        Method::Baseline(Baseline::ItemKnn { neighbours }) => {
            format!("{name} --neighbours {neighbours}")
        }
        Method::Solver(_) | Method::Baseline(_) => name.to_owned(),
    }
}

/// Weights on missing entries as a scheme, where they can be written as one.
pub(crate) fn weights(frozen: &Frozen) -> String {
    frozen.to_string()
}

/// Parameters that differ from those of an earlier run and decide its bits: the name of the flag, its
/// value then and its value now.
pub(crate) fn changes(earlier: &Params, params: &Params, now: i64) -> Vec<[String; 3]> {
    let changed = params.changes_since(earlier);
    let values = |params: &Params| values(params, now);
    let both = values(earlier).into_iter().zip(values(params));
    both.filter(|((name, _), _)| changed.contains(name))
        .map(|((name, then), (_, own))| [name.replace('_', "-"), then, own])
        .collect()
}

/// The values of all parameters that decide the bits of a run, by name.
fn values(params: &Params, now: i64) -> [(&'static str, String); 10] {
    [
        ("factors", params.factors.to_string()),
        ("regularization", params.regularization.to_string()),
        ("reg_exponent", params.reg_exponent.to_string()),
        ("solver", solver(params.solver)),
        ("targets", targets(params.targets)),
        ("confidence", confidence(params.confidence, now)),
        ("post_scale", params.post_scale.to_string()),
        ("init_std", params.init_std.to_string()),
        ("seed", params.seed.to_string()),
        ("learning_rate", params.learning_rate.to_string()),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_parameter_that_decides_a_run_has_a_value_to_show() {
        let other = Params {
            factors: 1,
            regularization: 0.5,
            reg_exponent: 0.5,
            solver: Solver::Als.into(),
            targets: Targets::Raw,
            confidence: Confidence::Column,
            post_scale: 0.5,
            init_std: 0.5,
            seed: 9,
            learning_rate: 0.5,
            ..Params::new()
        };
        let changed = other.changes_since(&Params::new());
        assert_eq!(changed.len(), changes(&Params::new(), &other, 0).len());
    }

    #[test]
    fn rules_are_written_as_they_are_given() {
        let normalized = Targets::Normalized {
            user: 0.35,
            item: 0.35,
        };
        assert_eq!(targets(normalized), "normalized:0.35,0.35");
        assert_eq!(confidence(Confidence::default(), 0), "1");
        assert_eq!(confidence(Confidence::Linear { alpha: 2.0 }, 0), "linear:2");
        let decay = |half_life| Confidence::Decay {
            half_life,
            now: None,
        };
        assert_eq!(confidence(decay(2_592_000.0), 0), "decay:30d");
        let now = 1_500_000_000_000;
        assert_eq!(confidence(decay(1_209_600_000.0), now), "decay:2w");
        assert_eq!(confidence(decay(90.0), 0), "decay:90s");
    }
}
