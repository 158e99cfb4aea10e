//! What trains the factors: a solver of the objective, or a baseline to compare with.

use std::fmt;
use std::str::FromStr;

use super::error::ParamsError;

/// Coordinates in a block of `subspace`, steps of `als-cg` and neighbours of `itemknn` when the text
/// of a method does not give them.
const DEFAULT_BLOCK: usize = 16;
const DEFAULT_STEPS: usize = 3;
const DEFAULT_NEIGHBOURS: usize = 100;

/// A way of minimising the objective J for any weights, row by row.
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
}

impl Solver {
    /// The name used on the command line and in files.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Solver::Eals => "eals",
            Solver::EalsVanilla => "eals-vanilla",
            Solver::Subspace { .. } => "subspace",
            Solver::Als => "als",
            Solver::AlsCg { .. } => "als-cg",
        }
    }
}

/// A method to compare the solvers with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "kebab-case", tag = "kind"))]
pub enum Baseline {
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
    /// Items similar to the user's own, by cosine (Sarwar et al. 2001, Deshpande and Karypis 2004).
    #[cfg_attr(feature = "serde", serde(rename = "itemknn"))]
    ItemKnn {
        /// Number of most similar items that are stored for each item.
        neighbours: usize,
    },
}

impl Baseline {
    /// The name used on the command line and in files.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Baseline::Svd => "svd",
            Baseline::Ials1 => "ials1",
            Baseline::Rcd => "rcd",
            Baseline::IiSvd => "ii-svd",
            Baseline::Bpr => "bpr",
            Baseline::SgdObserved => "sgd-observed",
            Baseline::Popularity => "popularity",
            Baseline::ItemKnn { .. } => "itemknn",
        }
    }

    /// Whether it minimises the objective J.
    #[must_use]
    pub fn minimises_objective(self) -> bool {
        match self {
            Baseline::Svd | Baseline::Ials1 | Baseline::Rcd | Baseline::SgdObserved => true,
            Baseline::IiSvd | Baseline::Bpr | Baseline::Popularity | Baseline::ItemKnn { .. } => {
                false
            }
        }
    }

    /// The one weight on missing entries that it takes, where it leaves no choice.
    #[must_use]
    pub fn only_weight(self) -> Option<f32> {
        match self {
            Baseline::Svd => Some(1.0),
            Baseline::IiSvd
            | Baseline::SgdObserved
            | Baseline::Popularity
            | Baseline::ItemKnn { .. } => Some(0.0),
            Baseline::Ials1 | Baseline::Rcd | Baseline::Bpr => None,
        }
    }

    /// Whether one pass gives its answer, so that further passes change nothing.
    #[must_use]
    pub fn is_direct(self) -> bool {
        match self {
            Baseline::Svd | Baseline::IiSvd | Baseline::Popularity | Baseline::ItemKnn { .. } => {
                true
            }
            Baseline::Ials1 | Baseline::Rcd | Baseline::Bpr | Baseline::SgdObserved => false,
        }
    }
}

/// What trains the factors.
///
/// Its text is the name, and for three methods a number after a colon: `subspace:16` is `subspace`
/// with blocks of 16 coordinates. [`FromStr`] reads it, [`Display`](fmt::Display) writes it.
///
/// ```
/// use absentia::{Baseline, Method, Solver};
///
/// assert_eq!("subspace:32".parse::<Method>()?, Solver::Subspace { block: 32 }.into());
/// assert_eq!(Method::from(Baseline::ItemKnn { neighbours: 50 }).to_string(), "itemknn:50");
/// # Ok::<(), absentia::ParamsError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(
    feature = "serde",
    serde(untagged, expecting = "expected a solver or a baseline by its kind")
)]
pub enum Method {
    /// A solver of the objective J.
    Solver(Solver),
    /// A method to compare with.
    Baseline(Baseline),
}

impl Method {
    /// Every method, with the numbers it has when its name is given alone.
    pub const ALL: [Method; 13] = [
        Method::Solver(Solver::Eals),
        Method::Solver(Solver::EalsVanilla),
        Method::Solver(Solver::Subspace {
            block: DEFAULT_BLOCK,
        }),
        Method::Solver(Solver::Als),
        Method::Solver(Solver::AlsCg {
            steps: DEFAULT_STEPS,
        }),
        Method::Baseline(Baseline::Svd),
        Method::Baseline(Baseline::Ials1),
        Method::Baseline(Baseline::Rcd),
        Method::Baseline(Baseline::IiSvd),
        Method::Baseline(Baseline::Bpr),
        Method::Baseline(Baseline::SgdObserved),
        Method::Baseline(Baseline::Popularity),
        Method::Baseline(Baseline::ItemKnn {
            neighbours: DEFAULT_NEIGHBOURS,
        }),
    ];

