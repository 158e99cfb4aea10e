//! Exposed entries.

use absentia::ParamsError;
use absentia_io::ColumnRef;

use crate::error::JobError;
use crate::keys::keys;
use crate::reading::Reading;
use crate::text::ConfidenceRule;

/// Exposed entries: pairs that were shown to the user and not taken.
#[derive(Clone, Debug, Default, PartialEq)]
#[cfg_attr(feature = "clap", derive(clap::Args))]
#[cfg_attr(
    feature = "clap",
    command(next_help_heading = "Weights on missing entries")
)]
pub struct ExposedEntries {
    /// File of pairs that were shown and not taken: they get target 0 and a weight of their own. Pairs
    /// that are held out or excluded are left out.
    #[cfg_attr(
        feature = "clap",
        arg(long = "exposed", value_name = "FILE", num_args = 1)
    )]
    pub files: Vec<String>,
    /// Weight of the exposed pairs; the file's weight column when not given, or else 1.
    #[cfg_attr(
        feature = "clap",
        arg(
            long = "exposed-weight",
            value_name = "W",
            allow_negative_numbers = true
        )
    )]
    pub weight: Option<f32>,
}

keys!(ExposedEntries {
    files as "exposed",
    weight as "exposed-weight",
});

impl ExposedEntries {
    /// Rejects a weight of exposed pairs that is none, or without pairs.
    pub(crate) fn check(&self) -> Result<(), JobError> {
        if self.weight.is_some() && self.files.is_empty() {
            return Err(JobError::ExposedWeightAlone);
        }
        if let Some(got) = self.weight.filter(|x| !(x.is_finite() && *x >= 0.0)) {
            let (name, range) = ("exposed_weight", "finite and at least 0");
            return Err(ParamsError::Real { name, got, range }.into());
        }
        Ok(())
    }

    /// Whether a column of weights is read but not used.
    pub(crate) fn has_unused_column(&self, reading: &Reading, confidence: ConfidenceRule) -> bool {
        let named = matches!(&reading.weight_col, Some(column) if *column != ColumnRef::Absent);
        named && !confidence.needs_column() && self.files.is_empty()
    }
}
