//! The one enumeration of weight schemes.
//!
//! Each kind of scheme is a variant of [`Term`] and a file in `schemes/`. A scheme passes through three
//! [forms](SchemeForm): written as text with its arrays named by path ([`ByPath`]), with its arrays
//! [in memory](InMemory), and [resolved](Resolved) on data. A [`Scheme`] is one term or several added up.

use std::fmt::Debug;
use std::path::{Path, PathBuf};

use super::approximation::{Approximation, Decomposition, Rank};
use super::approximation::{WeightFunction, WeightRule};
use super::schemes::{
    Approximated, ExposureRates, GivenFactors, GroupPaths, Groups, Learned, LearnedWeights,
    LowRank, Presence, Product, ResolvedFunction, ResolvedGroups, ResolvedLearned, ResolvedProduct,
    Strength, Uniform,
};
use crate::data::Interactions;
use crate::linalg::Dense;

/// The types that a scheme consists of in one of its three forms.
pub trait SchemeForm {
    /// A product of factors.
    type Product: Clone + Debug + PartialEq;
    /// The day from which each item was there.
    type Dates: Clone + Debug + PartialEq;
    /// User segments and item categories.
    type Groups: Clone + Debug + PartialEq;
    /// Given factors A and B.
    type LowRank: Clone + Debug + PartialEq;
    /// Every weight given.
    type Dense: Clone + Debug + PartialEq;
    /// Every weight given by a rule.
    type Function: Clone + Debug + PartialEq;
    /// Estimated from the data.
    type Learned: Clone + Debug + PartialEq;
}

/// The form of a scheme before it is resolved on data: [`ByPath`] or [`InMemory`].
pub trait Requested: SchemeForm<Product = Product<Self>> + Sized {}

/// As text: arrays and tables are named by path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ByPath {}

impl Requested for ByPath {}

impl SchemeForm for ByPath {
    type Product = Product<Self>;
    type Dates = PathBuf;
    type Groups = GroupPaths;
    type LowRank = LowRank<PathBuf>;
    type Dense = Approximated<PathBuf>;
    // A rule is code and has no text.
    type Function = std::convert::Infallible;
    type Learned = Learned;
}

/// Arrays and tables are in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InMemory {}

impl Requested for InMemory {}

impl SchemeForm for InMemory {
    type Product = Product<Self>;
    type Dates = Vec<Option<i64>>;
    type Groups = Groups;
    type LowRank = LowRank<Dense>;
    type Dense = Approximated<Dense>;
    type Function = Approximated<WeightFunction>;
    type Learned = LearnedWeights;
}

/// Resolved on data: everything about the weights except A and B.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Resolved {}

impl SchemeForm for Resolved {
    type Product = ResolvedProduct;
    type Dates = std::convert::Infallible;
    type Groups = ResolvedGroups;
    type LowRank = GivenFactors;
    type Dense = Approximation;
    type Function = ResolvedFunction;
    type Learned = ResolvedLearned;
}

/// One kind of weights on missing entries.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "kebab-case"))]
#[non_exhaustive]
pub enum Term<F: SchemeForm> {
    /// The same weight everywhere (Hu, Koren and Volinsky 2008).
    Uniform(Uniform),
    /// A product of factors: popularity of items (the paper's), activity of users, age and availability of
    /// items, another scheme.
    #[cfg_attr(
        feature = "serde",
        serde(
            alias = "popularity",
            alias = "activity",
            alias = "popularity-activity"
        )
    )]
    Product(F::Product),
    /// A weight for each pair of user segment and item category.
    Groups(F::Groups),
    /// `w_ui = a_u · b_i` with both given. Negative numbers are allowed;
    /// [`may_be_negative`](super::MissingWeights::may_be_negative) warns of them.
    LowRank(F::LowRank),
    /// Every weight given, `(M, N)`, all at least 0; approximated.
    Dense(F::Dense),
    /// Every weight given by a rule; approximated without storing more than a few rows of W when W is
    /// large. All pairs are evaluated up to 2·10⁹ of them, several times; beyond that, the pairs of a few
    /// thousand users and items.
    Function(F::Function),
    /// Estimated from the data: the chance that a missing entry was seen, see [`Learned`].
    ///
    /// Training and the estimate alternate. [`Scheme::resolve`] by itself uses the observed entries only.
    Learned(F::Learned),
}

