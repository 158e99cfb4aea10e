//! Reading files, of which bad and unknown rows are reported.

use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use absentia_io::{
    ColumnNames, Dataset, FirstLine, IdMap, Progress, ReadOptions, Unknown, expand,
    expected_reading, read, read_with_ids,
};

use crate::error::JobError;
use crate::listener::{Event, Listener};
use crate::reading::Reading;

/// Reads files as they are.
///
/// # Errors
/// Files that cannot be read.
pub fn read_files(
    files: &[String],
    reading: &Reading,
    listener: &dyn Listener,
) -> Result<Dataset, JobError> {
    read_paths(&expand(files)?, reading, listener)
}

/// Reads files of which the names are known.
///
/// # Errors
/// Files that cannot be read.
pub(crate) fn read_paths(
    paths: &[PathBuf],
    reading: &Reading,
    listener: &dyn Listener,
) -> Result<Dataset, JobError> {
    Ok(read_first_lines(paths, reading, listener)?.0)
}

/// Reads files. Also returns each first line whose appearance alone decided whether it is a header.
///
/// # Errors
/// Files that cannot be read.
pub(crate) fn read_first_lines(
    paths: &[PathBuf],
    reading: &Reading,
    listener: &dyn Listener,
) -> Result<(Dataset, Vec<FirstLine>), JobError> {
    let options = reading.options();
    check_reading(paths, &options, listener)?;
    let progress = FirstLines {
        progress: listener.reading(),
        lines: Mutex::default(),
    };
    let dataset = read(paths, &options, &progress)?;
    let lines = progress.lines.into_inner();
    drop(progress.progress);
    enter_reading(paths, &dataset, Unknown::Add, listener)?;
    report_bad_rows(&dataset, listener);
    Ok((dataset, lines.unwrap_or_else(PoisonError::into_inner)))
}

/// Keeps first lines and passes everything else on.
struct FirstLines<'p> {
    progress: Box<dyn Progress + 'p>,
    lines: Mutex<Vec<FirstLine>>,
}

impl Progress for FirstLines<'_> {
    fn start(&self, total_bytes: Option<u64>) {
        self.progress.start(total_bytes);
    }

    fn advance(&self, bytes: u64, rows: u64) {
        self.progress.advance(bytes, rows);
    }

    fn columns(&self, found: &ColumnNames) {
        self.progress.columns(found);
    }

    fn first_line(&self, line: FirstLine) {
        let mut lines = self.lines.lock().unwrap_or_else(PoisonError::into_inner);
        lines.push(line);
    }

    fn finish(&self) {
        self.progress.finish();
    }
}

/// Reads files whose ids are known and leaves out rows with others; the maps come back in the data.
///
/// # Errors
/// Files that cannot be read, or of which no row is known.
pub fn read_known(
    files: &[String],
    reading: &Reading,
    ids: (IdMap, IdMap),
    listener: &dyn Listener,
) -> Result<Dataset, JobError> {
    read_further(files, reading, ids, Unknown::Skip, listener)
}

/// Reads files of which some ids are known; those that are not are left out or added.
///
/// # Errors
/// Files that cannot be read, or of which no row is left.
pub(crate) fn read_further(
    files: &[String],
    reading: &Reading,
    ids: (IdMap, IdMap),
    unknown: Unknown,
    listener: &dyn Listener,
) -> Result<Dataset, JobError> {
    let (paths, options) = (expand(files)?, reading.options());
    check_reading(&paths, &options, listener)?;
    let progress = listener.reading();
    let dataset = read_with_ids(&paths, &options, ids, unknown, &*progress)?;
    drop(progress);
    enter_reading(&paths, &dataset, unknown, listener)?;
    report_bad_rows(&dataset, listener);
    if dataset.unknown_rows > 0 {
        listener.event(&Event::UnknownRows {
            files,
            left_out: dataset.unknown_rows,
            rows: dataset.unknown_rows + dataset.len() as u64,
        });
    }
    if dataset.is_empty() {
        let files = files.to_vec();
        return Err(JobError::NothingKnown { files });
    }
    Ok(dataset)
}

/// Rejects files whose rows would not fit into memory, going by their size and their first rows.
fn check_reading(
    paths: &[PathBuf],
    options: &ReadOptions,
    listener: &dyn Listener,
) -> Result<(), JobError> {
    if let Some(memory) = listener.memory()
        && let Some(stage) = expected_reading(paths, options)
    {
        memory.check(&stage)?;
    }
    Ok(())
}

/// Counts what reading took, now that the rows are known, and what is left of it in later stages.
fn enter_reading(
    paths: &[PathBuf],
    dataset: &Dataset,
    unknown: Unknown,
    listener: &dyn Listener,
) -> Result<(), JobError> {
    listener.enter(absentia_io::reading(paths, dataset, unknown))?;
    if let Some(memory) = listener.memory() {
        memory.keep_blocks(absentia_io::blocks(paths));
    }
    Ok(())
}

fn report_bad_rows(dataset: &Dataset, listener: &dyn Listener) {
    if dataset.bad_rows.count() > 0 {
        listener.event(&Event::BadRows(&dataset.bad_rows));
    }
}
