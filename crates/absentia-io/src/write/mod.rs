//! Writes a [`Dataset`] in any format the readers understand.

mod arrow_batches;
mod delimited;
mod json_lines;
mod matrix;
mod memory;
mod sink;

use std::path::{Path, PathBuf};

use crate::atomic::{AtomicFile, folder_of};
use crate::column::Column;
use crate::dataset::Dataset;
use crate::error::Error;
use crate::file_set::FileSet;
use crate::format::Format;
use crate::model::id_list;
use crate::standard::is_standard;
pub use memory::writing_bytes;
use sink::Sink;

/// Writes a data set to a file, which is replaced only once everything is written.
///
/// Text formats are compressed if the name ends in `.gz` or `.zst`. What a format cannot hold is rejected rather
/// than dropped, with one exception: MatrixMarket and npz hold row numbers in place of ids.
///
/// # Errors
/// The file cannot be written, or the format cannot hold the data.
pub fn write(data: &Dataset, path: &Path, format: Format) -> Result<(), Error> {
    check_columns(data, format)?;
    match format {
        Format::Delimited | Format::Csv => {
            delimited::write(data, Sink::create(path)?, b',', delimited::Heading::Names)
        }
        Format::Tsv => {
            delimited::write(data, Sink::create(path)?, b'\t', delimited::Heading::Names)
        }
        Format::Rating => {
            delimited::write(data, Sink::create(path)?, b'\t', delimited::Heading::None)
        }
        Format::Inter => {
            delimited::write(data, Sink::create(path)?, b'\t', delimited::Heading::Typed)
        }
        Format::Adjacency => matrix::write_adjacency(data, Sink::create(path)?),
        Format::JsonLines => json_lines::write(data, Sink::create(path)?),
        Format::MatrixMarket => matrix::write_market(data, Sink::create(path)?),
        Format::Npz => matrix::write_npz(data, path),
        Format::Parquet => arrow_batches::write_parquet(data, path),
        Format::ArrowFile => arrow_batches::write_file(data, path),
        Format::ArrowStream => arrow_batches::write_stream(data, path),
    }
}

/// Writes a data set to a file, and the ids that its format leaves out to lists beside it
/// ([`write_id_lists`]), which are yielded. A file with lists is replaced all at once with them
/// ([`FileSet`]).
///
/// # Errors
/// As [`write()`] and [`FileSet::create`].
pub fn write_with_ids(data: &Dataset, path: &Path, format: Format) -> Result<Vec<PathBuf>, Error> {
    let lists = id_list_paths(path, format);
    if lists.is_empty() || (data.users.is_dense() && data.items.is_dense()) {
        write(data, path, format)?;
        return Ok(Vec::new());
    }
    if is_standard(path) {
        return Err(Error::Unrepresentable {
            format,
            what: "ids, and lists of them cannot be written beside standard output".to_owned(),
        });
    }
    // Says what is wrong with the path itself.
    AtomicFile::create(path)?;
    let name = |path: &Path| {
        let name = path.file_name().unwrap_or_default();
        name.to_string_lossy().into_owned()
    };
    let names = std::iter::once(path).chain(lists.iter().map(PathBuf::as_path));
    let set = FileSet::create(folder_of(path), names.map(name))?;
    set.write(&name(path), |path| {
        write(data, path, format)?;
        write_id_lists(data, path, format)
    })?;
    set.commit()?;
    Ok(lists)
}

/// Writes the ids that a file of row numbers leaves out beside it, one a line in row order, and
/// yields the lists: `ratings.users.txt` and `ratings.items.txt` for `ratings.mtx`. Nothing is
/// written where the format holds ids, or where ids are row numbers.
///
/// # Errors
/// A list cannot be written.
pub fn write_id_lists(data: &Dataset, path: &Path, format: Format) -> Result<Vec<PathBuf>, Error> {
    if data.users.is_dense() && data.items.is_dense() {
        return Ok(Vec::new());
    }
    let lists = id_list_paths(path, format);
    if let [users, items] = &lists[..] {
        id_list::write(users, &data.users)?;
        id_list::write(items, &data.items)?;
    }
    Ok(lists)
}

/// Where the ids of a file go whose format has no room for them: users, then items; nowhere for other
/// formats.
#[must_use]
pub fn id_list_paths(path: &Path, format: Format) -> Vec<PathBuf> {
    if !matches!(format, Format::MatrixMarket | Format::Npz) {
        return Vec::new();
    }
    let bare = match path.extension().and_then(|e| e.to_str()) {
        Some("gz" | "zst" | "zstd") => path.with_extension(""),
        _ => path.to_owned(),
    };
    ["users.txt", "items.txt"]
        .map(|end| bare.with_extension(end))
        .into()
}

/// The columns a data set has, in file order.
fn columns_of(data: &Dataset) -> Vec<Column> {
    let present = |column: &Column| match column {
        Column::User | Column::Item => true,
        Column::Rating => data.value.is_some(),
        Column::Time => data.time.is_some(),
        Column::Weight => data.weight.is_some(),
    };
    Column::ALL.into_iter().filter(present).collect()
}

fn check_columns(data: &Dataset, format: Format) -> Result<(), Error> {
    let refused = |column: &Column| match format {
        Format::Adjacency => !matches!(column, Column::User | Column::Item),
        Format::MatrixMarket | Format::Npz => matches!(column, Column::Time | Column::Weight),
        Format::Rating => *column == Column::Weight,
        _ => false,
    };
    match columns_of(data).into_iter().find(refused) {
        Some(column) => Err(Error::Unrepresentable {
            format,
            what: format!("a {column} column"),
        }),
        None => Ok(()),
    }
}
