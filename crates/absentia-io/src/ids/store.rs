//! How ids are stored: not at all, as integers, or end to end in one block of text.

use std::borrow::Cow;
use std::hash::Hasher;

use rustc_hash::FxHasher;

use super::index::mix;

/// The ids in row order, in the smallest form that holds them all.
#[derive(Clone, Debug)]
pub(super) enum Store {
    /// Row `r` has the id `r` in decimal; nothing is stored.
    Dense(u32),
    /// Every id is a decimal integer without superfluous characters.
    Integers(Vec<i64>),
    /// Row `r` is `bytes[offsets[r]..offsets[r + 1]]`, UTF-8.
    Text { offsets: Vec<u64>, bytes: Vec<u8> },
}

impl Store {
    pub(super) fn len(&self) -> usize {
        match self {
            Self::Dense(n) => *n as usize,
            Self::Integers(ids) => ids.len(),
            Self::Text { offsets, .. } => offsets.len() - 1,
        }
    }

    /// Bytes of the ids.
    pub(super) fn bytes(&self) -> u64 {
        match self {
            Self::Dense(_) => 0,
            Self::Integers(ids) => 8 * ids.capacity() as u64,
            Self::Text { offsets, bytes } => {
                8 * offsets.capacity() as u64 + bytes.capacity() as u64
            }
        }
    }

    pub(super) fn name(&self, row: usize) -> Cow<'_, str> {
        match self {
            Self::Dense(_) => Cow::Owned(row.to_string()),
            Self::Integers(ids) => Cow::Owned(ids[row].to_string()),
            Self::Text { .. } => String::from_utf8_lossy(self.text(row)),
        }
    }

    /// The bytes of a row; empty unless the store is text.
    pub(super) fn text(&self, row: usize) -> &[u8] {
        match self {
            Self::Text { offsets, bytes } => {
                &bytes[offsets[row] as usize..offsets[row + 1] as usize]
            }
            _ => &[],
        }
    }

    pub(super) fn hash(&self, row: u32) -> u64 {
        match self {
            Self::Dense(_) => 0,
            Self::Integers(ids) => hash_integer(ids[row as usize]),
            Self::Text { .. } => hash_text(self.text(row as usize)),
        }
    }

    /// The ids with each row taken from an old one.
    pub(super) fn in_order(&self, old_of_new: &[u32]) -> Self {
        match self {
            Self::Dense(_) | Self::Integers(_) => {
                let id = |&row: &u32| match self {
                    Self::Integers(ids) => ids[row as usize],
                    _ => i64::from(row),
                };
                Self::Integers(old_of_new.iter().map(id).collect())
            }
            Self::Text { bytes, .. } => {
                let mut offsets = Vec::with_capacity(old_of_new.len() + 1);
                let mut sorted = Vec::with_capacity(bytes.len());
                offsets.push(0);
                for &row in old_of_new {
                    sorted.extend_from_slice(self.text(row as usize));
                    offsets.push(sorted.len() as u64);
                }
                Self::Text {
                    offsets,
                    bytes: sorted,
                }
            }
        }
    }

    /// Turns integers or a dense range into text.
    pub(super) fn to_text(&self) -> Self {
        let mut offsets = Vec::with_capacity(self.len() + 1);
        let mut bytes = Vec::new();
        offsets.push(0);
        for row in 0..self.len() {
            bytes.extend_from_slice(self.name(row).as_bytes());
            offsets.push(bytes.len() as u64);
        }
        Self::Text { offsets, bytes }
    }
}

pub(super) fn hash_integer(id: i64) -> u64 {
    mix(id as u64)
}

pub(super) fn hash_text(id: &[u8]) -> u64 {
    let mut hasher = FxHasher::default();
    hasher.write(id);
    mix(hasher.finish())
}

/// Reads an integer only if writing it again gives the same bytes.
pub(crate) fn canonical_integer(id: &[u8]) -> Option<i64> {
    let (negative, digits) = match id {
        [b'-', rest @ ..] => (true, rest),
        _ => (false, id),
    };
    let plain = match digits {
        [] => false,
        [b'0'] => !negative,
        [first, ..] => *first != b'0' && digits.len() <= 19,
    };
    if !plain {
        return None;
    }
    let mut value = 0_i64;
    for &byte in digits {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 {
            return None;
        }
        let digit = i64::from(digit);
        value = value.checked_mul(10)?;
        value = if negative {
            value.checked_sub(digit)?
        } else {
            value.checked_add(digit)?
        };
    }
    Some(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_integers_that_print_the_same_are_canonical() {
        for text in [
            "0",
            "7",
            "-7",
            "9223372036854775807",
            "-9223372036854775808",
        ] {
            assert_eq!(
                canonical_integer(text.as_bytes()).unwrap().to_string(),
                text
            );
        }
        for text in [
            "",
            "-",
            "-0",
            "00",
            "07",
            "+7",
            "1.0",
            " 1",
            "9223372036854775808",
            "99999999999999999999",
        ] {
            assert_eq!(canonical_integer(text.as_bytes()), None, "{text}");
        }
    }
}
