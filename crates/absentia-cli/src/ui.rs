//! Output for a person or for a program.

use std::io::{self, Write};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use absentia_io::{Column as Role, ColumnNames};
use absentia_job::Ledger;
use absentia_report::format;
use absentia_report::terminal::{Bar, Progress, Screen, Table};
use serde::Serialize;

/// Memory below which nothing is said of it.
const LARGE: u64 = 64 << 20;

/// The columns that were read, of each file.
type ColumnsOfFiles = Vec<Vec<(Role, String)>>;

/// Where output goes, and in which form.
pub(crate) struct Ui {
    json: bool,
    quiet: bool,
    /// Whether standard output has a result that was asked for by `-`, and nothing else may be printed there.
    is_output_taken: bool,
    /// The columns that were read, of each file.
    columns: Arc<Mutex<ColumnsOfFiles>>,
    screen: Screen,
    progress: Progress,
    /// The bar of settings being chosen.
    choosing: Mutex<Option<Bar>>,
    /// What the command takes.
    memory: Ledger,
}

impl Ui {
    /// Output of a command that may take `limit` bytes of memory.
    pub(crate) fn new(json: bool, quiet: bool, limit: Option<u64>) -> Self {
        Self {
            memory: Ledger::new(limit),
            json,
            quiet,
            is_output_taken: false,
            columns: Arc::default(),
            screen: Screen::stdout(),
            progress: Progress::stderr(json || quiet),
            choosing: Mutex::new(None),
        }
    }

    /// Leaves standard output to a result that goes there, if one does.
    pub(crate) fn leave_output(mut self, is_taken: bool) -> Self {
        self.is_output_taken = is_taken;
        self
    }

    /// The columns that were read of the file that was opened first: roles and headings or places.
    pub(crate) fn columns_read(&self) -> Vec<(Role, String)> {
        let columns = self.columns.lock().unwrap_or_else(PoisonError::into_inner);
        columns.first().cloned().unwrap_or_default()
    }

    /// Whether output is one JSON object a line.
    pub(crate) fn is_json(&self) -> bool {
        self.json
    }

    /// The memory of the command.
    pub(crate) fn memory(&self) -> &Ledger {
        &self.memory
    }

    /// Says what the command took, where that was much.
    pub(crate) fn report_memory(&self) {
        let (estimated, measured) = (self.memory.largest().total(), self.memory.measured());
        if let Some(measured) = measured.filter(|&measured| measured.max(estimated) >= LARGE) {
            self.note(format!(
                "took {} of memory at its peak, estimated: {}",
                format::bytes(measured),
                format::bytes(estimated)
            ));
        }
    }

    /// Whether progress may be shown.
    fn shows_progress(&self) -> bool {
        !self.json && !self.quiet
    }

    /// Makes the bars of long work.
    pub(crate) fn progress(&self) -> &Progress {
        &self.progress
    }

    /// The bar of settings being chosen.
    pub(crate) fn choosing(&self) -> MutexGuard<'_, Option<Bar>> {
        self.choosing.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A bar over the files being read.
    pub(crate) fn reading_bar(&self) -> ReadingBar {
        ReadingBar {
            progress: self.progress.clone(),
            bar: OnceLock::new(),
            columns: Arc::clone(&self.columns),
        }
    }

    /// The screen that results are shown on.
    pub(crate) fn screen(&self) -> &Screen {
        &self.screen
    }

    /// Prints a result for a person; JSON output leaves it out.
    pub(crate) fn say(&self, text: impl AsRef<str>) -> io::Result<()> {
        if self.json || self.is_output_taken {
            return Ok(());
        }
        print(text.as_ref())
    }

    /// Prints a table for a person.
    pub(crate) fn table(&self, table: &Table) -> io::Result<()> {
        self.say(table.render(&self.screen))
    }

    /// Prints one JSON object on a line of its own, if JSON was requested.
    pub(crate) fn json(&self, value: &impl Serialize) -> io::Result<()> {
        if !self.json || self.is_output_taken {
            return Ok(());
        }
        print(&serde_json::to_string(value).map_err(io::Error::other)?)
    }

    /// Prints a remark that may be useful.
    pub(crate) fn note(&self, text: impl AsRef<str>) {
        if self.shows_progress() {
            let _ = writeln!(io::stderr(), "{}", text.as_ref().trim_end());
        }
    }

    /// Warns of a possible mistake.
    pub(crate) fn warn(&self, text: impl AsRef<str>) {
        if !self.quiet {
            let _ = writeln!(io::stderr(), "warning: {}", text.as_ref());
        }
    }

    /// Prints why the command failed.
    pub(crate) fn error(message: &str, hint: Option<&str>, json: bool) {
        let mut stderr = io::stderr().lock();
        if json {
            let object = serde_json::json!({"error": message, "hint": hint});
            let _ = writeln!(stderr, "{object}");
            return;
        }
        let _ = writeln!(stderr, "error: {message}");
        if let Some(hint) = hint {
            let _ = writeln!(stderr, "hint: {hint}");
        }
    }
}

/// The bar of files being read.
pub(crate) struct ReadingBar {
    progress: Progress,
    bar: OnceLock<Bar>,
    columns: Arc<Mutex<ColumnsOfFiles>>,
}

impl absentia_io::Progress for ReadingBar {
    fn start(&self, total_bytes: Option<u64>) {
        self.bar
            .get_or_init(|| self.progress.bytes("reading", total_bytes));
    }

    fn advance(&self, bytes: u64, rows: u64) {
        if let Some(bar) = self.bar.get() {
            bar.rows(rows);
            bar.advance(bytes);
        }
    }

    fn columns(&self, found: &ColumnNames) {
        let mut columns = self.columns.lock().unwrap_or_else(PoisonError::into_inner);
        columns.push(found.to_vec());
    }

    fn finish(&self) {
        if let Some(bar) = self.bar.get() {
            bar.finish();
        }
    }
}

/// Writes text to standard output, ended by exactly one newline.
fn print(text: &str) -> io::Result<()> {
    let mut stdout = io::stdout().lock();
    writeln!(stdout, "{}", text.strip_suffix('\n').unwrap_or(text))?;
    stdout.flush()
}
