//! Schemes as a line of text, for command lines, configuration files and saved parameters.
//!
//! ```text
//! uniform:0.01
//! popularity:c0=512,alpha=0.4
//! popularity:mean=0.1,alpha=0.25
//! activity:mean=0.1,alpha=0.5
//! popularity*activity:mean=0.1,alpha=0.4,beta=0.5
//! groups:table.csv,users=segments.csv,items=categories.csv
//! lowrank:A.npy,B.npy
//! dense:W.npy,rank=8,method=nonnegative
//! dense:W.npy,error=0.05,max_rank=32
//! learned:mean=0.01,rank=4,alpha=0.25,rounds=2
//! uniform:0.01 + popularity:mean=0.1,alpha=0.4
//! ```

use std::path::{Path, PathBuf};

use super::learned::Learned;
use super::scheme::{Groups, Method, Rank, Scheme, Strength};
use crate::linalg::Dense;

/// A [`Scheme`] as text, its arrays named by path; see the module for the syntax.
///
/// ```
/// use absentia::weights::SchemeSpec;
///
/// let spec: SchemeSpec = "popularity:c0=512,alpha=0.4 + uniform:0.01".parse()?;
/// assert_eq!(spec.to_string(), "popularity:c0=512,alpha=0.4 + uniform:0.01");
/// assert!(spec.scheme().is_some());
/// # Ok::<(), absentia::weights::SpecError>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(into = "String", try_from = "String"))]
#[non_exhaustive]
pub enum SchemeSpec {
    /// [`Scheme::Uniform`].
    Uniform {
        /// w₀.
        weight: f32,
    },
    /// [`Scheme::Popularity`].
    Popularity {
        /// c0 or mean.
        strength: Strength,
        /// Exponent.
        alpha: f32,
    },
    /// [`Scheme::Activity`].
    Activity {
        /// c0 or mean.
        strength: Strength,
        /// Exponent.
        alpha: f32,
    },
    /// [`Scheme::PopularityActivity`].
    PopularityActivity {
        /// c0 or mean.
        strength: Strength,
        /// Exponent of items.
        alpha: f32,
        /// Exponent of users.
        beta: f32,
    },
    /// [`Scheme::Groups`].
    Groups {
        /// Where the table is.
        table: PathBuf,
        /// Where the segments of users are.
        users: PathBuf,
        /// Where the categories of items are.
        items: PathBuf,
    },
    /// [`Scheme::LowRank`].
    LowRank {
        /// Where A is.
        a: PathBuf,
        /// Where B is.
        b: PathBuf,
    },
    /// [`Scheme::Dense`].
    Dense {
        /// Where W is.
        w: PathBuf,
        /// How close.
        rank: Rank,
        /// By what.
        method: Method,
    },
    /// [`Scheme::Learned`].
    Learned(Learned),
    /// [`Scheme::Sum`].
    Sum(Vec<SchemeSpec>),
}

/// Whoever can read the arrays that a [`SchemeSpec`] names.
pub trait ArrayLoader {
    /// Why an array could not be read.
    type Error;

    /// Yields the matrix at a path; rows are users or items in the order of the data.
    ///
    /// # Errors
    /// Whatever keeps it from being read.
    fn matrix(&self, path: &Path) -> Result<Dense, Self::Error>;

    /// Yields a table of groups with the groups of users and items, names turned into numbers.
    ///
    /// # Errors
    /// Whatever keeps it from being read.
    fn groups(&self, table: &Path, users: &Path, items: &Path) -> Result<Groups, Self::Error>;
}

impl SchemeSpec {
    /// Yields the scheme, its arrays read by `loader`.
    ///
    /// # Errors
    /// Whatever the loader fails with.
    pub fn load<L: ArrayLoader>(&self, loader: &L) -> Result<Scheme, L::Error> {
        Ok(match self {
            SchemeSpec::Uniform { weight } => Scheme::Uniform { weight: *weight },
            &SchemeSpec::Popularity { strength, alpha } => Scheme::Popularity { strength, alpha },
            &SchemeSpec::Activity { strength, alpha } => Scheme::Activity { strength, alpha },
            &SchemeSpec::PopularityActivity {
                strength,
                alpha,
                beta,
            } => Scheme::PopularityActivity {
                strength,
                alpha,
                beta,
            },
            SchemeSpec::Groups {
                table,
                users,
                items,
            } => Scheme::Groups(loader.groups(table, users, items)?),
            SchemeSpec::LowRank { a, b } => Scheme::LowRank {
                a: loader.matrix(a)?,
                b: loader.matrix(b)?,
            },
            &SchemeSpec::Learned(learned) => Scheme::Learned {
                learned,
                exposure: None,
            },
            SchemeSpec::Dense { w, rank, method } => Scheme::Dense {
                w: loader.matrix(w)?,
                rank: *rank,
                method: *method,
            },
            SchemeSpec::Sum(terms) => {
                let terms: Result<_, _> = terms.iter().map(|term| term.load(loader)).collect();
                Scheme::Sum(terms?)
            }
        })
    }

    /// Yields the scheme if it needs no arrays.
    #[must_use]
    pub fn scheme(&self) -> Option<Scheme> {
        self.load(&Nothing).ok()
    }

    /// Paths of the arrays it needs.
    #[must_use]
    pub fn paths(&self) -> Vec<&Path> {
        match self {
            SchemeSpec::Groups {
                table,
                users,
                items,
            } => vec![table, users, items],
            SchemeSpec::LowRank { a, b } => vec![a, b],
            SchemeSpec::Dense { w, .. } => vec![w],
            SchemeSpec::Sum(terms) => terms.iter().flat_map(SchemeSpec::paths).collect(),
            _ => Vec::new(),
        }
    }
}

/// The loader where nothing can be read.
struct Nothing;

impl ArrayLoader for Nothing {
    type Error = ();

    fn matrix(&self, _: &Path) -> Result<Dense, ()> {
        Err(())
    }

    fn groups(&self, _: &Path, _: &Path, _: &Path) -> Result<Groups, ()> {
        Err(())
    }
}
