//! What happens to a job, put into words.

use absentia_io::Progress;
use absentia_job::{Choice, Event, Ledger, Level, Listener};
use absentia_report::format::{self, counted};
use absentia_report::terminal::Bar;
use absentia_search::Automatic;

use crate::args::flag;
use crate::ui::Ui;

impl Listener for Ui {
    fn memory(&self) -> Option<&Ledger> {
        Some(self.memory())
    }

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
            event => match event.message(&flag) {
                Some((Level::Warning, text)) => self.warn(text),
                Some((Level::Note, text)) => self.note(text),
                None => {}
            },
        }
    }
}

/// Which settings were chosen, and how.
fn chosen(choice: &Choice<'_>, elapsed: std::time::Duration) -> Option<String> {
    let chosen = choice.chosen;
    if let Some(score) = chosen.score {
        let rest = if chosen.states_exposure && choice.automatic.post_scale {
            "; --post-scale is not chosen, because it could undo --weights"
        } else {
            ""
        };
        return Some(format!(
            "{} did best on rows held out: recall@20 {score:.4}, {} in {}{rest}",
            flags(choice, choice.automatic),
            counted(chosen.tried as u64, "model"),
            format::duration(elapsed)
        ));
    }
    let regularization = Automatic {
        regularization: true,
        ..Automatic::default()
    };
    let flags = flags(choice, regularization);
    choice
        .changed
        .then(|| format!("{flags}, by a rule of thumb"))
}

/// Chosen settings as flags.
fn flags(choice: &Choice<'_>, automatic: Automatic) -> String {
    let chosen = choice.chosen;
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
        (automatic.post_scale && !chosen.states_exposure)
            .then(|| format!("--post-scale {}", params.post_scale)),
        choice
            .half_life
            .filter(|_| automatic.by_time)
            .map(|half_life| format!("--post-scale-half-life {half_life}")),
    ];
    let flags: Vec<String> = flags.into_iter().flatten().collect();
    flags.join(" and ")
}
