//! Which files to read, and how.

use absentia_io::{ColumnRef, Columns, DenseIds, Format, ReadOptions};

use super::prepare::PrepareArgs;

/// Interaction files, and what to do with them before anything else.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct DataArgs {
    /// Interaction files or globs, read as one data set: CSV, TSV or any separator, .dat, .rating,
    /// .inter, adjacency lists, JSON lines, parquet, arrow, MatrixMarket, scipy .npz; gzip and zstd
    /// are looked through.
    #[arg(required = true, value_name = "DATA")]
    pub(crate) data: Vec<String>,
    #[command(flatten)]
    pub(crate) read: ReadArgs,
    #[command(flatten)]
    pub(crate) prepare: PrepareArgs,
}

/// How files are read; by default everything is found out from the file.
#[derive(Clone, Debug, clap::Args)]
#[command(next_help_heading = "Reading")]
pub(crate) struct ReadArgs {
    /// text, csv, tsv, rating, inter, adjacency, jsonl, parquet, arrow, arrow-stream, mtx or npz;
    /// found from name and content when not given.
    #[arg(long, value_name = "NAME")]
    pub(crate) format: Option<Format>,
    /// What separates columns: any text such as `::`, or tab, space, comma, semicolon, pipe.
    #[arg(long, value_name = "TEXT")]
    pub(crate) separator: Option<String>,
    /// The first line names the columns.
    #[arg(long, conflicts_with = "no_header")]
    pub(crate) header: bool,
    /// The first line is data.
    #[arg(long)]
    pub(crate) no_header: bool,
    /// Double quotes are part of the text.
    #[arg(long)]
    pub(crate) no_quotes: bool,
    /// Column of users, by heading or by place from 1.
    #[arg(long, value_name = "COLUMN")]
    pub(crate) user_col: Option<ColumnRef>,
    /// Column of items.
    #[arg(long, value_name = "COLUMN")]
    pub(crate) item_col: Option<ColumnRef>,
    /// Column of ratings or counts; `none` to leave it unread.
    #[arg(long, value_name = "COLUMN")]
    pub(crate) rating_col: Option<ColumnRef>,
    /// Column of times: unix time, or dates; `none` to leave it unread.
    #[arg(long, value_name = "COLUMN")]
    pub(crate) time_col: Option<ColumnRef>,
    /// Column of weights c_ui, for `--confidence column`.
    #[arg(long, value_name = "COLUMN")]
    pub(crate) weight_col: Option<ColumnRef>,
    /// Leave out up to N rows that cannot be understood, and report them.
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) skip_bad: u64,
    /// Ids are row numbers from 0, so that arrays can be given by position.
    #[arg(long)]
    pub(crate) dense_ids: bool,
    /// Number of users and items under --dense-ids; keeps empty rows and columns.
    #[arg(long, value_name = "M,N", value_parser = parse_shape)]
    pub(crate) shape: Option<(u32, u32)>,
    /// Longest line accepted, in bytes.
    #[arg(long, value_name = "BYTES", default_value_t = 1 << 20)]
    pub(crate) max_line: usize,
}

impl ReadArgs {
    /// Yields the options of the readers.
    pub(crate) fn options(&self) -> ReadOptions {
        let header = match (self.header, self.no_header) {
            (true, _) => Some(true),
            (_, true) => Some(false),
            _ => None,
        };
        ReadOptions {
            format: self.format,
            separator: self.separator.clone(),
            header,
            quotes: !self.no_quotes,
            columns: Columns {
                user: self.user_col.clone(),
                item: self.item_col.clone(),
                rating: self.rating_col.clone(),
                time: self.time_col.clone(),
                weight: self.weight_col.clone(),
            },
            skip_bad: self.skip_bad,
            dense_ids: (self.dense_ids || self.shape.is_some())
                .then_some(DenseIds { shape: self.shape }),
            max_line: self.max_line,
        }
    }
}

fn parse_shape(text: &str) -> Result<(u32, u32), String> {
    let parsed = text
        .split_once(',')
        .and_then(|(m, n)| Some((m.trim().parse().ok()?, n.trim().parse().ok()?)));
    parsed.ok_or_else(|| "expected users,items as in 943,1682".to_owned())
}
