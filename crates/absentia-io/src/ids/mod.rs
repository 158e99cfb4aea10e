//! External ids and their row numbers.

mod index;
mod order;
mod raw;
mod shared;
mod similar;
mod store;

use std::borrow::Cow;

use crate::error::Error;
use index::Index;
pub use raw::RawIds;
pub use shared::borders as id_borders;
pub(crate) use store::canonical_integer;
use store::{Store, hash_integer, hash_text};

/// An id in the form in which it is stored.
#[derive(Clone, Copy, Debug)]
pub(crate) enum IdRef<'a> {
    Integer(i64),
    Text(&'a str),
}

/// An id with its type: an integer, or text.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(untagged)]
pub enum Id {
    /// An integer.
    Integer(i64),
    /// Text.
    Text(String),
}

impl Id {
    /// Whether it is an integer.
    #[must_use]
    pub fn is_integer(&self) -> bool {
        matches!(self, Self::Integer(_))
    }
}

impl std::fmt::Display for Id {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Integer(id) => write!(f, "{id}"),
            Self::Text(id) => f.write_str(id),
        }
    }
}

/// Maps external ids to row numbers `0..len`, and back.
///
/// A new id gets the next row. [`sort_from`](Self::sort_from) then numbers rows by their ids, so that the
/// order in which ids came does not matter.
///
/// Ids are any non-empty UTF-8 text. While all are plain decimal integers they take eight bytes each;
/// otherwise they are stored end to end in one block. The index holds row numbers only.
///
/// ```
/// use absentia_io::IdMap;
///
/// let mut ids = IdMap::new();
/// assert_eq!(ids.intern("42")?, 0);
/// assert_eq!(ids.intern("Amélie")?, 1);
/// assert_eq!(ids.intern("42")?, 0);
/// assert_eq!(ids.get("Amélie"), Some(1));
/// assert_eq!(ids.name(0).as_deref(), Some("42"));
/// # Ok::<(), absentia_io::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct IdMap {
    store: Store,
    index: Index,
}

impl Default for IdMap {
    fn default() -> Self {
        Self::new()
    }
}

impl IdMap {
    /// The largest number of ids a map can hold.
    pub const MAX_LEN: u64 = u32::MAX as u64;

    /// The largest dense range that is written out when an id outside it arrives.
    const MAX_EXPANDED: u32 = 1 << 26;

    /// An empty map.
    #[must_use]
    pub fn new() -> Self {
        Self {
            store: Store::Integers(Vec::new()),
            index: Index::default(),
        }
    }

    /// The ids `"0"` to `"n - 1"`, each its own row number, without storage.
    #[must_use]
    pub fn dense(n: u32) -> Self {
        Self {
            store: Store::Dense(n),
            index: Index::default(),
        }
    }

    /// Whether every id is its own row number by construction.
    #[must_use]
    pub fn is_dense(&self) -> bool {
        matches!(self.store, Store::Dense(_))
    }

