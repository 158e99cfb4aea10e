//! Digests: of records, of batches as a chain, of ids that are kept without their text.

use sha2::{Digest as _, Sha256};

/// A SHA-256.
pub type Digest = [u8; 32];

/// The digest of some parts; each is preceded by its length, so that no two lists of parts are alike.
#[must_use]
pub fn digest_of(parts: &[&[u8]]) -> Digest {
    let mut hash = Sha256::new();
    for part in parts {
        hash.update((part.len() as u64).to_le_bytes());
        hash.update(part);
    }
    hash.finalize().into()
}

/// The digest of a batch: of the batch before it and the digests of its records.
#[must_use]
pub fn chained(before: &Digest, records: &[Digest]) -> Digest {
    let mut hash = Sha256::new();
    hash.update(before);
    for record in records {
        hash.update(record);
    }
    hash.finalize().into()
}

/// Digits of a digest or of other bytes.
#[must_use]
pub fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write as _;
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_do_not_run_into_each_other() {
        assert_ne!(digest_of(&[b"ab", b"c"]), digest_of(&[b"a", b"bc"]));
        assert_eq!(hex(&[0, 255]), "00ff");
    }
}
