//! One bar, drawn live, written as lines, or not at all.

use std::fmt::Write as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use console::Term;
use indicatif::{ProgressBar, ProgressState, ProgressStyle};

use super::Sink;
use super::facts::{Kind, State};

/// Work shorter than this leaves no line in a log.
const FIRST_LINE: Duration = Duration::from_secs(2);
/// Time between two lines in a log.
const LINE_EVERY: Duration = Duration::from_secs(5);
const REDRAW: Duration = Duration::from_millis(120);

pub(super) enum Output {
    Live(ProgressBar),
    Lines { sink: Sink, next_ms: AtomicU64 },
    Hidden,
}

impl Output {
    pub(super) fn live(state: &Arc<State>) -> Self {
        let bar = match state.total {
            Some(total) => ProgressBar::new(total),
            None => ProgressBar::no_length(),
        };
        bar.set_style(style(state));
        bar.set_prefix(state.label.clone());
        bar.enable_steady_tick(REDRAW);
        Self::Live(bar)
    }

    pub(super) fn lines(sink: Sink) -> Self {
        Self::Lines {
            sink,
            next_ms: AtomicU64::new(FIRST_LINE.as_millis() as u64),
        }
    }
}

/// Progress of one piece of work; it may be shared between threads by reference.
pub struct Bar {
    state: Arc<State>,
    output: Output,
}

impl Bar {
    pub(super) fn new(
        kind: Kind,
        label: String,
        total: Option<u64>,
        output: impl FnOnce(&Arc<State>) -> Output,
    ) -> Self {
        let state = Arc::new(State::new(kind, label, total));
        let output = output(&state);
        Self { state, output }
    }

    /// Counts `n` more units as done.
    pub fn advance(&self, n: u64) {
        let done = self.state.done.fetch_add(n, Ordering::Relaxed) + n;
        self.show(done);
    }

    /// States how many units are done in all.
    pub fn set(&self, done: u64) {
        self.state.done.store(done, Ordering::Relaxed);
        self.show(done);
    }

    /// Counts `n` more rows, for the rows per second of a bar over bytes.
    pub fn rows(&self, n: u64) {
        self.state.rows.fetch_add(n, Ordering::Relaxed);
    }

    /// Replaces the remark next to the numbers.
    pub fn note(&self, text: impl Into<String>) {
        if let Ok(mut note) = self.state.note.lock() {
            *note = text.into();
        }
    }

    /// Writes a line above the bar, such as a warning.
    pub fn say(&self, text: &str) {
        match &self.output {
            Output::Live(bar) => bar.println(text),
            Output::Lines { sink, .. } => write_line(sink, text),
            Output::Hidden => {}
        }
    }

    /// Removes the bar.
    pub fn finish(&self) {
        if let Output::Live(bar) = &self.output {
            bar.finish_and_clear();
        }
    }

    /// Time since the bar was made.
    #[must_use]
    pub fn elapsed(&self) -> Duration {
        self.state.started.elapsed()
    }

    fn show(&self, done: u64) {
        match &self.output {
            Output::Live(bar) => bar.set_position(done),
            Output::Lines { sink, next_ms } => {
                if is_due(next_ms, self.elapsed()) {
                    let facts = self.state.facts();
                    write_line(sink, &format!("{}: {facts}", self.state.label));
                }
            }
            Output::Hidden => {}
        }
    }
}

/// Whether it is time for a line; if several threads ask at once, only one gets `true`.
fn is_due(next_ms: &AtomicU64, elapsed: Duration) -> bool {
    let (now, next) = (elapsed.as_millis() as u64, next_ms.load(Ordering::Relaxed));
    let after = now + LINE_EVERY.as_millis() as u64;
    now >= next
        && next_ms
            .compare_exchange(next, after, Ordering::Relaxed, Ordering::Relaxed)
            .is_ok()
}

/// Failing to write progress must not stop the work.
fn write_line(sink: &Sink, text: &str) {
    if let Ok(mut sink) = sink.lock() {
        let _ = writeln!(sink, "{text}");
    }
}

fn style(state: &Arc<State>) -> ProgressStyle {
    let template = template(state.total.is_some(), Term::stderr().size().1);
    let shared = Arc::clone(state);
    ProgressStyle::with_template(&template)
        .unwrap_or_else(|_| ProgressStyle::default_bar())
        .progress_chars("━╸─")
        .tick_chars("⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏ ")
        .with_key(
            "facts",
            move |_: &ProgressState, out: &mut dyn std::fmt::Write| {
                let _ = out.write_str(&shared.facts());
            },
        )
}

/// The bar gives way to the numbers where the screen is narrow.
fn template(has_end: bool, columns: u16) -> String {
    let mut text = "{spinner:.cyan} {prefix:.bold} ".to_owned();
    let width = match columns {
        _ if !has_end => 0,
        0..70 => 0,
        70..100 => 14,
        _ => 28,
    };
    if width > 0 {
        let _ = write!(text, "{{bar:{width}.cyan/black.bright}} ");
    }
    text + "{facts}"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_come_late_and_seldom() {
        let next = AtomicU64::new(2000);
        let at = Duration::from_millis;
        assert!(!is_due(&next, at(1999)));
        assert!(is_due(&next, at(2000)));
        assert!(!is_due(&next, at(6999)));
        assert!(is_due(&next, at(7000)));
    }

    #[test]
    fn every_template_is_valid() {
        for columns in [40, 80, 200] {
            for has_end in [false, true] {
                assert!(ProgressStyle::with_template(&template(has_end, columns)).is_ok());
            }
        }
        assert!(!template(true, 60).contains("{bar"));
    }
}
