//! Looks at the first lines of a text to find its separator and whether it has a header.

use super::cells::{CellKind, with_point};
use super::fields::{Fields, Separator};
use super::lines::Records;
use super::options::ReadOptions;
use super::source::Source;
use crate::column::Column;
use crate::format::Format;

/// How many records are inspected.
const SAMPLE: usize = 64;

/// The first records of a file, cut by one separator.
#[derive(Debug)]
pub(super) struct Sample {
    pub(super) separator: Separator,
    decimal_comma: bool,
    /// Line number and cells of each record.
    pub(super) rows: Vec<(u64, Vec<Vec<u8>>)>,
}

impl Sample {
    fn cut(text: &[u8], separator: Separator, options: &ReadOptions) -> Self {
        let quotes = options.quotes;
        let mut fields = Fields::default();
        let rows = Records::new(text, 1, separator.quoted(quotes))
            .take(SAMPLE)
            .filter_map(|(line, record)| {
                fields.cut(record, &separator, quotes).ok()?;
                Some((
                    line,
                    (0..fields.len())
                        .map(|i| fields.get(record, i).into_owned())
                        .collect(),
                ))
            })
            .collect();
        Self {
            separator,
            decimal_comma: options.decimal_comma,
            rows,
        }
    }

    /// The most frequent number of fields, the larger of two equally frequent.
    pub(super) fn width(&self) -> usize {
        let count = |width| {
            self.rows
                .iter()
                .filter(|(_, cells)| cells.len() == width)
                .count()
        };
        self.rows
            .iter()
            .map(|(_, cells)| cells.len())
            .max_by_key(|&width| (count(width), width))
            .unwrap_or(0)
    }

    /// The share of records that have the usual number of fields, if that is at least two.
    fn fit(&self) -> f64 {
        let width = self.width();
        if width < 2 {
            return 0.0;
        }
        self.rows
            .iter()
            .filter(|(_, cells)| cells.len() == width)
            .count() as f64
            / self.rows.len() as f64
    }

    /// What most cells of a column look like, leaving out the first `skip` records.
    pub(super) fn kind(&self, place: usize, skip: usize) -> CellKind {
        let kinds: Vec<CellKind> = self
            .rows
            .iter()
            .skip(skip)
            .filter_map(|(_, cells)| cells.get(place))
            .map(|cell| self.kind_of(cell))
            .collect();
        let count = |wanted: fn(CellKind) -> bool| kinds.iter().filter(|&&k| wanted(k)).count();
        let numbers = count(CellKind::is_number);
        if 2 * numbers > kinds.len() {
            let all_large = count(|k| k == CellKind::Large) == numbers;
            return if all_large {
                CellKind::Large
            } else {
                CellKind::Number
            };
        }
        if 2 * count(|k| k == CellKind::Date) > kinds.len() {
            CellKind::Date
        } else {
            CellKind::Text
        }
    }

    fn kind_of(&self, cell: &[u8]) -> CellKind {
        if !self.decimal_comma {
            return CellKind::of(cell);
        }
        with_point(cell).map_or(CellKind::Text, |cell| CellKind::of(&cell))
    }

    /// Whether the first record names the columns.
    pub(super) fn has_header(&self) -> bool {
        let Some((_, first)) = self.rows.first() else {
            return false;
        };
        let usual = first.iter().filter(|cell| is_usual_heading(cell)).count();
        let long = first
            .iter()
            .any(|cell| cell.len() > 1 && is_usual_heading(cell));
        (usual > 0 && long) || usual > 1 || self.first_differs()
    }

    /// Whether the first row is text where the others are numbers: in a column past the ids, or in both of them.
    pub(super) fn first_differs(&self) -> bool {
        let [(_, first), _, ..] = &self.rows[..] else {
            return false;
        };
        let differs: Vec<bool> = (0..first.len())
            .map(|place| {
                self.kind_of(&first[place]) == CellKind::Text
                    && self.kind(place, 1) != CellKind::Text
            })
            .collect();
        differs.iter().skip(2).any(|&d| d)
            || (self.rows.len() > 2 && differs.len() > 1 && differs.iter().all(|&d| d))
    }

    /// Whether the records are lists of integers of different lengths, or longer than any row has roles.
    fn is_adjacency(&self) -> bool {
        let width = self.width();
        let integers = self
            .rows
            .iter()
            .flat_map(|(_, cells)| cells)
            .all(|c| c.iter().all(u8::is_ascii_digit));
        integers
            && (width > Column::ALL.len()
                || self.rows.iter().any(|(_, cells)| cells.len() != width))
    }
}

/// Whether a cell is a usual name of a column.
pub(super) fn is_usual_heading(cell: &[u8]) -> bool {
    let Ok(text) = std::str::from_utf8(cell) else {
        return false;
    };
    Column::ALL
        .iter()
        .any(|column| column.is_usual_heading(heading(text)))
}

/// A heading without the type that `RecBole` adds to it.
pub(super) fn heading(text: &str) -> &str {
    text.split_once(':').map_or(text, |(name, _)| name)
}

/// What a text file holds.
pub(super) enum TextContent {
    Rows(Sample),
    Adjacency,
}

/// Finds the separator, unless it is given, and cuts the first records by it.
pub(super) fn sniff(
    source: &Source,
    format: Format,
    separator: Option<Separator>,
    options: &ReadOptions,
) -> TextContent {
    let text = whole_records(source);
    if let Some(separator) = separator {
        return TextContent::Rows(Sample::cut(text, separator, options));
    }
    let samples: Vec<Sample> = candidates(format)
        .into_iter()
        .map(|separator| Sample::cut(text, separator, options))
        .collect();
    let mut best = 0;
    for (at, sample) in samples.iter().enumerate() {
        if sample.fit() > samples[best].fit() {
            best = at;
        }
    }
    let sample = samples.into_iter().nth(best);
    match sample {
        Some(s)
            if format == Format::Delimited
                && s.separator == Separator::Blanks
                && s.is_adjacency() =>
        {
            TextContent::Adjacency
        }
        Some(s) => TextContent::Rows(s),
        None => TextContent::Rows(Sample {
            separator: Separator::Byte(b','),
            decimal_comma: options.decimal_comma,
            rows: Vec::new(),
        }),
    }
}

/// The head of the file without its last record, which may be cut off.
fn whole_records(source: &Source) -> &[u8] {
    let text = source
        .head()
        .strip_prefix(b"\xef\xbb\xbf")
        .unwrap_or(source.head());
    if source.is_short() {
        return text;
    }
    &text[..memchr::memrchr(b'\n', text).map_or(text.len(), |at| at + 1)]
}

/// Separators, the most plausible first.
fn candidates(format: Format) -> Vec<Separator> {
    let mut list = vec![
        Separator::Text(b"::".to_vec()),
        Separator::Byte(b'\t'),
        Separator::Byte(b','),
        Separator::Byte(b';'),
        Separator::Byte(b'|'),
        Separator::Blanks,
    ];
    match format {
        Format::Csv => list.swap(0, 2),
        Format::Tsv | Format::Rating | Format::Inter => list.swap(0, 1),
        _ => {}
    }
    list
}
