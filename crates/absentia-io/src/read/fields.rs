//! Cuts a record into fields without copying.

use std::borrow::Cow;

use memchr::{memchr, memchr_iter, memmem};

use super::lines::closing_quote;
use crate::bad_row::RowFault;
use crate::error::Error;

/// What separates two fields.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Separator {
    /// One byte; fields may be quoted.
    Byte(u8),
    /// Several bytes, such as `::`.
    Text(Vec<u8>),
    /// Any run of spaces and tabs.
    Blanks,
}

impl Separator {
    /// Reads the caller's choice.
    pub(super) fn from_option(text: &str) -> Result<Self, Error> {
        Ok(match text {
            "tab" | "\\t" => Self::Byte(b'\t'),
            "comma" => Self::Byte(b','),
            "semicolon" => Self::Byte(b';'),
            "pipe" => Self::Byte(b'|'),
            " " | "space" | "whitespace" => Self::Blanks,
            _ => match text.as_bytes() {
                [] | [b'"' | b'\n' | b'\r' | 0] => {
                    let expected = "a string such as ',', '::' or 'tab'";
                    return Err(Error::BadOption {
                        option: "separator",
                        got: text.to_owned(),
                        expected,
                    });
                }
                [byte] => Self::Byte(*byte),
                bytes => Self::Text(bytes.to_vec()),
            },
        })
    }

    /// The separator's byte if fields may be quoted.
    pub(super) fn quoted(&self, quotes: bool) -> Option<u8> {
        match self {
            Self::Byte(byte) if quotes => Some(*byte),
            _ => None,
        }
    }
}

#[derive(Clone, Copy, Debug)]
struct Span {
    start: usize,
    end: usize,
    doubled: bool,
}

/// The places of the fields of one record; reused from record to record.
#[derive(Debug, Default)]
pub(super) struct Fields {
    spans: Vec<Span>,
}

impl Fields {
    pub(super) fn len(&self) -> usize {
        self.spans.len()
    }

    /// The text of a field of the record that was cut.
    pub(super) fn get<'a>(&self, record: &'a [u8], field: usize) -> Cow<'a, [u8]> {
        let Some(span) = self.spans.get(field) else {
            return Cow::Borrowed(&[]);
        };
        let text = &record[span.start..span.end];
        if span.doubled {
            Cow::Owned(undouble(text))
        } else {
            Cow::Borrowed(text)
        }
    }

    /// Finds the fields of `record`.
    pub(super) fn cut(
        &mut self,
        record: &[u8],
        separator: &Separator,
        quotes: bool,
    ) -> Result<(), RowFault> {
        self.spans.clear();
        match separator {
            Separator::Byte(byte) if quotes && memchr(b'"', record).is_some() => {
                return self.cut_quoted(record, *byte);
            }
            Separator::Byte(byte) => self.cut_at(record, memchr_iter(*byte, record), 1),
            Separator::Text(text) => {
                self.cut_at(record, memmem::find_iter(record, text), text.len());
            }
            Separator::Blanks => self.cut_blanks(record),
        }
        Ok(())
    }

    fn cut_at(&mut self, record: &[u8], places: impl Iterator<Item = usize>, width: usize) {
        let mut start = 0;
        for place in places {
            self.push_trimmed(record, start, place);
            start = place + width;
        }
        self.push_trimmed(record, start, record.len());
    }

    fn cut_blanks(&mut self, record: &[u8]) {
        let blank = |b: &u8| matches!(b, b' ' | b'\t');
        let mut at = 0;
        while let Some(skip) = record[at..].iter().position(|b| !blank(b)) {
            let start = at + skip;
            at = record[start..]
                .iter()
                .position(blank)
                .map_or(record.len(), |length| start + length);
            self.spans.push(Span {
                start,
                end: at,
                doubled: false,
            });
        }
    }

    fn cut_quoted(&mut self, record: &[u8], separator: u8) -> Result<(), RowFault> {
        let mut start = 0;
        loop {
            let end = if record.get(start) == Some(&b'"') {
                let close = closing_quote(record, start + 1).ok_or(RowFault::Quote)?;
                let doubled = memchr(b'"', &record[start + 1..close]).is_some();
                self.spans.push(Span {
                    start: start + 1,
                    end: close,
                    doubled,
                });
                close + 1
            } else {
                let end = memchr(separator, &record[start..])
                    .map_or(record.len(), |length| start + length);
                self.push_trimmed(record, start, end);
                end
            };
            match record.get(end) {
                None => return Ok(()),
                Some(byte) if *byte == separator => start = end + 1,
                Some(_) => return Err(RowFault::Quote),
            }
        }
    }

    fn push_trimmed(&mut self, record: &[u8], mut start: usize, mut end: usize) {
        while start < end && record[start].is_ascii_whitespace() {
            start += 1;
        }
        while start < end && record[end - 1].is_ascii_whitespace() {
            end -= 1;
        }
        self.spans.push(Span {
            start,
            end,
            doubled: false,
        });
    }
}

fn undouble(text: &[u8]) -> Vec<u8> {
    let mut plain = Vec::with_capacity(text.len());
    let mut quote_before = false;
    for &byte in text {
        quote_before = byte == b'"' && !quote_before;
        if !quote_before {
            plain.push(byte);
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cut(record: &str, separator: &Separator) -> Result<Vec<String>, RowFault> {
        let mut fields = Fields::default();
        fields.cut(record.as_bytes(), separator, true)?;
        Ok((0..fields.len())
            .map(|i| String::from_utf8(fields.get(record.as_bytes(), i).into_owned()).unwrap())
            .collect())
    }

    #[test]
    fn every_kind_of_separator_cuts() {
        assert_eq!(
            cut("a, b,,c", &Separator::Byte(b',')).unwrap(),
            ["a", "b", "", "c"]
        );
        assert_eq!(
            cut("1::2::3", &Separator::Text(b"::".to_vec())).unwrap(),
            ["1", "2", "3"]
        );
        assert_eq!(cut("  1 \t 2 ", &Separator::Blanks).unwrap(), ["1", "2"]);
    }

    #[test]
    fn quotes_protect_separators_and_double_inside() {
        let comma = Separator::Byte(b',');
        assert_eq!(
            cut("\"a,b\",\" c\"\"d\",5\" pipe", &comma).unwrap(),
            ["a,b", " c\"d", "5\" pipe"]
        );
        assert_eq!(cut("\"\"\"\",x", &comma).unwrap(), ["\"", "x"]);
        assert_eq!(cut("\"a\"b,c", &comma), Err(RowFault::Quote));
        assert_eq!(cut("\"a,b", &comma), Err(RowFault::Quote));
    }
}
