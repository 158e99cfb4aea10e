//! The description of a run.

// Comments on fields are help texts as well, in which brackets mark what can be left out.
#![allow(rustdoc::broken_intra_doc_links)]

use absentia::relations::{Arrangement, RelationError};
use absentia::weights::SchemeSpec;
use absentia::{Method, Params};
use absentia_io::time::TimeUnit;
use absentia_search::Automatic;

use crate::error::JobError;
use crate::exposed_entries::ExposedEntries;
use crate::preparation::Preparation;
use crate::reading::Reading;
use crate::settings::GivenSettings;
use crate::text::{Device, RelationSpec};
use crate::validation::ValidationSettings;
use crate::validator::metric_name;

/// A run: where its data comes from and how it is prepared, its weights and parameters, what is left to
/// be chosen automatically, its limits and its device.
///
/// It is written as keys and values, by [`set`](Self::set), [`table`](Self::table) and serde.
///
/// ```
/// use absentia_job::Job;
///
/// let job: Job = toml::from_str("data = 'ratings.csv'\nfactors = 8\nconfidence = 'decay:30d'")?;
/// assert_eq!(job.settings.factors, Some(8));
/// assert_eq!(toml::from_str::<Job>(&toml::to_string(&job)?)?, job);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
#[cfg_attr(feature = "clap", derive(clap::Args))]
pub struct Job {
    /// The settings.
    #[cfg_attr(feature = "clap", command(flatten))]
    pub settings: GivenSettings,
    /// What trains the factors. Solvers of the objective: eals (element-wise, fast: the paper's
    /// Algorithm 2), eals-vanilla (element-wise over every entry, Algorithm 1: slow, exact for a dense W),
    /// subspace[:BLOCK] (exact for each block of factors, iALS++), als (exact for each row),
    /// als-cg[:STEPS] (a few conjugate-gradient steps for each row). Baselines: svd (truncated SVD:
    /// weights 1 everywhere), ials1 and rcd (uniform weights), bpr (negatives drawn by the weights of
    /// items), ii-svd, sgd-observed, popularity and itemknn[:NEIGHBOURS] (no weights) [default: eals].
    #[cfg_attr(
        feature = "clap",
        arg(long, value_name = "NAME", help_heading = "Training")
    )]
    pub solver: Option<Method>,
    /// How much it counts that a user has no row with an item: near 0 if it was probably never seen, more if it was
    /// probably passed over. A name alone has the usual options; see below for all of them [default:
    /// popularity:mean=0.01,alpha=0.25; without --targets and --regularization, another mean is used if
    /// it does better on a held-out fifth of the rows, and without --post-scale also the age of items if the data has times
    /// and that is better by more than noise; a baseline has its own].
    #[cfg_attr(feature = "clap", arg(long, value_name = "SCHEME", num_args = 1))]
    #[cfg_attr(feature = "clap", arg(help_heading = "Weights on missing entries"))]
    pub weights: Vec<SchemeSpec>,
    /// Side information that is trained with the data: TYPE-TYPE:FILE, as in items-tags:tags.csv or
    /// users-towns:towns.csv, a file with a column for each type. Options follow, separated by commas: strength=0.5
    /// multiplies all weights of the relation, weights=uniform:0.02 are those of its missing entries, targets=,
    /// confidence= and regularization= are as for the data, least=5 leaves out what has fewer rows, and context=yes
    /// gives the second role factors of its own (needed for users-users). A .npy array, or a table with dense=yes,
    /// has a row of features for each of the first type: ids=FILE are its ids, scale=together|columns|none says how
    /// columns are centred and scaled. Can be given several times.
    #[cfg_attr(
        feature = "clap",
        arg(
            long,
            value_name = "RELATION",
            num_args = 1,
            help_heading = "Side information"
        )
    )]
    pub relation: Vec<RelationSpec>,
    /// Exposed entries.
    #[cfg_attr(feature = "clap", command(flatten))]
    pub exposed: ExposedEntries,
    /// What chooses the best model.
    #[cfg_attr(feature = "clap", command(flatten))]
    pub validation: ValidationSettings,
    /// Interaction files or globs, read as one data set: CSV, TSV or any separator, .dat, .rating,
    /// .inter, adjacency lists, JSON lines, parquet, arrow, MatrixMarket, scipy .npz; gzip,
    /// zstd, bzip2, xz and zip are decompressed, and `-` is standard input.
    #[cfg_attr(feature = "clap", arg(required = true, value_name = "DATA"))]
    pub data: Vec<String>,
    /// How files are read.
    #[cfg_attr(feature = "clap", command(flatten))]
    pub reading: Reading,
    /// Which rows are used.
    #[cfg_attr(feature = "clap", command(flatten))]
    pub preparation: Preparation,
    /// What trains: cpu, with the fastest instructions that the machine has or those of ABSENTIA_SIMD. It is
    /// the only device so far [default: cpu].
    #[cfg_attr(
        feature = "clap",
        arg(long, value_name = "DEVICE", help_heading = "Training")
    )]
    pub device: Option<Device>,
    /// Number of threads; what the machine or container allows when not given.
    #[cfg_attr(feature = "clap", arg(skip))]
    pub threads: Option<usize>,
}

