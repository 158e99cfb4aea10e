//! The file formats, their names and their usual extensions.

use std::fmt;
use std::path::Path;
use std::str::FromStr;

use crate::error::Error;

/// A format of interaction files.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Format {
    /// Text with one row a line and any separator, found by looking.
    Delimited,
    /// Comma-separated text.
    Csv,
    /// Tab-separated text.
    Tsv,
    /// The `.rating` files of the NCF and eALS papers: user, item, rating, time by tabs, no header.
    Rating,
    /// `RecBole` atomic files, whose headings carry types (`user_id:token`).
    Inter,
    /// LightGCN lists: a user and all its items on each line.
    Adjacency,
    /// One JSON object a line.
    JsonLines,
    /// Apache Parquet.
    Parquet,
    /// Arrow IPC file (Feather version 2).
    ArrowFile,
    /// Arrow IPC stream.
    ArrowStream,
    /// MatrixMarket coordinates.
    MatrixMarket,
    /// A sparse matrix saved by `scipy.sparse.save_npz`.
    Npz,
}

impl Format {
    /// Every format.
    pub const ALL: [Self; 12] = [
        Self::Delimited,
        Self::Csv,
        Self::Tsv,
        Self::Rating,
        Self::Inter,
        Self::Adjacency,
        Self::JsonLines,
        Self::Parquet,
        Self::ArrowFile,
        Self::ArrowStream,
        Self::MatrixMarket,
        Self::Npz,
    ];

    /// The name used on the command line.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Delimited => "text",
            Self::Csv => "csv",
            Self::Tsv => "tsv",
            Self::Rating => "rating",
            Self::Inter => "inter",
            Self::Adjacency => "adjacency",
            Self::JsonLines => "jsonl",
            Self::Parquet => "parquet",
            Self::ArrowFile => "arrow",
            Self::ArrowStream => "arrow-stream",
            Self::MatrixMarket => "mtx",
            Self::Npz => "npz",
        }
    }

    /// The format usual for a path's extension, looking through `.gz` and other compression.
    #[must_use]
    pub fn from_path(path: &Path) -> Option<Self> {
        let extension = path.extension()?.to_str()?.to_ascii_lowercase();
        match extension.as_str() {
            "gz" | "zst" | "zstd" | "bz2" | "xz" | "zip" => {
                Self::from_path(Path::new(path.file_stem()?))
            }
            "csv" => Some(Self::Csv),
            "tsv" | "tab" => Some(Self::Tsv),
            "rating" => Some(Self::Rating),
            "inter" => Some(Self::Inter),
            "adj" => Some(Self::Adjacency),
            "jsonl" | "ndjson" | "json" => Some(Self::JsonLines),
            "parquet" | "pq" => Some(Self::Parquet),
            "arrow" | "feather" | "ipc" => Some(Self::ArrowFile),
            "arrows" => Some(Self::ArrowStream),
            "mtx" | "mm" => Some(Self::MatrixMarket),
            "npz" => Some(Self::Npz),
            _ => None,
        }
    }

    /// Whether the format is text, so that it is decompressed.
    #[must_use]
    pub fn is_text(self) -> bool {
        !matches!(
            self,
            Self::Parquet | Self::ArrowFile | Self::ArrowStream | Self::Npz
        )
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Format {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        Self::ALL.into_iter().find(|format| format.name() == text).ok_or_else(|| Error::BadOption {
            option: "format",
            got: text.to_owned(),
            expected: "text, csv, tsv, rating, inter, adjacency, jsonl, parquet, arrow, arrow-stream, mtx or npz",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_back() {
        for format in Format::ALL {
            assert_eq!(format.name().parse::<Format>().unwrap(), format);
        }
        assert!("xls".parse::<Format>().is_err());
    }

    #[test]
    fn compression_is_looked_through() {
        assert_eq!(
            Format::from_path(Path::new("a/train.tsv.gz")),
            Some(Format::Tsv)
        );
        assert_eq!(Format::from_path(Path::new("a/b.c/train")), None);
    }
}
