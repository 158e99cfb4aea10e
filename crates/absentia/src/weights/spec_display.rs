//! Writing [`SchemeSpec`] so that it can be read again.

use std::fmt;
use std::path::Path;

use super::learned::Learned;
use super::scheme::{Rank, Strength};
use super::spec::SchemeSpec;
use super::spec_error::SpecError;

impl fmt::Display for SchemeSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = Path::display;
        match self {
            SchemeSpec::Uniform { weight } => write!(f, "uniform:{weight}"),
            SchemeSpec::Popularity { strength, alpha } => {
                write!(f, "popularity:{strength},alpha={alpha}")
            }
            SchemeSpec::Activity { strength, alpha } => {
                write!(f, "activity:{strength},alpha={alpha}")
            }
            SchemeSpec::PopularityActivity {
                strength,
                alpha,
                beta,
            } => write!(
                f,
                "popularity*activity:{strength},alpha={alpha},beta={beta}"
            ),
            SchemeSpec::Groups {
                table,
                users,
                items,
            } => write!(
                f,
                "groups:{},users={},items={}",
                path(table),
                path(users),
                path(items)
            ),
            SchemeSpec::LowRank { a, b } => write!(f, "lowrank:{},{}", path(a), path(b)),
            SchemeSpec::Dense { w, rank, method } => {
                write!(f, "dense:{},{rank},method={method}", path(w))
            }
            SchemeSpec::Learned(learned) => {
                let Learned {
                    mean,
                    rank,
                    alpha,
                    rounds,
                    seed,
                } = learned;
                write!(
                    f,
                    "learned:mean={mean},rank={rank},alpha={alpha},rounds={rounds}"
                )?;
                if *seed == 0 {
                    return Ok(());
                }
                write!(f, ",seed={seed}")
            }
            SchemeSpec::Sum(terms) => {
                for (at, term) in terms.iter().enumerate() {
                    let plus = if at == 0 { "" } else { " + " };
                    write!(f, "{plus}{term}")?;
                }
                Ok(())
            }
        }
    }
}

impl fmt::Display for Strength {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Strength::C0(c0) => write!(f, "c0={c0}"),
            Strength::Mean(mean) => write!(f, "mean={mean}"),
        }
    }
}

impl fmt::Display for Rank {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Rank::Fixed(rank) => write!(f, "rank={rank}"),
            Rank::Error { target, max_rank } => write!(f, "error={target},max_rank={max_rank}"),
        }
    }
}

impl From<SchemeSpec> for String {
    fn from(spec: SchemeSpec) -> Self {
        spec.to_string()
    }
}

impl TryFrom<String> for SchemeSpec {
    type Error = SpecError;

    fn try_from(text: String) -> Result<Self, SpecError> {
        text.parse()
    }
}
