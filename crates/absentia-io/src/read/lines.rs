//! Cuts text into records: lines, or runs of lines held together by quotes.

use memchr::{memchr, memchr2};

/// The index just past the record at the start of `text`, or `None` if its end is not in sight.
///
/// `quoted` is the separator of a file whose fields may be quoted.
pub(super) fn record_end(text: &[u8], quoted: Option<u8>) -> Option<usize> {
    let Some(separator) = quoted else {
        return memchr(b'\n', text).map(|at| at + 1);
    };
    let mut at = 0;
    loop {
        if text.get(at) == Some(&b'"') {
            at = closing_quote(text, at + 1)? + 1;
        }
        at += memchr2(separator, b'\n', &text[at..])? + 1;
        if text[at - 1] == b'\n' {
            return Some(at);
        }
    }
}

/// The index of the quote that ends a field whose content starts at `from`; doubled quotes are content.
pub(super) fn closing_quote(text: &[u8], mut from: usize) -> Option<usize> {
    loop {
        let at = from + memchr(b'"', text.get(from..)?)?;
        if text.get(at + 1) != Some(&b'"') {
            return Some(at);
        }
        from = at + 2;
    }
}

/// The index just past the last whole record, 0 if there is none.
pub(super) fn last_record_end(text: &[u8], quoted: Option<u8>) -> usize {
    if quoted.is_none() || memchr(b'"', text).is_none() {
        return memchr::memrchr(b'\n', text).map_or(0, |at| at + 1);
    }
    let mut end = 0;
    while let Some(length) = record_end(&text[end..], quoted) {
        end += length;
    }
    end
}

/// The records of a text with the numbers of their first lines, blank ones left out.
pub(super) struct Records<'a> {
    rest: &'a [u8],
    line: u64,
    quoted: Option<u8>,
}

impl<'a> Records<'a> {
    pub(super) fn new(text: &'a [u8], first_line: u64, quoted: Option<u8>) -> Self {
        let quoted = quoted.filter(|_| memchr(b'"', text).is_some());
        Self {
            rest: text,
            line: first_line,
            quoted,
        }
    }
}

impl<'a> Iterator for Records<'a> {
    type Item = (u64, &'a [u8]);

    fn next(&mut self) -> Option<Self::Item> {
        while !self.rest.is_empty() {
            let end = record_end(self.rest, self.quoted).unwrap_or(self.rest.len());
            let (record, rest) = self.rest.split_at(end);
            let line = self.line;
            self.rest = rest;
            self.line += if self.quoted.is_some() {
                count_lines(record)
            } else {
                1
            };
            let record = without_line_end(record);
            if !record.trim_ascii().is_empty() {
                return Some((line, record));
            }
        }
        None
    }
}

pub(super) fn count_lines(text: &[u8]) -> u64 {
    memchr::memchr_iter(b'\n', text).count() as u64
}

fn without_line_end(record: &[u8]) -> &[u8] {
    let record = record.strip_suffix(b"\n").unwrap_or(record);
    record.strip_suffix(b"\r").unwrap_or(record)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn records(text: &str, quoted: Option<u8>) -> Vec<(u64, &str)> {
        Records::new(text.as_bytes(), 1, quoted)
            .map(|(n, r)| (n, std::str::from_utf8(r).unwrap()))
            .collect()
    }

    #[test]
    fn quotes_hold_lines_together() {
        let text = "a,\"x\ny\"\"z\"\nb,5\" pipe\n\nc,d";
        assert_eq!(
            records(text, Some(b',')),
            [(1, "a,\"x\ny\"\"z\""), (3, "b,5\" pipe"), (5, "c,d")]
        );
        assert_eq!(records(text, None).len(), 4);
    }

    #[test]
    fn the_last_whole_record_ends_outside_quotes() {
        assert_eq!(last_record_end(b"a,b\n\"c\nd", Some(b',')), 4);
        assert_eq!(last_record_end(b"a,b\n\"c\nd", None), 7);
        assert_eq!(last_record_end(b"a,b", Some(b',')), 0);
    }

    #[test]
    fn carriage_returns_are_dropped() {
        assert_eq!(records("a\r\nb\r\n\r\n", None), [(1, "a"), (2, "b")]);
    }
}