impl Job {
    /// A job on the given data, with defaults for everything else.
    #[must_use]
    pub fn of_data(data: &[String], reading: &Reading, preparation: &Preparation) -> Self {
        let mut job = Self {
            data: data.to_vec(),
            reading: reading.clone(),
            preparation: preparation.clone(),
            ..Self::default()
        };
        job.reading.spell_out();
        job.preparation.spell_out();
        job
    }

    /// What trains the factors.
    #[must_use]
    pub fn method(&self) -> Method {
        self.settings.method(self.solver.unwrap_or_default())
    }

    /// The one weight scheme of the run.
    ///
    /// # Errors
    /// Several were given.
    pub fn weights(&self) -> Result<SchemeSpec, JobError> {
        match &self.weights[..] {
            [] => Ok(SchemeSpec::default_for(self.method())),
            [weights] => Ok(weights.clone()),
            several => Err(JobError::SeveralWeights {
                count: several.len(),
            }),
        }
    }

    /// What is chosen automatically on held-out rows: targets and weights too, if neither they nor the
    /// regularization were given; and what follows from times, if the post-scaling was not given either.
    #[must_use]
    pub fn automatic(&self) -> Automatic {
        let automatic = self.settings.automatic();
        let given = !self.weights.is_empty() || self.settings.targets.is_some();
        let recipe = automatic.regularization && !given;
        let has_half_life = self.settings.post_scale_half_life.is_some();
        Automatic {
            recipe,
            by_time: recipe && automatic.post_scale && !has_half_life,
            ..automatic
        }
    }

    /// The parameters of the run on data whose times have this unit.
    #[must_use]
    pub fn params(&self, unit: TimeUnit) -> Params {
        self.settings.params(self.method(), self.threads, unit)
    }

    /// Finds what is wrong with the values before anything is read.
    ///
    /// # Errors
    /// Parameters out of range, several weight schemes, a metric that is none, a weight for no pairs, relations
    /// that do not fit each other.
    pub fn check(&self) -> Result<(), JobError> {
        self.params(TimeUnit::default()).check()?;
        self.weights()?;
        metric_name(self.validation.metric()).map_err(|error| match error {
            JobError::Evaluate(error) => JobError::ValidMetric(error),
            error => error,
        })?;
        let types: Vec<_> = self.relation.iter().map(|one| one.types.clone()).collect();
        Arrangement::of(&types)?;
        if !self.relation.is_empty() && !self.method().minimises_objective() {
            let solver = self.method().name();
            return Err(RelationError::Method { solver }.into());
        }
        self.exposed.check()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_given_leaves_all_to_be_chosen() {
        let automatic = Job::default().automatic();
        assert!(automatic.regularization && automatic.post_scale && automatic.recipe);
        assert!(automatic.by_time);
        for text in ["post-scale = 0.1", "post-scale-half-life = '7d'"] {
            let given: Job = toml::from_str(text).expect("a job");
            assert!(given.automatic().recipe && !given.automatic().by_time);
        }
        let given: Job = toml::from_str("targets = 'binary'").expect("a job");
        assert!(given.automatic().regularization && !given.automatic().recipe);
    }
}
