//! Validates the sizes that an Arrow IPC file declares before they are decoded.
//!
//! The decoder allocates the size that a compressed buffer declares; a damaged length would end the process.

use std::io::{Read, Seek, SeekFrom};

use arrow_ipc::{Message, RecordBatch, root_as_footer, root_as_message};

const MAGIC: &[u8] = b"ARROW1";
const CONTINUATION: u32 = u32::MAX;
/// Metadata has a few hundred bytes a column.
const LONGEST_METADATA: u64 = 64 << 20;

type ScanResult<T> = Result<T, String>;

/// A file and how much decoded data it may still declare.
struct Scan<R> {
    reader: R,
    length: u64,
    allowance: u64,
}

/// Checks a file with a footer.
pub(super) fn check_file(reader: impl Read + Seek) -> ScanResult<()> {
    let mut scan = Scan::new(reader)?;
    let end = scan.length.checked_sub(10).ok_or("too short")?;
    let tail = scan.bytes(end, 10)?;
    if &tail[4..] != MAGIC {
        return Err("it does not end with ARROW1".to_owned());
    }
    let footer_length = u64::from(u32::from_le_bytes([tail[0], tail[1], tail[2], tail[3]]));
    let start = end
        .checked_sub(footer_length)
        .ok_or("a footer longer than the file")?;
    let footer = scan.bytes(start, footer_length)?;
    let footer = root_as_footer(&footer).map_err(|e| e.to_string())?;
    let blocks = [footer.dictionaries(), footer.recordBatches()];
    for block in blocks.into_iter().flatten().flatten() {
        let start = u64::try_from(block.offset()).map_err(|e| e.to_string())?;
        // The decoder takes the body from where the footer says, not from where the metadata ends.
        let body = scan.within(start, block.metaDataLength().into())?;
        scan.within(body, block.bodyLength())?;
        scan.message(start, Some(body))?;
    }
    Ok(())
}

/// Checks a stream of messages.
pub(super) fn check_stream(reader: impl Read + Seek) -> ScanResult<()> {
    let mut scan = Scan::new(reader)?;
    let mut at = 0;
    while at < scan.length {
        match scan.message(at, None)? {
            Some(next) => at = next,
            None => break,
        }
    }
    Ok(())
}

impl<R: Read + Seek> Scan<R> {
    fn new(mut reader: R) -> ScanResult<Self> {
        let length = reader.seek(SeekFrom::End(0)).map_err(|e| e.to_string())?;
        // Ids do not shrink a thousandfold, so a file that claims so as a whole is not data.
        let allowance = length.saturating_mul(1000).saturating_add(64 << 20);
        Ok(Self {
            reader,
            length,
            allowance,
        })
    }

    fn bytes(&mut self, start: u64, count: u64) -> ScanResult<Vec<u8>> {
        if count > LONGEST_METADATA || start.checked_add(count).is_none_or(|end| end > self.length)
        {
            return Err(format!(
                "{count} bytes declared at {start} in a file of {}",
                self.length
            ));
        }
        let mut bytes = vec![0; count as usize];
        self.reader
            .seek(SeekFrom::Start(start))
            .map_err(|e| e.to_string())?;
        self.reader
            .read_exact(&mut bytes)
            .map_err(|e| e.to_string())?;
        Ok(bytes)
    }

    /// The place `count` bytes after `start`, if it is in the file.
    fn within(&self, start: u64, count: i64) -> ScanResult<u64> {
        let end = u64::try_from(count)
            .ok()
            .and_then(|count| start.checked_add(count));
        match end {
            Some(end) if end <= self.length => Ok(end),
            _ => Err(format!(
                "a block of {count} bytes at {start} in a file of {}",
                self.length
            )),
        }
    }

    fn word(&mut self, start: u64) -> ScanResult<u32> {
        let bytes = self.bytes(start, 4)?;
        Ok(u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]))
    }

    /// Checks the message at `start` whose body is at `body` or follows it; returns where the next one starts, `None` at the end mark.
    fn message(&mut self, start: u64, body: Option<u64>) -> ScanResult<Option<u64>> {
        let (length, metadata) = match self.word(start)? {
            CONTINUATION => (self.word(start + 4)?, start + 8),
            length => (length, start + 4),
        };
        if length == 0 {
            return Ok(None);
        }
        let bytes = self.bytes(metadata, length.into())?;
        let message = root_as_message(&bytes).map_err(|e| e.to_string())?;
        let body = body.unwrap_or(metadata + u64::from(length));
        let end = self.within(body, message.bodyLength())?;
        if let Some(batch) = batch_of(&message).filter(|batch| batch.compression().is_some()) {
            self.compressed(&batch, body)?;
        }
        Ok(Some(end))
    }

    /// Adds up the sizes that the buffers of a batch declare.
    fn compressed(&mut self, batch: &RecordBatch<'_>, body: u64) -> ScanResult<()> {
        for buffer in batch.buffers().into_iter().flatten() {
            if buffer.length() < 8 {
                continue;
            }
            let start = u64::try_from(buffer.offset()).map_err(|e| e.to_string())?;
            let bytes = self.bytes(body.saturating_add(start), 8)?;
            let declared = i64::from_le_bytes(std::array::from_fn(|at| bytes[at]));
            // A length of -1 marks a buffer that is stored as it is.
            let declared = u64::try_from(declared.max(0)).unwrap_or(0);
            let left = self.allowance.checked_sub(declared);
            self.allowance =
                left.ok_or_else(|| format!("{declared} bytes declared in a compressed buffer"))?;
        }
        Ok(())
    }
}

fn batch_of<'a>(message: &Message<'a>) -> Option<RecordBatch<'a>> {
    message
        .header_as_record_batch()
        .or_else(|| message.header_as_dictionary_batch()?.data())
}
