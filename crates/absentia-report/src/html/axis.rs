//! What an axis shows and how it is spread.

use crate::scale::{Scale, Spacing};

/// The label and spacing of one axis.
#[derive(Clone, Debug)]
pub struct ChartAxis {
    label: String,
    spacing: Spacing,
}

impl ChartAxis {
    /// Equal differences take equal room.
    pub fn linear(label: impl Into<String>) -> Self {
        Self::new(label.into(), Spacing::Linear)
    }

    /// As [`linear`](Self::linear), with ticks on whole numbers only: sweeps, cut-offs.
    pub fn whole(label: impl Into<String>) -> Self {
        Self::new(label.into(), Spacing::Whole)
    }

    /// Equal ratios take equal room; values that are not positive are left out.
    pub fn log(label: impl Into<String>) -> Self {
        Self::new(label.into(), Spacing::Log)
    }

    fn new(label: String, spacing: Spacing) -> Self {
        Self { label, spacing }
    }

    pub(super) fn label(&self) -> &str {
        &self.label
    }

    pub(super) fn can_draw(&self, v: f64) -> bool {
        self.spacing.can_draw(v)
    }

    pub(super) fn fit(&self, values: impl IntoIterator<Item = f64>) -> Option<Scale> {
        Scale::fit(self.spacing, values)
    }
}