/// A rule that gives weights to missing entries, not yet resolved on data: one [`Term`] or a sum of several.
///
/// ```
/// use absentia::weights::{Scheme, Strength};
/// use absentia::data::{Duplicates, Triplets};
///
/// let data = Triplets::new(&[0, 0, 1], &[0, 1, 0]).build(2, 3, Duplicates::Error)?;
/// let scheme: Scheme = Scheme::popularity(Strength::C0(6.0), 1.0);
/// let weights = scheme.resolve(&data)?;
/// assert_eq!(weights.weight(1, 1), 2.0); // f_1 = 1/3 of all interactions, times 6
/// assert_eq!(weights.weight(1, 2), 0.0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub enum Scheme<F: Requested = InMemory> {
    /// A single term.
    One(Term<F>),
    /// The sum of its terms.
    Sum(Vec<Term<F>>),
}

/// A [`Scheme`] as text, its arrays named by path; [`weights`](super) has the syntax.
///
/// ```
/// use absentia::weights::SchemeSpec;
///
/// let spec: SchemeSpec = "popularity:c0=512,alpha=0.4 + uniform:0.01".parse()?;
/// assert_eq!(spec.to_string(), "popularity:c0=512,alpha=0.4 + uniform:0.01");
/// assert!(spec.scheme().is_some());
/// # Ok::<(), absentia::weights::SpecError>(())
/// ```
pub type SchemeSpec = Scheme<ByPath>;

impl<F: Requested> Scheme<F> {
    /// Yields the scheme that gives every missing entry the same weight w₀ ≥ 0.
    #[must_use]
    pub const fn uniform(weight: f32) -> Self {
        Scheme::One(Term::Uniform(Uniform { weight }))
    }

    /// Yields the paper's scheme: weights by popularity of items, with exponent α (0 is uniform).
    #[must_use]
    pub const fn popularity(strength: Strength, alpha: f32) -> Self {
        Scheme::One(Term::Product(Product::new(strength, Some(alpha), None)))
    }

    /// Yields weights by activity of users, with exponent α (0 is uniform).
    #[must_use]
    pub const fn activity(strength: Strength, alpha: f32) -> Self {
        Scheme::One(Term::Product(Product::new(strength, None, Some(alpha))))
    }

    /// Yields weights by popularity of items (exponent α) times activity of users (exponent β).
    #[must_use]
    pub const fn popularity_activity(strength: Strength, alpha: f32, beta: f32) -> Self {
        Scheme::One(Term::Product(Product::new(
            strength,
            Some(alpha),
            Some(beta),
        )))
    }

    /// Yields weights by when items were there.
    #[must_use]
    pub fn by_time(strength: Strength, presence: Presence<F::Dates>) -> Self {
        let mut product = Product::new(strength, None, None);
        product.presence = Some(presence);
        Scheme::One(Term::Product(product))
    }

    /// Yields the sum of several schemes; sums among them are flattened.
    #[must_use]
    pub fn sum(schemes: impl IntoIterator<Item = Self>) -> Self {
        let mut terms: Vec<Term<F>> = schemes.into_iter().flat_map(Self::into_terms).collect();
        if terms.len() == 1 {
            return Scheme::One(terms.remove(0));
        }
        Scheme::Sum(terms)
    }

    /// The terms that are added up.
    #[must_use]
    pub fn terms(&self) -> &[Term<F>] {
        match self {
            Scheme::One(term) => std::slice::from_ref(term),
            Scheme::Sum(terms) => terms,
        }
    }

    /// Yields the product of a product of factors with another scheme, in either order; `None` if neither is
    /// such a product, if both are, or if the other is uniform or a sum.
    #[must_use]
    pub fn times(self, other: Self) -> Option<Self> {
        match (self, other) {
            (Scheme::One(left), Scheme::One(right)) => left.times(right).map(Scheme::One),
            _ => None,
        }
    }

