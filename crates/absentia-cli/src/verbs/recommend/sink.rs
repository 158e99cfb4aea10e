//! Lists of recommendations to a file, as they come.

use std::io::Write as _;
use std::path::Path;
use std::sync::Arc;

use absentia_io::{AtomicFile, Format, Id};
use anyhow::{Context as _, Result};
use arrow_array::builder::{Float32Builder, Int64Builder, StringBuilder, UInt32Builder};
use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::{DataType, Field, Schema};
use parquet::arrow::ArrowWriter;

use super::UserList;
use crate::failure::Refusal;
use crate::store::Stored;
use crate::verbs::convert::format_for;

/// Rows a parquet batch gathers before it is written.
const ROWS: usize = 1 << 16;

/// Which ids of the lists are integers.
#[derive(Clone, Copy)]
pub(super) struct IdTypes {
    users: bool,
    items: bool,
}

impl IdTypes {
    /// Those of a model and of lists with ids that it does not know.
    pub(super) fn of(stored: &Stored, lists: &[UserList]) -> Self {
        let mut users = lists.iter().filter_map(|list| list.user.as_ref());
        let mut items = lists.iter().flat_map(|list| &list.items);
        Self {
            users: stored.users.is_integers() && users.all(Id::is_integer),
            items: stored.items.is_integers() && items.all(|one| one.item.is_integer()),
        }
    }
}

/// A file being written; nothing is in its place until [`finish`](Sink::finish).
pub(super) enum Sink {
    /// Columns user, item, rank, score.
    Delimited(Box<csv::Writer<AtomicFile>>, u64),
    /// One object a user.
    JsonLines(Box<AtomicFile>, u64),
    /// Columns user, item, rank, score.
    Parquet(Box<Parquet>),
}

impl Sink {
    pub(super) fn create(path: &Path, to: Option<Format>, types: IdTypes) -> Result<Self> {
        let file = || AtomicFile::create(path);
        match format_for(path, to)? {
            Format::Csv => Self::delimited(file()?, b','),
            Format::Tsv => Self::delimited(file()?, b'\t'),
            Format::JsonLines => Ok(Self::JsonLines(Box::new(file()?), 0)),
            Format::Parquet => Ok(Self::Parquet(Box::new(Parquet::new(file()?, types)?))),
            other => {
                let refusal = Refusal::usage(format!("lists cannot be written as {other}"));
                Err(refusal
                    .hint("choose csv, tsv, jsonl or parquet, by the extension of --out or by --to")
                    .into())
            }
        }
    }

    fn delimited(file: AtomicFile, separator: u8) -> Result<Self> {
        let mut writer = csv::WriterBuilder::new()
            .delimiter(separator)
            .from_writer(file);
        writer.write_record(["user", "item", "rank", "score"])?;
        Ok(Self::Delimited(Box::new(writer), 0))
    }

    pub(super) fn push(&mut self, list: &UserList) -> Result<()> {
        match self {
            Self::Delimited(writer, rows) => {
                let user = list.user.as_ref().map_or_else(String::new, Id::to_string);
                for (at, recommended) in list.items.iter().enumerate() {
                    let (rank, score) = ((at + 1).to_string(), recommended.score.to_string());
                    let item = recommended.item.to_string();
                    writer.write_record([&user, &item, &rank, &score])?;
                }
                *rows += list.items.len() as u64;
            }
            Self::JsonLines(file, rows) => {
                writeln!(file, "{}", serde_json::to_string(list)?)?;
                *rows += list.items.len() as u64;
            }
            Self::Parquet(parquet) => parquet.push(list)?,
        }
        Ok(())
    }

    /// Puts the file in its place and yields the number of rows.
    pub(super) fn finish(self) -> Result<u64> {
        let (file, rows) = match self {
            Self::Delimited(writer, rows) => {
                let file = writer
                    .into_inner()
                    .map_err(csv::IntoInnerError::into_error)?;
                (file, rows)
            }
            Self::JsonLines(file, rows) => (*file, rows),
            Self::Parquet(parquet) => parquet.finish()?,
        };
        file.commit()?;
        Ok(rows)
    }
}

/// A column of ids, of integers where all are.
enum IdBuilder {
    Integers(Int64Builder),
    Texts(StringBuilder),
}

impl IdBuilder {
    fn new(is_integers: bool) -> Self {
        if is_integers {
            Self::Integers(Int64Builder::new())
        } else {
            Self::Texts(StringBuilder::new())
        }
    }

    fn data_type(&self) -> DataType {
        match self {
            Self::Integers(_) => DataType::Int64,
            Self::Texts(_) => DataType::Utf8,
        }
    }

    fn push(&mut self, id: Option<&Id>) {
        match self {
            Self::Integers(column) => column.append_option(match id {
                Some(Id::Integer(id)) => Some(*id),
                _ => None,
            }),
            Self::Texts(column) => column.append_option(id.map(Id::to_string)),
        }
    }

    fn finish(&mut self) -> ArrayRef {
        match self {
            Self::Integers(column) => Arc::new(column.finish()),
            Self::Texts(column) => Arc::new(column.finish()),
        }
    }
}

/// Rows gathered for a parquet file.
pub(super) struct Parquet {
    writer: ArrowWriter<AtomicFile>,
    schema: Arc<Schema>,
    users: IdBuilder,
    items: IdBuilder,
    ranks: UInt32Builder,
    scores: Float32Builder,
    gathered: usize,
    rows: u64,
}

impl Parquet {
    fn new(file: AtomicFile, types: IdTypes) -> Result<Self> {
        let (users, items) = (IdBuilder::new(types.users), IdBuilder::new(types.items));
        let schema = Arc::new(Schema::new(vec![
            // Someone new has no id.
            Field::new("user", users.data_type(), true),
            Field::new("item", items.data_type(), false),
            Field::new("rank", DataType::UInt32, false),
            Field::new("score", DataType::Float32, false),
        ]));
        Ok(Self {
            writer: ArrowWriter::try_new(file, Arc::clone(&schema), None)?,
            schema,
            users,
            items,
            ranks: UInt32Builder::new(),
            scores: Float32Builder::new(),
            gathered: 0,
            rows: 0,
        })
    }

    fn push(&mut self, list: &UserList) -> Result<()> {
        for (at, recommended) in list.items.iter().enumerate() {
            self.users.push(list.user.as_ref());
            self.items.push(Some(&recommended.item));
            self.ranks.append_value(at as u32 + 1);
            self.scores.append_value(recommended.score);
        }
        self.gathered += list.items.len();
        if self.gathered >= ROWS {
            self.write()?;
        }
        Ok(())
    }

    fn write(&mut self) -> Result<()> {
        let columns: Vec<ArrayRef> = vec![
            self.users.finish(),
            self.items.finish(),
            Arc::new(self.ranks.finish()),
            Arc::new(self.scores.finish()),
        ];
        let batch = RecordBatch::try_new(Arc::clone(&self.schema), columns)?;
        self.rows += std::mem::take(&mut self.gathered) as u64;
        self.writer.write(&batch).context("while writing parquet")
    }

    fn finish(mut self) -> Result<(AtomicFile, u64)> {
        self.write()?;
        Ok((self.writer.into_inner()?, self.rows))
    }
}
