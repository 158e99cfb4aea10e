//! The text next to a bar.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use crate::format;

const DOT: &str = " · ";
/// Rates and remaining times of the first moments would be guesses.
const WARM_UP: Duration = Duration::from_millis(300);

/// What a bar counts.
#[derive(Clone, Copy, Debug)]
pub(super) enum Kind {
    Bytes,
    Count { unit: &'static str },
    Training,
}

/// All that is known about a piece of work while it runs; threads update it together.
pub(super) struct State {
    pub(super) kind: Kind,
    pub(super) label: String,
    pub(super) total: Option<u64>,
    pub(super) done: AtomicU64,
    pub(super) rows: AtomicU64,
    pub(super) note: Mutex<String>,
    pub(super) started: Instant,
}

impl State {
    pub(super) fn new(kind: Kind, label: String, total: Option<u64>) -> Self {
        Self {
            kind,
            label,
            total,
            done: AtomicU64::new(0),
            rows: AtomicU64::new(0),
            note: Mutex::default(),
            started: Instant::now(),
        }
    }

    /// The words at this moment.
    pub(super) fn facts(&self) -> String {
        self.facts_after(self.started.elapsed())
    }

    fn facts_after(&self, elapsed: Duration) -> String {
        let done = self.done.load(Ordering::Relaxed);
        let mut facts = vec![self.amount(done)];
        if elapsed >= WARM_UP && done > 0 {
            facts.extend(self.rates(done, elapsed));
        }
        facts.extend(self.note());
        facts.extend(self.remaining(done, elapsed));
        facts.join(DOT)
    }

    fn amount(&self, done: u64) -> String {
        let write = |n: u64| match self.kind {
            Kind::Bytes => format::bytes(n),
            Kind::Count { .. } | Kind::Training => format::count(n),
        };
        let amount = match self.total {
            Some(total) => format!("{}/{}", write(done), write(total)),
            None => write(done),
        };
        match self.kind {
            Kind::Bytes => amount,
            Kind::Count { unit } => format!("{amount} {unit}"),
            Kind::Training => format!("sweep {amount}"),
        }
    }

    fn rates(&self, done: u64, elapsed: Duration) -> Vec<String> {
        let per_second = done as f64 / elapsed.as_secs_f64();
        let rows = self.rows.load(Ordering::Relaxed);
        match self.kind {
            Kind::Bytes if rows > 0 => vec![
                format!("{}/s", format::bytes(per_second as u64)),
                format::rate(rows, elapsed, "rows"),
            ],
            Kind::Bytes => vec![format!("{}/s", format::bytes(per_second as u64))],
            Kind::Count { unit } => vec![format::rate(done, elapsed, unit)],
            Kind::Training => Vec::new(),
        }
    }

    fn note(&self) -> Option<String> {
        let note = self.note.lock().ok()?;
        (!note.is_empty()).then(|| note.clone())
    }

    fn remaining(&self, done: u64, elapsed: Duration) -> Option<String> {
        let left = self.total?.saturating_sub(done);
        if done == 0 || left == 0 || elapsed < WARM_UP {
            return None;
        }
        let seconds = elapsed.as_secs_f64() / done as f64 * left as f64;
        let rounded = Duration::from_secs(seconds.ceil() as u64);
        Some(format!("{} left", eta(rounded)))
    }
}

/// Whole seconds: a remaining time is an estimate and must not flicker.
fn eta(span: Duration) -> String {
    if span.as_secs() < 60 {
        format!("{}s", span.as_secs())
    } else {
        format::duration(span)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn state(kind: Kind, total: Option<u64>, done: u64) -> State {
        let state = State::new(kind, "work".to_owned(), total);
        state.done.store(done, Ordering::Relaxed);
        state
    }

    #[test]
    fn bytes_come_with_both_rates_and_the_time_left() {
        let state = state(Kind::Bytes, Some(4 << 30), 1 << 30);
        state.rows.store(20_000_000, Ordering::Relaxed);
        assert_eq!(
            state.facts_after(Duration::from_secs(10)),
            "1.00 GiB/4.00 GiB · 102.4 MiB/s · 2 M rows/s · 30s left"
        );
    }

    #[test]
    fn a_stream_has_no_end() {
        let state = state(Kind::Bytes, None, 3 << 20);
        assert_eq!(
            state.facts_after(Duration::from_secs(1)),
            "3.0 MiB · 3.0 MiB/s"
        );
    }

    #[test]
    fn counts_name_their_unit() {
        let state = state(Kind::Count { unit: "users" }, Some(30_000), 1200);
        assert_eq!(
            state.facts_after(Duration::from_secs(1)),
            "1,200/30,000 users · 1.2 k users/s · 24s left"
        );
    }

    #[test]
    fn nothing_is_guessed_at_the_start() {
        let state = state(Kind::Count { unit: "users" }, Some(10), 1);
        assert_eq!(state.facts_after(Duration::from_millis(5)), "1/10 users");
    }
}