    /// Whether the weights follow from the times of the rows.
    #[must_use]
    pub fn needs_times(&self) -> bool {
        let by_time = |term: &Term<F>| match term {
            Term::Product(product) => product.presence.is_some(),
            Term::Uniform(_)
            | Term::Groups(_)
            | Term::LowRank(_)
            | Term::Dense(_)
            | Term::Function(_)
            | Term::Learned(_) => false,
        };
        self.terms().iter().any(by_time)
    }

    fn into_terms(self) -> Vec<Term<F>> {
        match self {
            Scheme::One(term) => vec![term],
            Scheme::Sum(terms) => terms,
        }
    }

    /// Whether some of the weights are given for users and items, as lists, tables or a rule, instead of
    /// following from the data. Such weights say how much was shown to whom, which rows of the data
    /// cannot tell.
    #[must_use]
    pub fn states_exposure(&self) -> bool {
        fn states<F: Requested>(term: &Term<F>) -> bool {
            match term {
                Term::Groups(_) | Term::LowRank(_) | Term::Dense(_) | Term::Function(_) => true,
                Term::Product(product) => product.other.as_deref().is_some_and(states),
                Term::Uniform(_) | Term::Learned(_) => false,
            }
        }
        self.terms().iter().any(states)
    }

    /// Yields the scheme with every term replaced.
    ///
    /// # Errors
    /// The first failure of `replace`.
    pub fn try_map<G: Requested, E>(
        &self,
        replace: impl FnMut(&Term<F>) -> Result<Term<G>, E>,
    ) -> Result<Scheme<G>, E> {
        let terms: Result<Vec<_>, E> = self.terms().iter().map(replace).collect();
        Ok(Scheme::sum(terms?.into_iter().map(Scheme::One)))
    }
}

impl<F: Requested> Term<F> {
    /// The name of the weights in it that cannot be made from the rows of a part of the users or items and sums
    /// over all of them.
    #[must_use]
    pub fn not_divisible(&self) -> Option<&'static str> {
        match self {
            Term::Learned(_) => Some("learned"),
            Term::Dense(_) => Some("dense"),
            Term::Function(_) => Some("function"),
            Term::Product(product) => product.other.as_deref().and_then(Self::not_divisible),
            Term::Uniform(_) | Term::Groups(_) | Term::LowRank(_) => None,
        }
    }

    /// Whether the weights follow from the numbers of interactions of users and items alone.
    #[must_use]
    pub fn follows_from_counts(&self) -> bool {
        match self {
            Term::Uniform(_) => true,
            Term::Product(product) => product.presence.is_none() && product.other.is_none(),
            Term::Groups(_)
            | Term::LowRank(_)
            | Term::Dense(_)
            | Term::Function(_)
            | Term::Learned(_) => false,
        }
    }

    pub(super) fn times(self, other: Self) -> Option<Self> {
        let ((Term::Product(mut product), term) | (term, Term::Product(mut product))) =
            (self, other)
        else {
            return None;
        };
        let is_factor = matches!(term, Term::Product(_) | Term::Uniform(_));
        if is_factor || product.other.is_some() || product.is_available() {
            return None;
        }
        product.other = Some(Box::new(term));
        Some(Term::Product(product))
    }
}

impl Scheme {
    /// Yields a weight for each pair of user segment and item category.
    #[must_use]
    pub fn groups(groups: Groups) -> Self {
        Scheme::One(Term::Groups(groups))
    }

    /// Yields `w_ui = a_u · b_i` with A, `(M, Z)`, and B, `(N, Z)`, given.
    #[must_use]
    pub fn low_rank(a: Dense, b: Dense) -> Self {
        Scheme::One(Term::LowRank(LowRank { a, b }))
    }

    /// Yields the approximation of a given W, `(M, N)`.
    #[must_use]
    pub fn dense(w: Dense, rank: Rank, method: Decomposition) -> Self {
        Scheme::One(Term::Dense(Approximated {
            source: w,
            rank,
            method,
        }))
    }

    /// Yields the approximation of a rule `(user, item) -> weight`.
    #[must_use]
    pub fn function(function: WeightFunction, rank: Rank, method: Decomposition) -> Self {
        Scheme::One(Term::Function(Approximated {
            source: function,
            rank,
            method,
        }))
    }

    /// Yields the approximation of a rule `(user, item) -> weight` by truncated SVD.
    #[must_use]
    pub fn from_rule(rule: impl WeightRule + 'static, rank: Rank) -> Self {
        Self::function(WeightFunction::new(rule), rank, Decomposition::Svd)
    }

