//! Figures beside their targets.

use std::fmt;

/// All figures of a run.
#[derive(Debug, Default)]
pub(super) struct Findings(Vec<Finding>);

#[derive(Debug)]
struct Finding {
    what: &'static str,
    figure: String,
    target: &'static str,
    is_met: bool,
}

impl Findings {
    /// Adds a figure, its target in words and whether it is met.
    pub(super) fn add(
        &mut self,
        what: &'static str,
        figure: String,
        target: &'static str,
        is_met: bool,
    ) {
        self.0.push(Finding {
            what,
            figure,
            target,
            is_met,
        });
    }
}

impl fmt::Display for Findings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for finding in &self.0 {
            let Finding {
                what,
                figure,
                target,
                is_met,
            } = finding;
            let met = if *is_met { "met" } else { "NOT MET" };
            writeln!(f, "{what:<52} {figure:>34}   {target:<24} {met}")?;
        }
        Ok(())
    }
}
