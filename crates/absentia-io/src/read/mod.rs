//! Reads interaction files of every format into a [`Dataset`].

mod adjacency;
mod archive;
mod arrow_cells;
mod arrow_check;
mod arrow_columns;
mod arrow_ipc;
mod blocks;
mod builder;
mod cells;
mod chunk;
mod delimited;
mod detect;
mod fields;
mod json_cells;
mod json_lines;
mod lines;
mod matrix_market;
mod memory;
mod npz;
mod options;
mod parquet;
mod parquet_file;
mod parquet_rows;
mod paths;
mod pipeline;
mod roles;
mod sniff;
mod source;
mod text;
mod thrift;

use std::path::{Path, PathBuf};
use std::sync::Arc;

pub use arrow_ipc::{hide_panics_of_decoders, is_decoding};
use builder::Builder;
use chunk::IdRule;
pub use memory::{blocks, expected_reading, reading};
pub use options::{ColumnNames, DenseIds, FirstLine, NoProgress, Progress, ReadOptions, Unknown};
pub use parquet_file::ParquetFile;
pub(crate) use parquet_rows::{ParquetRows, parquet_rows};
pub use paths::expand;
pub use roles::TableColumns;
use source::Source;

use crate::dataset::Dataset;
use crate::error::Error;
use crate::format::Format;
use crate::ids::IdMap;
use crate::limits;
use crate::standard::is_standard;

/// Reads one or more files as one data set, in the order given.
///
/// Rows are numbered by their ids, integers by number, then text by bytes: the numbers depend neither on
/// the order of rows in the files nor on the number of threads.
///
/// # Errors
/// Names the file, and the line where there is one, that could not be read, and what to do about it.
pub fn read(
    paths: &[PathBuf],
    options: &ReadOptions,
    progress: &dyn Progress,
) -> Result<Dataset, Error> {
    let builder = Builder::new(
        IdMap::new(),
        IdMap::new(),
        Unknown::Add,
        options.skip_bad,
        progress,
    );
    read_all(paths, options, builder, progress)
}

/// Reads files whose ids are those of another data set, such as a test set.
///
/// The maps are returned in the data set, with more ids in them only under [`Unknown::Add`]; those are
/// numbered by id, after the known ones.
///
/// # Errors
/// As [`read`]; also an id that is not in the maps, under [`Unknown::Error`].
pub fn read_with_ids(
    paths: &[PathBuf],
    options: &ReadOptions,
    (users, items): (IdMap, IdMap),
    unknown: Unknown,
    progress: &dyn Progress,
) -> Result<Dataset, Error> {
    let builder = Builder::new(users, items, unknown, options.skip_bad, progress);
    read_all(paths, options, builder, progress)
}

fn read_all(
    paths: &[PathBuf],
    options: &ReadOptions,
    mut builder: Builder<'_>,
    progress: &dyn Progress,
) -> Result<Dataset, Error> {
    progress.start(
        paths
            .iter()
            .map(|path| path.metadata().ok().map(|m| m.len()))
            .sum(),
    );
    let outcome = paths
        .iter()
        .try_for_each(|path| read_file(path, options, paths.len() > 1, &mut builder));
    progress.finish();
    outcome?;
    match paths.first() {
        Some(path) if builder.rows_seen() == 0 => Err(Error::Empty { path: path.clone() }),
        Some(path) => with_room(builder.finish(), path, limits::memory_available()),
        None => Err(Error::NoMatch {
            pattern: String::new(),
        }),
    }
}

/// The least number of bytes of a row of either side: its offset in both orders of the entries, and
/// its number of entries.
const ROW_BYTES: u64 = 24;

/// Rejects a data set whose row numbers go far beyond its rows before anything of that length is made.
fn with_room(data: Dataset, path: &Path, available: Option<u64>) -> Result<Dataset, Error> {
    let rows = (data.users.len() + data.items.len()) as u64;
    let needed = rows * ROW_BYTES;
    match available {
        Some(available) if needed > available => Err(Error::TooManyRows {
            path: path.to_owned(),
            rows,
            needed,
            available,
        }),
        _ => Ok(data),
    }
}

fn read_file(
    path: &Path,
    options: &ReadOptions,
    many: bool,
    builder: &mut Builder<'_>,
) -> Result<(), Error> {
    let path: Arc<Path> = Arc::from(path);
    let source = Source::open(&path)?;
    match read_source(source, options, builder) {
        // A single part may be empty; the end checks that not all of them are.
        Err(Error::Empty { .. }) if many => Ok(()),
        outcome => outcome,
    }
}

fn read_source(
    source: Source,
    options: &ReadOptions,
    builder: &mut Builder<'_>,
) -> Result<(), Error> {
    let path = source.path().clone();
    let format = detect::format_of(options.format, &source);
    if format.is_text() || source.head().is_empty() {
        detect::check_text(&source)?;
    } else {
        refuse_pipe(&path, format, source.head())?;
    }
    match format {
        Format::Adjacency => adjacency::read(source, options, builder),
        Format::JsonLines => json_lines::read(source, options, builder),
        Format::MatrixMarket => matrix_market::read(source, options, builder),
        Format::Parquet => parquet::read(&path, options, builder),
        Format::ArrowFile => arrow_ipc::read_file(&path, options, builder),
        Format::ArrowStream => arrow_ipc::read_stream(&path, options, builder),
        Format::Npz => npz::read(&path, builder),
        Format::Delimited | Format::Csv | Format::Tsv | Format::Rating | Format::Inter => {
            delimited::read(source, format, options, builder)
        }
    }
}

/// Rejects formats that are read from more than one place of a file, where there is only a stream.
fn refuse_pipe(path: &Path, format: Format, head: &[u8]) -> Result<(), Error> {
    if !is_standard(path) && path.metadata().is_ok_and(|found| found.is_file()) {
        return Ok(());
    }
    let format = match format {
        Format::Npz if !archive::starts_with_array(head) => "a zip archive".to_owned(),
        format => format.to_string(),
    };
    Err(Error::Unsupported {
        path: path.to_owned(),
        feature: format!("{format} from a pipe"),
        remedy: "write it to a file first: this format is read from several places of the file at once",
    })
}

/// What ids are, as far as the caller has said.
fn id_rules(options: &ReadOptions) -> (IdRule, IdRule) {
    let Some(dense) = options.dense_ids else {
        return (IdRule::Names, IdRule::Names);
    };
    let rule = |limit| IdRule::Rows { limit, base: 0 };
    (
        rule(dense.shape.map(|(users, _)| users)),
        rule(dense.shape.map(|(_, items)| items)),
    )
}