    /// Yields weights that are estimated from the data.
    #[must_use]
    pub fn learned(learned: Learned) -> Self {
        Scheme::One(Term::Learned(LearnedWeights {
            learned,
            exposure: None,
        }))
    }

    /// The maximum number of components Z that the weights of this scheme can have on `data`.
    #[must_use]
    pub fn rank_bound(&self, data: &Interactions<'_>) -> usize {
        let bounds = self.terms().iter().map(|term| term.rank_bound(data));
        bounds.sum()
    }

    /// The maximum number of components of a term that training has yet to estimate, 0 if there is none.
    #[must_use]
    pub fn rank_to_estimate(&self) -> usize {
        let terms = self.terms().iter();
        let ranks = terms.filter_map(Term::to_estimate);
        ranks.map(|learned| learned.rank).max().unwrap_or(0)
    }

    /// W, where the scheme is an approximation of a W given in full.
    #[must_use]
    pub fn full_weights(&self) -> Option<&Dense> {
        match self {
            Scheme::One(Term::Dense(dense)) => Some(&dense.source),
            _ => None,
        }
    }

    /// Whether W, or a term of it, has to be factorised first.
    #[must_use]
    pub fn is_approximated(&self) -> bool {
        let mut terms = self.terms().iter();
        terms.any(Term::is_approximated)
    }

    /// Yields the text form of a scheme that holds neither arrays nor rules.
    #[must_use]
    pub fn spec(&self) -> Option<SchemeSpec> {
        self.try_map(|term| term.spec().ok_or(())).ok()
    }
}

impl Term<InMemory> {
    /// The learned weights that training has yet to estimate, if this term is such.
    #[must_use]
    pub fn to_estimate(&self) -> Option<&Learned> {
        match self {
            Term::Learned(LearnedWeights { learned, exposure }) => {
                (exposure.is_none() && learned.rounds > 0).then_some(learned)
            }
            Term::Product(product) => product.other.as_ref()?.to_estimate(),
            Term::Uniform(_)
            | Term::Groups(_)
            | Term::LowRank(_)
            | Term::Dense(_)
            | Term::Function(_) => None,
        }
    }

    /// Yields the term with the estimate that its learned weights need.
    pub(crate) fn with_exposure(&self, exposure: &ExposureRates) -> Self {
        let mut term = self.clone();
        match &mut term {
            Term::Learned(weights) => weights.exposure = Some(exposure.clone()),
            Term::Product(product) => {
                let other = product.other.take();
                product.other = other.map(|other| Box::new(other.with_exposure(exposure)));
            }
            Term::Uniform(_)
            | Term::Groups(_)
            | Term::LowRank(_)
            | Term::Dense(_)
            | Term::Function(_) => {}
        }
        term
    }

    fn is_approximated(&self) -> bool {
        match self {
            Term::Dense(_) | Term::Function(_) => true,
            Term::Product(product) => product.other.as_deref().is_some_and(Self::is_approximated),
            Term::Uniform(_) | Term::Groups(_) | Term::LowRank(_) | Term::Learned(_) => false,
        }
    }

    fn rank_bound(&self, data: &Interactions<'_>) -> usize {
        match self {
            Term::Groups(groups) => groups.table.rows().min(groups.table.cols()),
            Term::LowRank(given) => given.a.cols(),
            Term::Dense(dense) => dense.rank.bound(data),
            Term::Function(function) => function.rank.bound(data),
            Term::Learned(weights) => weights.learned.rank,
            Term::Product(product) => match (&product.other, &product.presence) {
                (Some(other), _) => other.rank_bound(data),
                (None, Some(presence)) if product.is_available() => presence.slices.bound(data),
                (None, _) => 1,
            },
            Term::Uniform(_) => 1,
        }
    }

    fn spec(&self) -> Option<Term<ByPath>> {
        Some(match self {
            Term::Uniform(uniform) => Term::Uniform(*uniform),
            Term::Product(product) => {
                let spec = product.try_map(|_| Err(()), |other| other.spec().ok_or(()));
                Term::Product(spec.ok()?)
            }
            Term::Learned(weights) => Term::Learned(weights.learned),
            Term::Groups(_) | Term::LowRank(_) | Term::Dense(_) | Term::Function(_) => return None,
        })
    }
}

