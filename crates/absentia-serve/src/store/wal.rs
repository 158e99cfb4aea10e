//! The write-ahead log: damage in its middle, and room for what comes.
//!
//! `SQLite` reads the log up to the first frame whose checksum is wrong and drops the rest. That is right for
//! the end of a log that a crash cut short, which was never acknowledged. It is wrong for damage further
//! ahead, where commits that were acknowledged follow. Every commit is synchronised before the next one
//! begins, so that frames of this log behind the next end of a commit show which of the two it is.
//!
//! A frame is a header of 24 bytes and a page. Its header has the size of the database if it ends a commit,
//! the salts of the log, and a checksum of all frames so far.

use std::fs::{File, OpenOptions};
use std::io::{BufReader, ErrorKind, Read, Seek as _, SeekFrom, Write as _};
use std::path::Path;

const HEADER: usize = 32;
const FRAME: usize = 24;
/// The log starts with one of two numbers, by the order of bytes in its checksums.
const LITTLE_ENDIAN: u32 = 0x377f_0682;
const BIG_ENDIAN: u32 = 0x377f_0683;

/// Bytes of a log with some more frames of 4 KiB pages than `SQLite` writes before it starts the log again.
const ROOM: u64 = (HEADER + 1100 * (FRAME + 4096)) as u64;

/// Lengthens the log with zeros, which are no frame. A commit that writes over bytes that are there is synchronised
/// sooner than one that makes the file longer, because the file system has nothing to note about the file. Nothing
/// depends on it: where there is no room, the log stays as it is.
pub(super) fn make_room(path: &Path) {
    let Ok(mut file) = OpenOptions::new().write(true).open(path) else {
        return;
    };
    let Ok(length) = file.seek(SeekFrom::End(0)) else {
        return;
    };
    let zeros = vec![0; ROOM.saturating_sub(length) as usize];
    let written = file.write_all(&zeros).and_then(|()| file.sync_all());
    if written.is_err() {
        let _ = file.set_len(length);
    }
}

/// The number of the first damaged frame, if acknowledged commits follow it.
pub(super) fn damaged_frame(path: &Path) -> std::io::Result<Option<u64>> {
    let file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    let mut file = BufReader::new(file);
    let mut header = [0; HEADER];
    if !filled(&mut file, &mut header)? {
        return Ok(None);
    }
    let Some(mut sums) = Checksum::of_header(&header) else {
        return Ok(None);
    };
    let (salts, page) = (&header[16..24], number(&header, 8) as usize);
    let mut frame = vec![0; FRAME + page];
    let (mut damaged, mut has_ended, mut at) = (None, false, 0);
    while filled(&mut file, &mut frame)? {
        at += 1;
        // Frames of the log before this one are left behind it.
        let is_of_this_log = frame[8..16] == *salts;
        let ends_commit = number(&frame, 4) > 0;
        if damaged.is_none() {
            sums.add(&frame[..8]);
            sums.add(&frame[FRAME..]);
            let is_whole = is_of_this_log && sums.0 == (number(&frame, 16), number(&frame, 20));
            if !is_whole {
                damaged = Some(at);
                has_ended = is_of_this_log && ends_commit;
            }
        } else if is_of_this_log && has_ended {
            return Ok(damaged);
        } else {
            has_ended |= is_of_this_log && ends_commit;
        }
    }
    Ok(None)
}

/// The sums so far, and whether words are big-endian.
struct Checksum((u32, u32), bool);

impl Checksum {
    /// The checksum of a header, if it is a sound one.
    fn of_header(header: &[u8; HEADER]) -> Option<Self> {
        let is_big = match number(header, 0) {
            LITTLE_ENDIAN => false,
            BIG_ENDIAN => true,
            _ => return None,
        };
        let page = number(header, 8);
        let mut sums = Self((0, 0), is_big);
        sums.add(&header[..24]);
        let is_whole = sums.0 == (number(header, 24), number(header, 28));
        (is_whole && page.is_power_of_two() && (512..=65_536).contains(&page)).then_some(sums)
    }

