//! What happens to a job, put into words.

use absentia_io::Progress;
use absentia_job::{Choice, Event, Listener};
use absentia_report::format::{self, counted};
use absentia_report::terminal::Bar;
use absentia_search::{Automatic, ChosenSettings};

use crate::ui::Ui;

impl Listener for Ui {
    fn reading(&self) -> Box<dyn Progress + '_> {
        Box::new(self.reading_bar())
    }

    fn event(&self, event: &Event<'_>) {
        match event {
            Event::Choosing { most_models } => {
                let bar = self
                    .progress()
                    .count("choosing settings", *most_models as u64, "models");
                *self.choosing() = Some(bar);
            }
            Event::ModelTried => {
                if let Some(bar) = &*self.choosing() {
                    bar.advance(1);
                }
            }
            Event::Chosen(choice) => {
                let bar = self.choosing().take();
                let elapsed = bar.as_ref().map(Bar::elapsed).unwrap_or_default();
                if let Some(bar) = bar {
                    bar.finish();
                }
                if let Some(text) = choice.as_ref().and_then(|choice| chosen(choice, elapsed)) {
                    self.note(text);
                }
            }
            Event::BadRows(_)
            | Event::UnknownRows { .. }
            | Event::RatedZeroOrLess { .. }
            | Event::Overlap { .. }
            | Event::TargetsWithoutRatings(_)
            | Event::ConfidenceWithoutRatings(_) => self.warn_of(event),
            event => self.note_of(event),
        }
    }
}

impl Ui {
    /// Shows an event that may be a mistake.
    fn warn_of(&self, event: &Event<'_>) {
        match event {
            Event::BadRows(bad) => {
                self.warn(format!(
                    "left out {}, among them:",
                    counted(bad.count(), "bad row")
                ));
                for row in bad.examples() {
                    self.warn(format!("  {row}"));
                }
            }
            Event::UnknownRows {
                files,
                left_out,
                rows,
            } => self.warn(format!(
                "{}: left out {left_out} of {rows} rows whose user or item the model does not know",
                files.join(", ")
            )),
            Event::RatedZeroOrLess { rows, of } => self.warn(format!(
                "{rows} of {} are rated 0 or less and count as interactions like the others; \
                 --min-rating leaves them out, --targets raw tells them apart",
                counted(*of as u64, "row")
            )),
            Event::Overlap { rows, of } => self.warn(format!(
                "{rows} of {} are held out as well, and are not trained on",
                counted(*of as u64, "row")
            )),
            Event::TargetsWithoutRatings(targets) => {
                self.warn_of_no_ratings(&format!("--targets {targets}"));
            }
            Event::ConfidenceWithoutRatings(rule) => {
                self.warn_of_no_ratings(&format!("--confidence {rule}"));
            }
            _ => {}
        }
    }

    fn warn_of_no_ratings(&self, rule: &str) {
        self.warn(format!(
            "{rule} depends on ratings, and the data has none, so that all values are 1; name their \
             column with --rating-col"
        ));
    }

    /// Shows an event that is good to know.
    fn note_of(&self, event: &Event<'_>) {
        match event {
            Event::Prepared { step, report } => self.note(format!(
                "{}: kept {} of {} rows",
                step.name(),
                report.after,
                report.before
            )),
            Event::Times { unit, latest } => self.note(format!(
                "times are read as {}, the latest {latest} (--time-unit chooses another unit)",
                unit.name()
            )),
            Event::HeldOutWithoutTimes(_) => {
                self.note("the data has no times: rows are held out at random");
            }
            Event::HeldOut { rows } => {
                self.note(format!("held out {}", counted(*rows as u64, "row")));
            }
            Event::Exposed { pairs, dropped } => {
                self.note(format!("{pairs} pairs were shown and not taken"));
                if *dropped > 0 {
                    self.note(format!(
                        "{} of --exposed left out: held out or excluded, so not passed over",
                        counted(*dropped as u64, "pair")
                    ));
                }
            }
            Event::Ready {
                interactions,
                users,
                items,
            } => self.note(format!(
                "{} of {} with {}",
                counted(*interactions as u64, "interaction"),
                counted(*users as u64, "user"),
                counted(*items as u64, "item")
            )),
            _ => {}
        }
    }
}

/// Which settings were chosen, and how.
fn chosen(choice: &Choice<'_>, elapsed: std::time::Duration) -> Option<String> {
    let chosen = choice.chosen;
    if let Some(score) = chosen.score {
        return Some(format!(
            "{} did best on rows held out: recall@20 {score:.4}, {} in {}",
            flags(chosen, choice.automatic),
            counted(chosen.tried as u64, "model"),
            format::duration(elapsed)
        ));
    }
    let regularization = Automatic {
        regularization: true,
        ..Automatic::default()
    };
    let flags = flags(chosen, regularization);
    choice
        .changed
        .then(|| format!("{flags}, by a rule of thumb"))
}

/// Chosen settings as flags.
fn flags(chosen: &ChosenSettings, automatic: Automatic) -> String {
    let (params, weights) = (&chosen.params, chosen.weights());
    let weights = weights.filter(|_| automatic.recipe);
    let flags = [
        weights.map(|weights| format!("--weights {weights}")),
        automatic
            .recipe
            .then(|| format!("--targets {}", params.targets)),
        automatic
            .regularization
            .then(|| format!("--regularization {}", params.regularization)),
        automatic
            .post_scale
            .then(|| format!("--post-scale {}", params.post_scale)),
    ];
    let flags: Vec<String> = flags.into_iter().flatten().collect();
    flags.join(" and ")
}