/// Reads the arrays and tables that a [`SchemeSpec`] names.
pub trait ArrayLoader {
    /// Why an array could not be read.
    type Error;

    /// Yields A or B: one row for each user or item of `axis`, in the order of the data.
    ///
    /// # Errors
    /// Whatever keeps it from being read.
    fn rows(&self, path: &Path, axis: crate::Axis) -> Result<Dense, Self::Error>;

    /// Yields W: one row for each user, one column for each item, in the order of the data.
    ///
    /// # Errors
    /// Whatever keeps it from being read.
    fn full(&self, path: &Path) -> Result<Dense, Self::Error>;

    /// Yields a table of groups with the groups of users and items.
    ///
    /// # Errors
    /// Whatever keeps it from being read.
    fn groups(&self, paths: &GroupPaths) -> Result<Groups, Self::Error>;

    /// Yields the day from which each item was there, in unix seconds, where the file has it.
    ///
    /// # Errors
    /// Whatever keeps it from being read.
    fn dates(&self, path: &Path) -> Result<Vec<Option<i64>>, Self::Error>;
}

impl SchemeSpec {
    /// Yields the scheme, its arrays read by `loader`.
    ///
    /// # Errors
    /// Whatever the loader fails with.
    pub fn load<L: ArrayLoader>(&self, loader: &L) -> Result<Scheme, L::Error> {
        self.try_map(|term| term.load(loader))
    }

    /// Yields the scheme if it needs no arrays.
    #[must_use]
    pub fn scheme(&self) -> Option<Scheme> {
        self.load(&NoArrays).ok()
    }

    /// Paths of the arrays it needs.
    #[must_use]
    pub fn paths(&self) -> Vec<&Path> {
        self.terms().iter().flat_map(Term::paths).collect()
    }
}

impl Term<ByPath> {
    fn load<L: ArrayLoader>(&self, loader: &L) -> Result<Term<InMemory>, L::Error> {
        Ok(match self {
            Term::Uniform(uniform) => Term::Uniform(*uniform),
            Term::Product(product) => Term::Product(
                product.try_map(|path| loader.dates(path), |other| other.load(loader))?,
            ),
            Term::Groups(paths) => Term::Groups(loader.groups(paths)?),
            Term::LowRank(paths) => Term::LowRank(LowRank {
                a: loader.rows(&paths.a, crate::Axis::User)?,
                b: loader.rows(&paths.b, crate::Axis::Item)?,
            }),
            Term::Dense(dense) => Term::Dense(Approximated {
                source: loader.full(&dense.source)?,
                rank: dense.rank,
                method: dense.method,
            }),
            Term::Function(function) => match *function {},
            Term::Learned(learned) => Term::Learned(LearnedWeights {
                learned: *learned,
                exposure: None,
            }),
        })
    }

    fn paths(&self) -> Vec<&Path> {
        match self {
            Term::Groups(paths) => vec![&paths.table, &paths.users, &paths.items],
            Term::LowRank(paths) => vec![&paths.a, &paths.b],
            Term::Dense(dense) => vec![&dense.source],
            Term::Function(function) => match *function {},
            Term::Product(product) => {
                let dates = product
                    .presence
                    .iter()
                    .flat_map(|presence| &presence.released);
                let other = product.other.iter().flat_map(|other| other.paths());
                dates.map(PathBuf::as_path).chain(other).collect()
            }
            Term::Uniform(_) | Term::Learned(_) => Vec::new(),
        }
    }
}

/// The loader of schemes that name no arrays.
struct NoArrays;

impl ArrayLoader for NoArrays {
    type Error = ();

    fn rows(&self, _: &Path, _: crate::Axis) -> Result<Dense, ()> {
        Err(())
    }

    fn full(&self, _: &Path) -> Result<Dense, ()> {
        Err(())
    }

    fn groups(&self, _: &GroupPaths) -> Result<Groups, ()> {
        Err(())
    }

    fn dates(&self, _: &Path) -> Result<Vec<Option<i64>>, ()> {
        Err(())
    }
}