    /// The name used on the command line and in files.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Method::Solver(solver) => solver.name(),
            Method::Baseline(baseline) => baseline.name(),
        }
    }

    /// The number that belongs to the method: block, steps or neighbours.
    #[must_use]
    pub fn number(mut self) -> Option<usize> {
        self.number_mut().copied()
    }

    /// The method with another number, if it has one.
    #[must_use]
    pub fn with_number(mut self, number: usize) -> Self {
        if let Some(slot) = self.number_mut() {
            *slot = number;
        }
        self
    }

    /// The name of the number that belongs to the method, as in its flag.
    #[must_use]
    pub fn number_key(self) -> Option<&'static str> {
        match self {
            Method::Solver(Solver::Subspace { .. }) => Some("block"),
            Method::Solver(Solver::AlsCg { .. }) => Some("cg-steps"),
            Method::Baseline(Baseline::ItemKnn { .. }) => Some("neighbours"),
            Method::Solver(Solver::Eals | Solver::EalsVanilla | Solver::Als)
            | Method::Baseline(
                Baseline::Svd
                | Baseline::Ials1
                | Baseline::Rcd
                | Baseline::IiSvd
                | Baseline::Bpr
                | Baseline::SgdObserved
                | Baseline::Popularity,
            ) => None,
        }
    }

    /// Whether it is a baseline.
    #[must_use]
    pub fn is_baseline(self) -> bool {
        match self {
            Method::Solver(_) => false,
            Method::Baseline(_) => true,
        }
    }

    /// Whether it minimises the objective J, so that rows can be folded in and explained.
    #[must_use]
    pub fn minimises_objective(self) -> bool {
        match self {
            Method::Solver(_) => true,
            Method::Baseline(baseline) => baseline.minimises_objective(),
        }
    }

    /// Whether one pass gives its answer, so that further passes change nothing.
    #[must_use]
    pub fn is_direct(self) -> bool {
        match self {
            Method::Solver(_) => false,
            Method::Baseline(baseline) => baseline.is_direct(),
        }
    }

    fn number_mut(&mut self) -> Option<&mut usize> {
        match self {
            Method::Solver(Solver::Subspace { block }) => Some(block),
            Method::Solver(Solver::AlsCg { steps }) => Some(steps),
            Method::Baseline(Baseline::ItemKnn { neighbours }) => Some(neighbours),
            Method::Solver(Solver::Eals | Solver::EalsVanilla | Solver::Als)
            | Method::Baseline(
                Baseline::Svd
                | Baseline::Ials1
                | Baseline::Rcd
                | Baseline::IiSvd
                | Baseline::Bpr
                | Baseline::SgdObserved
                | Baseline::Popularity,
            ) => None,
        }
    }
}

impl Default for Method {
    fn default() -> Self {
        Method::Solver(Solver::default())
    }
}

impl From<Solver> for Method {
    fn from(solver: Solver) -> Self {
        Method::Solver(solver)
    }
}

impl From<Baseline> for Method {
    fn from(baseline: Baseline) -> Self {
        Method::Baseline(baseline)
    }
}

impl fmt::Display for Method {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())?;
        match self.number() {
            Some(number) => write!(f, ":{number}"),
            None => Ok(()),
        }
    }
}

impl FromStr for Method {
    type Err = ParamsError;

    fn from_str(text: &str) -> Result<Self, ParamsError> {
        let unknown = || ParamsError::Method {
            got: text.to_owned(),
        };
        let (name, number) = match text.split_once(':') {
            Some((name, number)) => (name, Some(number)),
            None => (text, None),
        };
        let mut all = Method::ALL.into_iter();
        let mut method = all
            .find(|method| method.name() == name)
            .ok_or_else(unknown)?;
        if let Some(number) = number {
            let digits = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
            let slot = method.number_mut().filter(|_| digits);
            *slot.ok_or_else(unknown)? = number.parse().map_err(|_| unknown())?;
        }
        Ok(method)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_method_is_read_as_it_is_written_and_by_its_name_alone() {
        for method in Method::ALL {
            assert_eq!(method.to_string().parse(), Ok(method));
            assert_eq!(method.name().parse(), Ok(method));
        }
        let wide = Method::from(Solver::Subspace { block: 128 });
        assert_eq!("subspace:128".parse(), Ok(wide));
    }

    #[test]
    fn no_two_methods_share_a_name() {
        let mut names = Method::ALL.map(Method::name);
        names.sort_unstable();
        assert!(names.windows(2).all(|pair| pair[0] != pair[1]));
    }

    #[test]
    fn other_texts_are_refused_and_repeated() {
        for text in [
            "",
            "EALS",
            "als:3",
            "subspace:",
            "subspace:+4",
            "als-cg:x",
            "itemknn:5:5",
            "svd:",
        ] {
            let error = text.parse::<Method>().unwrap_err();
            assert!(error.to_string().contains(&format!("{text:?}")), "{error}");
        }
    }

    #[cfg(feature = "serde")]
    #[test]
    fn files_name_a_method_by_its_kind() {
        for method in Method::ALL {
            let json = serde_json::to_value(method).unwrap();
            assert_eq!(json["kind"], method.name());
            assert_eq!(serde_json::from_value::<Method>(json).unwrap(), method);
        }
    }
}
