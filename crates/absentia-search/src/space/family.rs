//! Parts of a space that have simpler models, which richer ones must beat.

use super::{
    AGE, ALPHA, BETA, CONFIDENCE, HALF_LIFE, Range, Scope, Space, TARGET_EXPONENT, TARGETS, plain,
};

/// A part of a space: all points without some of the settings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Family {
    /// One weight for all missing entries: what is searched with [`Scope::Uniform`].
    Uniform,
    /// Nothing that needs times.
    Timeless,
}

impl Family {
    /// Settings that its points do not have.
    fn without(self) -> &'static [&'static str] {
        match self {
            Family::Uniform => &[
                ALPHA,
                BETA,
                TARGET_EXPONENT,
                TARGETS,
                CONFIDENCE,
                AGE,
                HALF_LIFE,
            ],
            Family::Timeless => &[AGE, HALF_LIFE],
        }
    }

    /// Whether item factors may be rescaled after training.
    pub(crate) fn rescales(self) -> bool {
        self != Family::Uniform
    }
}

impl Space {
    /// The families that are smaller than the space, the simplest first.
    pub(crate) fn families(&self) -> &'static [Family] {
        match self.scope {
            Scope::Uniform => &[],
            Scope::All if self.has(AGE) => &[Family::Uniform, Family::Timeless],
            Scope::All | Scope::Popularity => &[Family::Uniform],
        }
    }

    /// The point with every setting switched off that the family does not have.
    pub(crate) fn within(&self, family: Family, point: &[f64]) -> Vec<f64> {
        let pairs = self.dimensions.iter().zip(point);
        let place = |(dimension, &at): (&super::Dimension, &f64)| {
            let is_without = family.without().contains(&dimension.name.as_ref());
            // A setting that is off stays where it is on its axis, so that the point is the same point.
            if is_without && !is_plain(dimension, at) {
                plain(dimension)
            } else {
                at
            }
        };
        pairs.map(place).collect()
    }

    /// Whether a point is in a family.
    pub(crate) fn is_within(&self, family: Family, point: &[f64]) -> bool {
        let dimensions = self.dimensions.iter().zip(point);
        let mut others =
            dimensions.filter(|(found, _)| family.without().contains(&found.name.as_ref()));
        others.all(|(dimension, &at)| is_plain(dimension, at))
    }

    /// Whether a setting is searched.
    pub(super) fn has(&self, name: &str) -> bool {
        self.dimensions.iter().any(|found| found.name == name)
    }
}

/// Whether a setting is switched off, or is the first of its options.
fn is_plain(dimension: &super::Dimension, at: f64) -> bool {
    match &dimension.range {
        Range::Switch { share, .. } | Range::LogSwitch { share, .. } => at < *share,
        Range::Choice { .. } => dimension.value(at) == 0.0,
        Range::Linear { .. } | Range::Log { .. } => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{blocks, timed_blocks};
    use absentia::data::{Confidence, Targets};

    #[test]
    fn a_family_has_the_points_of_the_space_without_its_settings() {
        let space = Space::of(&timed_blocks(), Scope::All);
        assert_eq!(space.families(), [Family::Uniform, Family::Timeless]);
        let rich = vec![0.95; space.dimensions().len()];
        assert!(space.settings(&rich).weights.needs_times());
        assert!(space.settings(&rich).params.post_scale_half_life.is_some());
        for family in [Family::Uniform, Family::Timeless] {
            assert!(!space.is_within(family, &rich));
            let simple = space.within(family, &rich);
            assert!(space.is_within(family, &simple));
            assert_eq!(space.within(family, &simple), simple);
            let settings = space.settings(&simple);
            assert!(!settings.weights.needs_times());
            assert_eq!(settings.params.post_scale_half_life, None);
        }
        let uniform = space.settings(&space.within(Family::Uniform, &rich));
        assert!(uniform.weights.to_string().starts_with("uniform:"));
        assert_eq!(uniform.params.targets, Targets::Binary);
        assert_eq!(uniform.params.confidence, Confidence::default());
        let timeless = space.settings(&space.within(Family::Timeless, &rich));
        assert!(
            timeless
                .weights
                .to_string()
                .starts_with("popularity*activity:")
        );
    }

    #[test]
    fn there_is_nothing_simpler_than_uniform_weights() {
        assert!(
            Space::of(&timed_blocks(), Scope::Uniform)
                .families()
                .is_empty()
        );
        let without_times = Space::of(&blocks(), Scope::All);
        assert_eq!(without_times.families(), [Family::Uniform]);
    }
}
