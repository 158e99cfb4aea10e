//! Parameters as they are written on the command line.

use absentia::data::{Confidence, Targets};
use absentia::weights::{Frozen, PartKind};
use absentia::{Params, Solver};

/// Times above this are taken to be in milliseconds.
pub(crate) const MILLISECONDS_FROM: i64 = 100_000_000_000;

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
        Confidence::Decay { half_life, .. } if now > MILLISECONDS_FROM => {
            format!("decay:{}", span(half_life / 1000.0))
        }
        Confidence::Decay { half_life, .. } => format!("decay:{}", span(half_life)),
        Confidence::Column => "column".to_owned(),
    }
}

/// Seconds in the largest unit of which they are a whole number.
fn span(seconds: f64) -> String {
    let units = [
        (604_800.0, "w"),
        (86_400.0, "d"),
        (3600.0, "h"),
        (60.0, "m"),
    ];
    let whole = |unit: f64| (seconds / unit).fract() == 0.0;
    match units.into_iter().find(|(unit, _)| whole(*unit)) {
        Some((unit, name)) => format!("{}{name}", seconds / unit),
        None => format!("{seconds}s"),
    }
}

/// The value of `--solver`, with the option that goes with it.
pub(crate) fn solver(solver: Solver) -> String {
    match solver {
        Solver::Subspace { block } => format!("subspace --block {block}"),
        Solver::AlsCg { steps } => format!("als-cg --cg-steps {steps}"),
        Solver::ItemKnn { neighbours } => format!("itemknn --neighbours {neighbours}"),
        solver => solver.name().to_owned(),
    }
}

/// Weights on missing entries as a scheme, where they can be written as one.
pub(crate) fn weights(frozen: &Frozen) -> String {
    let parts: Vec<String> = frozen.parts.iter().map(|part| term(&part.kind)).collect();
    parts.join(" + ")
}

fn term(kind: &PartKind) -> String {
    let name = kind.name();
    match kind {
        PartKind::Uniform { weight } => format!("{name}:{weight}"),
        PartKind::Popularity { c0, items } => {
            format!("{name}:c0={},alpha={}", *c0 as f32, items.exponent)
        }
        PartKind::Activity { c0, users } => {
            format!("{name}:c0={},alpha={}", *c0 as f32, users.exponent)
        }
        PartKind::PopularityActivity { c0, items, users } => format!(
            "{name}:c0={},alpha={},beta={}",
            *c0 as f32, items.exponent, users.exponent
        ),
        _ => name.to_owned(),
    }
}

/// Every parameter that decides the bits of a run, by the name of its flag.
pub(crate) fn deciding(params: &Params, now: i64) -> [(&'static str, String); 9] {
    [
        ("factors", params.factors.to_string()),
        ("regularization", params.regularization.to_string()),
        ("reg-exponent", params.reg_exponent.to_string()),
        ("solver", solver(params.solver)),
        ("targets", targets(params.targets)),
        ("confidence", confidence(params.confidence, now)),
        ("post-scale", params.post_scale.to_string()),
        ("init-std", params.init_std.to_string()),
        ("seed", params.seed.to_string()),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

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
