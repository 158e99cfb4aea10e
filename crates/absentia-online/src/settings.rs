//! Settings of which some are given.

use absentia::online::Settings;

/// How events are to be learned, where that is given.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct LearningSettings {
    /// Passes over the factors of the user and the item for each event.
    pub steps: Option<u32>,
    /// What the weight of an entry is multiplied by if an event made it, until the next refit.
    pub weight_of_new: Option<f32>,
}

impl LearningSettings {
    /// The settings that are given, and the others as they are at present.
    #[must_use]
    pub fn or(self, present: Settings) -> Settings {
        Settings {
            steps: self.steps.unwrap_or(present.steps),
            weight_of_new: self.weight_of_new.unwrap_or(present.weight_of_new),
        }
    }
}
