//! The bar of a training run, with the objective and the validation metric.

use std::sync::Mutex;

use super::bar::Bar;
use crate::format;
use crate::terminal::sparkline;

/// Number of sweeps in the small curve next to the bar.
const CURVE: usize = 12;

/// A bar over sweeps with a live objective and validation metric.
pub struct TrainingBar {
    bar: Bar,
    seen: Mutex<Seen>,
}

#[derive(Default)]
struct Seen {
    objectives: Vec<f64>,
    validation: Option<(String, f64)>,
}

impl TrainingBar {
    pub(super) fn new(bar: Bar) -> Self {
        Self {
            bar,
            seen: Mutex::default(),
        }
    }

    /// Reports the end of a sweep; the metric is the validation metric's name and value, where there is one.
    pub fn sweep(&self, sweep: u64, objective: f64, metric: Option<(&str, f64)>) {
        if let Ok(mut seen) = self.seen.lock() {
            seen.objectives.push(objective);
            // Validation may run every few sweeps: the last value stays in view.
            if let Some((name, value)) = metric {
                seen.validation = Some((name.to_owned(), value));
            }
            self.bar.note(seen.words());
        }
        self.bar.set(sweep);
    }

    /// Writes a line above the bar.
    pub fn say(&self, text: &str) {
        self.bar.say(text);
    }

    /// Removes the bar.
    pub fn finish(&self) {
        self.bar.finish();
    }
}

impl Seen {
    fn words(&self) -> String {
        let recent = &self.objectives[self.objectives.len().saturating_sub(CURVE)..];
        let now = recent.last().copied().unwrap_or(f64::NAN);
        let mut words = format!("objective {}", format::significant(now, 6));
        if recent.len() > 1 {
            words = format!("{words} {}", sparkline(recent));
        }
        if let Some((name, value)) = &self.validation {
            words = format!("{words} · {name} {}", format::metric(*value));
        }
        words
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_keep_the_last_validation() {
        let mut seen = Seen {
            objectives: vec![9.0, 5.0, 4.5],
            validation: Some(("ndcg@10".to_owned(), 0.18344)),
        };
        assert_eq!(seen.words(), "objective 4.5 █▂▁ · ndcg@10 0.1834");
        seen.objectives.truncate(1);
        seen.validation = None;
        assert_eq!(seen.words(), "objective 9");
    }
}
