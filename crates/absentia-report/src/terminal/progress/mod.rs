//! Progress of long work, on stderr, in one house style.
//!
//! On a terminal there is a live bar; elsewhere a plain line every few seconds once the work has taken a while;
//! with `--quiet` or `--json` nothing. The words are the same in all cases.

mod bar;
mod facts;
mod training;

use std::io::Write;
use std::sync::{Arc, Mutex};

use console::Term;

pub use bar::Bar;
use bar::Output;
use facts::Kind;
pub use training::TrainingBar;

/// Where plain progress lines go.
type Sink = Arc<Mutex<dyn Write + Send>>;

/// Decides once per run how progress is shown, and makes the bars.
///
/// ```
/// use absentia_report::terminal::Progress;
///
/// let progress = Progress::stderr(true);
/// let bar = progress.count("scoring", 29_858, "users");
/// bar.advance(512);
/// bar.finish();
/// ```
#[derive(Clone)]
pub struct Progress(Mode);

#[derive(Clone)]
enum Mode {
    Live,
    Lines(Sink),
    Hidden,
}

impl Progress {
    /// Bars on a terminal, lines elsewhere, nothing when `silent` (`--quiet`, `--json`).
    #[must_use]
    pub fn stderr(silent: bool) -> Self {
        if silent {
            Self(Mode::Hidden)
        } else if Term::stderr().features().is_attended() {
            Self(Mode::Live)
        } else {
            Self::lines(std::io::stderr())
        }
    }

    /// Plain lines into `sink`, for logs and tests.
    pub fn lines(sink: impl Write + Send + 'static) -> Self {
        Self(Mode::Lines(Arc::new(Mutex::new(sink))))
    }

    /// A bar over the bytes of a file, with rows per second; without a total for streams of unknown length.
    pub fn bytes(&self, label: impl Into<String>, total: Option<u64>) -> Bar {
        self.bar(Kind::Bytes, label.into(), total)
    }

    /// A bar over countable work such as users to score.
    pub fn count(&self, label: impl Into<String>, total: u64, unit: &'static str) -> Bar {
        self.bar(Kind::Count { unit }, label.into(), Some(total))
    }

    /// A bar over the sweeps of a training run.
    pub fn training(&self, label: impl Into<String>, sweeps: u64) -> TrainingBar {
        TrainingBar::new(self.bar(Kind::Training, label.into(), Some(sweeps)))
    }

    fn bar(&self, kind: Kind, label: String, total: Option<u64>) -> Bar {
        Bar::new(kind, label, total, |state| match &self.0 {
            Mode::Live => Output::live(state),
            Mode::Lines(sink) => Output::lines(Arc::clone(sink)),
            Mode::Hidden => Output::Hidden,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A sink that can still be read after the bars have it.
    #[derive(Clone, Default)]
    struct Log(Arc<Mutex<Vec<u8>>>);

    impl Write for Log {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0.lock().unwrap().write(bytes)
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    impl Log {
        fn text(&self) -> String {
            String::from_utf8(self.0.lock().unwrap().clone()).unwrap()
        }
    }

    #[test]
    fn short_work_leaves_only_what_it_said() {
        let log = Log::default();
        let bar = Progress::lines(log.clone()).bytes("reading a.csv", Some(100));
        for _ in 0..100 {
            bar.advance(1);
            bar.rows(2);
        }
        bar.say("one bad row");
        bar.finish();
        assert_eq!(log.text(), "one bad row\n");
    }

    #[test]
    fn hidden_bars_do_nothing_and_may_be_shared() {
        let training = Progress::stderr(true).training("training", 3);
        let bar = Progress::stderr(true).count("scoring", 8, "users");
        std::thread::scope(|scope| {
            for sweep in 0..4 {
                scope.spawn(|| bar.advance(2));
                training.sweep(sweep, 1.0, None);
            }
        });
        training.finish();
        bar.finish();
    }
}