    /// How many ids there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.store.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Bytes of the ids and of the table that finds them.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.store.bytes() + self.index.bytes()
    }

    /// Bytes that [`sort_from`](Self::sort_from) takes beside the map.
    pub(crate) fn bytes_to_sort(&self) -> u64 {
        let rows = self.len() as u64;
        match self.store {
            Store::Dense(_) => 0,
            // The order both ways, and the ids in it.
            Store::Integers(_) => 16 * rows,
            // The order and the keys, then the order both ways and the ids in it.
            Store::Text { .. } => (44 * rows).max(8 * rows + self.store.bytes()),
        }
    }

    /// The id of a row.
    #[must_use]
    pub fn name(&self, row: u32) -> Option<Cow<'_, str>> {
        ((row as usize) < self.len()).then(|| self.store.name(row as usize))
    }

    /// The id of a row with its type. All ids of a map are integers, or all are text.
    #[must_use]
    pub fn id(&self, row: u32) -> Option<Id> {
        if row as usize >= self.len() {
            return None;
        }
        Some(match &self.store {
            Store::Dense(_) => Id::Integer(row.into()),
            Store::Integers(ids) => Id::Integer(ids[row as usize]),
            Store::Text { .. } => Id::Text(self.store.name(row as usize).into_owned()),
        })
    }

    /// Whether all ids are integers.
    #[must_use]
    pub fn is_integers(&self) -> bool {
        !matches!(self.store, Store::Text { .. })
    }

    /// All ids in row order.
    #[must_use]
    pub fn iter(&self) -> impl ExactSizeIterator<Item = Cow<'_, str>> {
        (0..self.len()).map(|row| self.store.name(row))
    }

    /// The row of an id.
    #[must_use]
    pub fn get(&self, id: &str) -> Option<u32> {
        match self.store {
            Store::Text { .. } => self.find_text(id.as_bytes()),
            _ => self.get_integer(canonical_integer(id.as_bytes())?),
        }
    }

    /// The row of an id that is an integer.
    #[must_use]
    pub fn get_integer(&self, id: i64) -> Option<u32> {
        match &self.store {
            Store::Dense(n) => u32::try_from(id).ok().filter(|row| row < n),
            Store::Integers(ids) => self
                .index
                .find(hash_integer(id), |row| ids[row as usize] == id),
            Store::Text { .. } => self.find_text(id.to_string().as_bytes()),
        }
    }

    /// The row of an id, which is given the next free row if it is new.
    ///
    /// # Errors
    /// The map is full.
    pub fn intern(&mut self, id: &str) -> Result<u32, Error> {
        match canonical_integer(id.as_bytes()) {
            Some(integer) => self.intern_integer(integer),
            None => self.intern_text(id),
        }
    }

    /// The row of an id that is an integer, which is given the next free row if it is new.
    ///
    /// # Errors
    /// The map is full.
    pub fn intern_integer(&mut self, id: i64) -> Result<u32, Error> {
        if let Some(row) = self.get_integer(id) {
            return Ok(row);
        }
        let row = self.next_row()?;
        if let Store::Dense(n) = &mut self.store {
            if id == i64::from(*n) {
                *n += 1;
                return Ok(row);
            }
            self.expand()?;
        }
        match &mut self.store {
            Store::Integers(ids) => ids.push(id),
            _ => return Ok(self.push_text(id.to_string().as_bytes(), row)),
        }
        self.index_row(hash_integer(id), row);
        Ok(row)
    }

    /// Gives a row another id, and forgets the one it had. Takes time for all ids.
    ///
    /// # Errors
    /// The id is that of another row, or the map is too large to hold it.
    pub fn rename(&mut self, row: u32, id: &str) -> Result<(), Error> {
        let named = self.get(id).filter(|&other| other != row);
        if named.is_some() || id.is_empty() || row as usize >= self.len() {
            let detail = format!("row {row} cannot be renamed to {id:?}");
            return Err(Error::BadIds { detail });
        }
        self.expand()?;
        let mut renamed = Self::new();
        for (at, old) in self.iter().enumerate() {
            renamed.intern(if at as u32 == row { id } else { &old })?;
        }
        *self = renamed;
        Ok(())
    }

    /// Calls `f` for every id in row order, without turning integers into text.
    pub(crate) fn iter_keys<T>(
        &self,
        mut f: impl FnMut(IdRef<'_>) -> Result<T, Error>,
    ) -> Result<Vec<T>, Error> {
        match &self.store {
            Store::Dense(n) => (0..i64::from(*n)).map(|id| f(IdRef::Integer(id))).collect(),
            Store::Integers(ids) => ids.iter().map(|&id| f(IdRef::Integer(id))).collect(),
            Store::Text { .. } => (0..self.len())
                .map(|row| f(IdRef::Text(&self.store.name(row))))
                .collect(),
        }
    }

    pub(crate) fn get_ref(&self, id: IdRef<'_>) -> Option<u32> {
        match id {
            IdRef::Integer(id) => self.get_integer(id),
            IdRef::Text(id) => self.get(id),
        }
    }

    pub(crate) fn intern_ref(&mut self, id: IdRef<'_>) -> Result<u32, Error> {
        match id {
            IdRef::Integer(id) => self.intern_integer(id),
            IdRef::Text(id) => self.intern(id),
        }
    }

    fn intern_text(&mut self, id: &str) -> Result<u32, Error> {
        if !matches!(self.store, Store::Text { .. }) {
            self.expand()?;
            self.restore(self.store.to_text());
        }
        match self.find_text(id.as_bytes()) {
            Some(row) => Ok(row),
            None => Ok(self.push_text(id.as_bytes(), self.next_row()?)),
        }
    }

    fn push_text(&mut self, id: &[u8], row: u32) -> u32 {
        if let Store::Text { offsets, bytes } = &mut self.store {
            bytes.extend_from_slice(id);
            offsets.push(bytes.len() as u64);
        }
        self.index_row(hash_text(id), row);
        row
    }

    fn find_text(&self, id: &[u8]) -> Option<u32> {
        self.index
            .find(hash_text(id), |row| self.store.text(row as usize) == id)
    }

    fn next_row(&self) -> Result<u32, Error> {
        let row = self.len() as u64;
        if row < Self::MAX_LEN {
            Ok(row as u32)
        } else {
            Err(too_many(Self::MAX_LEN, "merge or sample the ids first"))
        }
    }

    /// Stores a dense range as integers, so that other ids can follow.
    fn expand(&mut self) -> Result<(), Error> {
        match self.store {
            Store::Dense(n) if n > Self::MAX_EXPANDED => Err(too_many(
                u64::from(Self::MAX_EXPANDED),
                "row numbers and other ids cannot be mixed at this size",
            )),
            Store::Dense(n) => {
                self.restore(Store::Integers((0..i64::from(n)).collect()));
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// Replaces the store by another form of the same ids and indexes it afresh.
    fn restore(&mut self, store: Store) {
        self.store = store;
        self.index = Index::default();
        self.index.grow(self.store.len(), |_| 0);
        for row in 0..self.store.len() as u32 {
            self.index_row(self.store.hash(row), row);
        }
    }

    fn index_row(&mut self, hash: u64, row: u32) {
        let Self { store, index } = self;
        index.insert(hash, row, |row| store.hash(row));
    }
}

fn too_many(limit: u64, remedy: &'static str) -> Error {
    Error::TooManyIds { limit, remedy }
}

impl PartialEq for IdMap {
    /// Two maps are equal when they give the same names to the same rows, however they store them.
    fn eq(&self, other: &Self) -> bool {
        match (&self.store, &other.store) {
            (Store::Dense(a), Store::Dense(b)) => a == b,
            (Store::Integers(a), Store::Integers(b)) => a == b,
            _ => self.len() == other.len() && self.iter().eq(other.iter()),
        }
    }
}

impl Eq for IdMap {}

impl<S: AsRef<str>> FromIterator<S> for IdMap {
    /// Collects ids in order, leaving out repeats and everything past the largest length.
    fn from_iter<I: IntoIterator<Item = S>>(ids: I) -> Self {
        let mut map = Self::new();
        for id in ids {
            if map.intern(id.as_ref()).is_err() {
                break;
            }
        }
        map
    }
}

#[cfg(test)]
mod tests;
