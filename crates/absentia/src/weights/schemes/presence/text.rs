//! The options of factors by time: `slices=20,sharpness=0.1,withdrawn=0.1,released=dates.csv`.

use std::path::PathBuf;

use super::{Presence, TimeFactor};
use crate::weights::text::{SchemeOptions, SpecError};

/// Names of the options.
pub(in crate::weights::schemes) const OPTIONS: [&str; 4] =
    ["slices", "sharpness", "withdrawn", "released"];

impl Presence<PathBuf> {
    /// Reads the options; those that are not given have their defaults.
    pub(in crate::weights::schemes) fn read(
        factor: TimeFactor,
        options: &mut SchemeOptions<'_>,
    ) -> Result<Self, SpecError> {
        let mut presence = Self::new(factor);
        if let Some(text) = options.named("slices") {
            let accepted = "a number from 1 to 1000, or day, week, month, quarter or year";
            let slices = text.parse();
            presence.slices = slices.map_err(|()| options.bad_value("slices", text, accepted))?;
        }
        if let Some(text) = options.named("sharpness") {
            presence.sharpness = options.value_at_least_zero("sharpness", text)?;
        }
        if let Some(text) = options.named("withdrawn") {
            presence.withdrawn = options.value_at_least_zero("withdrawn", text)?;
        }
        presence.released = options.named("released").map(PathBuf::from);
        Ok(presence)
    }
}

impl std::fmt::Display for Presence<PathBuf> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "slices={},sharpness={}", self.slices, self.sharpness)?;
        if self.withdrawn != 0.0 {
            write!(f, ",withdrawn={}", self.withdrawn)?;
        }
        match &self.released {
            Some(path) => write!(f, ",released={}", path.display()),
            None => Ok(()),
        }
    }
}
