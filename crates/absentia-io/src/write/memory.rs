//! The memory of writing, beside the data.

use crate::format::Format;

/// Rows of a Parquet file that are encoded before they are written, and bytes of each.
const ROW_GROUP: u64 = 1 << 20;
const ENCODED: u64 = 16;

/// Bytes that writing `rows` rows of `users` users takes beside them.
#[must_use]
pub fn writing_bytes(rows: usize, users: usize, format: Format) -> u64 {
    let (rows, users) = (rows as u64, users as u64);
    let by_user = 4 * rows + 16 * users;
    match format {
        Format::Parquet => ENCODED * rows.min(ROW_GROUP),
        Format::Adjacency => by_user,
        // Items as scipy has them, and an array as it is compressed.
        Format::Npz => by_user + 16 * rows,
        Format::ArrowFile
        | Format::ArrowStream
        | Format::Delimited
        | Format::Csv
        | Format::Tsv
        | Format::Rating
        | Format::Inter
        | Format::JsonLines
        | Format::MatrixMarket => 1 << 20,
    }
}