    fn add(&mut self, bytes: &[u8]) {
        let word = |bytes: &[u8]| {
            let bytes = [bytes[0], bytes[1], bytes[2], bytes[3]];
            if self.1 {
                u32::from_be_bytes(bytes)
            } else {
                u32::from_le_bytes(bytes)
            }
        };
        let (mut first, mut second) = self.0;
        for pair in bytes.chunks_exact(8) {
            first = first.wrapping_add(word(&pair[..4])).wrapping_add(second);
            second = second.wrapping_add(word(&pair[4..])).wrapping_add(first);
        }
        self.0 = (first, second);
    }
}

/// The number at some place of a header; all of them are big-endian.
fn number(bytes: &[u8], at: usize) -> u32 {
    bytes[at..at + 4]
        .iter()
        .fold(0, |number, &byte| number << 8 | u32::from(byte))
}

/// Fills a buffer; false if the file ends before.
fn filled(file: &mut impl Read, buffer: &mut [u8]) -> std::io::Result<bool> {
    match file.read_exact(buffer) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == ErrorKind::UnexpectedEof => Ok(false),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rusqlite::Connection;

    /// The bytes of the log of a database with 30 commits, as a kill leaves it.
    fn log_of_thirty_commits(folder: &Path) -> Vec<u8> {
        let path = folder.join("d.db");
        let connection = Connection::open(&path).unwrap();
        connection
            .pragma_update(None, "journal_mode", "wal")
            .unwrap();
        connection.execute_batch("CREATE TABLE t (x)").unwrap();
        for at in 0..30 {
            connection
                .execute("INSERT INTO t VALUES (?1)", [at])
                .unwrap();
        }
        std::fs::read(folder.join("d.db-wal")).unwrap()
    }

    #[test]
    fn room_at_the_end_of_a_log_is_no_frame() {
        let folder = tempfile::tempdir().unwrap();
        let bytes = log_of_thirty_commits(folder.path());
        let path = folder.path().join("r.db-wal");
        std::fs::write(&path, &bytes).unwrap();
        make_room(&path);
        let longer = std::fs::read(&path).unwrap();
        assert_eq!(longer.len() as u64, ROOM);
        assert!(longer.starts_with(&bytes));
        assert_eq!(damaged_frame(&path).unwrap(), None);
        make_room(&path);
        assert_eq!(std::fs::read(&path).unwrap(), longer);
        // What was committed is read, and the log goes on behind it.
        std::fs::copy(folder.path().join("d.db"), folder.path().join("r.db")).unwrap();
        let connection = Connection::open(folder.path().join("r.db")).unwrap();
        let count = |connection: &Connection| -> i64 {
            let counted = connection.query_row("SELECT count(*) FROM t", (), |row| row.get(0));
            counted.unwrap()
        };
        assert_eq!(count(&connection), 30);
        connection.execute("INSERT INTO t VALUES (7)", ()).unwrap();
        assert_eq!(std::fs::metadata(&path).unwrap().len(), ROOM);
        assert_eq!(damaged_frame(&path).unwrap(), None);
        make_room(&folder.path().join("none"));
    }

    #[test]
    fn a_torn_end_is_none_and_damage_ahead_of_commits_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let bytes = log_of_thirty_commits(folder.path());
        let path = folder.path().join("log");
        let found = |bytes: &[u8]| {
            std::fs::write(&path, bytes).unwrap();
            damaged_frame(&path).unwrap()
        };
        assert_eq!(found(&bytes), None);
        let frame = FRAME + 4096;
        let frames = (bytes.len() - HEADER) / frame;
        assert!(frames >= 30);
        for cut in [1, 100, frame, frame + 7, 5 * frame, bytes.len() - 10] {
            assert_eq!(found(&bytes[..bytes.len() - cut]), None, "{cut}");
        }
        let flipped = |at: usize| {
            let mut bytes = bytes.clone();
            bytes[at] ^= 1;
            bytes
        };
        // The last commit may be torn anywhere; what is behind any other one was acknowledged.
        assert_eq!(found(&flipped(bytes.len() - 9)), None);
        for number in 0..frames - 2 {
            let place = HEADER + number * frame;
            for within in [0, 17, FRAME, FRAME + 4000] {
                let expected = Some(number as u64 + 1);
                assert_eq!(
                    found(&flipped(place + within)),
                    expected,
                    "{number} {within}"
                );
            }
        }
        assert_eq!(found(b""), None);
        assert_eq!(found(&[7; 4096]), None);
        std::fs::remove_file(&path).unwrap();
        assert_eq!(damaged_frame(&path).unwrap(), None);
    }
}
