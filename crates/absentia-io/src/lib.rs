//! Files for Absentia: interactions in, interactions out, and the ids that connect them to row numbers.
//!
//! [`read`] takes one or more files as one [`Dataset`]: columns of dense row numbers with an [`IdMap`] for
//! users and one for items. [`write`](write()) does the reverse. The format is chosen by extension, then by content:
//!
//! | Format | Extensions | Ids | Holds |
//! | --- | --- | --- | --- |
//! | delimited text, any separator | `.csv` `.tsv` `.dat` `.txt` ... | any | rating, time, weight |
//! | NCF / eALS | `.rating` | any | rating, time |
//! | `RecBole` atomic | `.inter` | any | rating, time, weight |
//! | LightGCN lists | `.adj`, or by content | without blanks | nothing more |
//! | JSON lines | `.jsonl` `.ndjson` `.json` | any | rating, time, weight |
//! | Parquet | `.parquet` `.pq` | any | rating, time, weight |
//! | Arrow IPC file and stream | `.arrow` `.feather` `.ipc` `.arrows` | any | rating, time, weight |
//! | MatrixMarket coordinates | `.mtx` `.mm` | row numbers | rating |
//! | scipy sparse | `.npz` | row numbers | rating |
//!
//! Trained models have a file of their own: see [`model`]. [`arrays`] reads the tables that define weights.
//! [`limits`] reports how much memory is available.
//!
//! What is written compressed, as npz, as Parquet or as an Arrow file has checksums, and damage in it is an error. Plain text,
//! Arrow streams and Parquet files of other programs have none that could be compared.
//!
//! Text formats are decompressed (gzip, zstd, bzip2, xz, and zip archives of one file) whatever the name of the
//! file. The name `-` is standard input, or standard output.
//!
//! # Columns of delimited text
//!
//! A column is chosen by heading or place ([`Columns`]). Those not chosen are found by their usual headings
//! (`user_id`, `movieId`, `rating`, `timestamp`, ...); without a header, or if no heading is
//! recognised, the order is user, item, rating, time. A third and last column of numbers above 10⁸, or of
//! dates, is time. Every row must have as many fields as the header, or as most of the first rows.
//!
//! # Bad rows
//!
//! A row that cannot be understood stops the reading with its file, line, text and a remedy, unless
//! [`ReadOptions::skip_bad`] allows for it; those left out are counted in [`Dataset::bad_rows`].
//!
//! ```
//! use absentia_io::{NoProgress, ReadOptions, read};
//!
//! let folder = tempfile::tempdir()?;
//! let path = folder.path().join("ratings.csv");
//! std::fs::write(&path, "userId,movieId,rating\nann,31,2.5\nbob,31,3\n")?;
//! let data = read(&[path], &ReadOptions::default(), &NoProgress)?;
//! assert_eq!(data.user, [0, 1]);
//! assert_eq!(data.users.get("bob"), Some(1));
//! assert_eq!(data.value, Some(vec![2.5, 3.0]));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![deny(missing_docs)]

pub mod arrays;
mod atomic;
mod bad_row;
mod column;
mod dataset;
mod error;
mod file_set;
mod format;
mod ids;
pub mod limits;
pub mod model;
pub mod npy;
mod read;
mod remains;
mod seal;
mod standard;
pub mod time;
mod write;

pub use atomic::{AtomicFile, without_links};
pub use bad_row::{BadRow, BadRows, RowFault, TO_UTF8, is_decimal_comma};
pub use column::{Column, ColumnRef, Columns};
pub use dataset::Dataset;
pub use error::Error;
pub use file_set::FileSet;
pub use format::Format;
pub use ids::{Id, IdMap, RawIds, id_borders};
pub use read::{
    ColumnNames, DenseIds, FirstLine, NoProgress, ParquetFile, Progress, ReadOptions, TableColumns,
    Unknown, blocks, expand, expected_reading, hide_panics_of_decoders, is_decoding, read,
    read_with_ids, reading,
};
pub use standard::{is_standard, output_name, read_text};
pub use write::{id_list_paths, write, write_id_lists, write_with_ids, writing_bytes};
