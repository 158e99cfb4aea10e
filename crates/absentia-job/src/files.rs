//! Reading files, of which bad and unknown rows are reported.

use absentia_io::{Dataset, IdMap, Unknown, expand, read, read_with_ids};

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
    let paths = expand(files)?;
    let dataset = read(&paths, &reading.options(), &*listener.reading())?;
    report_bad_rows(&dataset, listener);
    Ok(dataset)
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
    let paths = expand(files)?;
    let progress = listener.reading();
    let dataset = read_with_ids(&paths, &reading.options(), ids, unknown, &*progress)?;
    drop(progress);
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

fn report_bad_rows(dataset: &Dataset, listener: &dyn Listener) {
    if dataset.bad_rows.count() > 0 {
        listener.event(&Event::BadRows(&dataset.bad_rows));
    }
}
