//! How files are read.

use absentia_io::time::TimeUnit;
use absentia_io::{ColumnRef, Columns, DenseIds, Format, ReadOptions};

use crate::keys::keys;
use crate::text::Shape;

/// How files are read; what is not given is detected from the file.
#[derive(Clone, Debug, Default, PartialEq)]
#[cfg_attr(feature = "clap", derive(clap::Args))]
#[cfg_attr(feature = "clap", command(next_help_heading = "Reading"))]
pub struct Reading {
    /// text, csv, tsv, rating, inter, adjacency, jsonl, parquet, arrow, arrow-stream, mtx or npz;
    /// detected from name and content when not given.
    #[cfg_attr(feature = "clap", arg(long, value_name = "NAME"))]
    pub format: Option<Format>,
    /// What separates columns: any text such as `::`, or tab, space, comma, semicolon, pipe.
    #[cfg_attr(feature = "clap", arg(long, value_name = "TEXT"))]
    pub separator: Option<String>,
    /// The first line names the columns.
    #[cfg_attr(feature = "clap", arg(long, conflicts_with = "no_header"))]
    pub header: bool,
    /// The first line is data.
    #[cfg_attr(feature = "clap", arg(long))]
    pub no_header: bool,
    /// Double quotes are part of the text.
    #[cfg_attr(feature = "clap", arg(long))]
    pub no_quotes: bool,
    /// Numbers have a comma before their decimals, as in 3,5 (delimited text).
    #[cfg_attr(feature = "clap", arg(long))]
    pub decimal_comma: bool,
    /// Column of users, by heading or by position from 1.
    #[cfg_attr(feature = "clap", arg(long, value_name = "COLUMN"))]
    pub user_col: Option<ColumnRef>,
    /// Column of items.
    #[cfg_attr(feature = "clap", arg(long, value_name = "COLUMN"))]
    pub item_col: Option<ColumnRef>,
    /// Column of ratings or counts; `none` to leave it unread.
    #[cfg_attr(feature = "clap", arg(long, value_name = "COLUMN"))]
    pub rating_col: Option<ColumnRef>,
    /// Column of times: unix time, or dates; `none` to leave it unread.
    #[cfg_attr(feature = "clap", arg(long, value_name = "COLUMN"))]
    pub time_col: Option<ColumnRef>,
    /// Unit of times that are numbers: s, ms, us or ns; found from how large they are when not given.
    /// With it, times are read as whole seconds.
    #[cfg_attr(feature = "clap", arg(long, value_name = "UNIT"))]
    pub time_unit: Option<TimeUnit>,
    /// Column of how much each row counts, for `--confidence column`.
    #[cfg_attr(feature = "clap", arg(long, value_name = "COLUMN"))]
    pub weight_col: Option<ColumnRef>,
    /// Leave out up to N rows that cannot be understood, and report them [default: 0].
    #[cfg_attr(feature = "clap", arg(long, value_name = "N"))]
    pub skip_bad: Option<u64>,
    /// Ids are row numbers from 0, so that arrays can be given by position.
    #[cfg_attr(feature = "clap", arg(long))]
    pub dense_ids: bool,
    /// Number of users and items under --dense-ids; keeps empty rows and columns.
    #[cfg_attr(feature = "clap", arg(long, value_name = "M,N"))]
    pub shape: Option<Shape>,
    /// Longest line accepted, in bytes [default: 1048576].
    #[cfg_attr(feature = "clap", arg(long, value_name = "BYTES"))]
    pub max_line: Option<usize>,
}

keys!(Reading {
    format,
    separator,
    header,
    no_header,
    no_quotes,
    decimal_comma,
    user_col,
    item_col,
    rating_col,
    time_col,
    time_unit,
    weight_col,
    skip_bad,
    dense_ids,
    shape,
    max_line,
});

impl Reading {
    /// Writes out the defaults, so that they hold whatever the defaults of a later version are.
    pub(crate) fn spell_out(&mut self) {
        let usual = ReadOptions::default();
        self.skip_bad.get_or_insert(usual.skip_bad);
        self.max_line.get_or_insert(usual.max_line);
    }

    /// The options of the readers.
    #[must_use]
    pub fn options(&self) -> ReadOptions {
        let header = match (self.header, self.no_header) {
            (true, _) => Some(true),
            (_, true) => Some(false),
            _ => None,
        };
        let shape = self.shape.map(|shape| (shape.users, shape.items));
        let usual = ReadOptions::default();
        ReadOptions {
            format: self.format,
            separator: self.separator.clone(),
            header,
            quotes: !self.no_quotes,
            decimal_comma: self.decimal_comma,
            columns: Columns {
                user: self.user_col.clone(),
                item: self.item_col.clone(),
                rating: self.rating_col.clone(),
                time: self.time_col.clone(),
                weight: self.weight_col.clone(),
            },
            time_unit: self.time_unit,
            skip_bad: self.skip_bad.unwrap_or(usual.skip_bad),
            dense_ids: (self.dense_ids || shape.is_some()).then_some(DenseIds { shape }),
            max_line: self.max_line.unwrap_or(usual.max_line),
        }
    }
}
