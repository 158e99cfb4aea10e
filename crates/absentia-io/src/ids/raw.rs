//! The form of an id map that is written to model files.

use std::borrow::Cow;

use super::store::Store;
use super::{IdMap, Index};
use crate::error::Error;

/// The arrays behind an [`IdMap`], for storing it and loading it again.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum RawIds<'a> {
    /// Row `r` of this many has the id `r`.
    Dense(u32),
    /// One integer a row.
    Integers(Cow<'a, [i64]>),
    /// Row `r` is `bytes[offsets[r]..offsets[r + 1]]`.
    Text {
        /// One more offset than rows; the first is 0 and the last the number of bytes.
        offsets: Cow<'a, [u64]>,
        /// All ids end to end, UTF-8.
        bytes: Cow<'a, [u8]>,
    },
}

impl IdMap {
    /// The arrays behind the map, borrowed.
    #[must_use]
    pub fn raw(&self) -> RawIds<'_> {
        match &self.store {
            Store::Dense(n) => RawIds::Dense(*n),
            Store::Integers(ids) => RawIds::Integers(Cow::Borrowed(ids)),
            Store::Text { offsets, bytes } => RawIds::Text {
                offsets: Cow::Borrowed(offsets),
                bytes: Cow::Borrowed(bytes),
            },
        }
    }

    /// Rebuilds a map from its arrays.
    ///
    /// # Errors
    /// The offsets do not fit the bytes, an id is empty or not UTF-8, or two rows have the same id.
    pub fn from_raw(raw: RawIds<'_>) -> Result<Self, Error> {
        let store = match raw {
            RawIds::Dense(n) => return Ok(Self::dense(n)),
            RawIds::Integers(ids) => Store::Integers(ids.into_owned()),
            RawIds::Text { offsets, bytes } => {
                check_text(&offsets, &bytes)?;
                Store::Text {
                    offsets: offsets.into_owned(),
                    bytes: bytes.into_owned(),
                }
            }
        };
        if store.len() as u64 > Self::MAX_LEN {
            return Err(bad("more rows than a map can hold"));
        }
        Self::index_distinct(store)
    }

    fn index_distinct(store: Store) -> Result<Self, Error> {
        let mut map = Self {
            store,
            index: Index::default(),
        };
        map.index.grow(map.store.len(), |_| 0);
        for row in 0..map.store.len() as u32 {
            if map.row_of_same_id(row).is_some() {
                return Err(bad(format!(
                    "row {row} repeats id {:?}",
                    map.store.name(row as usize)
                )));
            }
            map.index_row(map.store.hash(row), row);
        }
        Ok(map)
    }

    fn row_of_same_id(&self, row: u32) -> Option<u32> {
        match &self.store {
            Store::Integers(ids) => self.get_integer(ids[row as usize]),
            _ => self.find_text(self.store.text(row as usize)),
        }
    }
}

fn check_text(offsets: &[u64], bytes: &[u8]) -> Result<(), Error> {
    let text = std::str::from_utf8(bytes)
        .map_err(|e| bad(format!("not UTF-8 at byte {}", e.valid_up_to())))?;
    if offsets.first() != Some(&0) || offsets.last() != Some(&(bytes.len() as u64)) {
        return Err(bad("offsets do not span the text"));
    }
    for (row, pair) in offsets.windows(2).enumerate() {
        if pair[0] >= pair[1] {
            return Err(bad(format!("row {row} is empty or its offsets decrease")));
        }
        if !text.is_char_boundary(pair[1] as usize) {
            return Err(bad(format!("row {row} ends inside a character")));
        }
    }
    Ok(())
}

fn bad(detail: impl Into<String>) -> Error {
    Error::BadIds {
        detail: detail.into(),
    }
}
