//! Picks the wanted values out of a JSON object without building the rest of it.

use std::borrow::Cow;
use std::fmt;

use serde::de::{Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, de};

use crate::bad_row::RowFault;
use crate::error::shorten;

/// A value that can be an id, a number or a time.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) enum Cell<'a> {
    #[default]
    Missing,
    Integer(i64),
    Float(f64),
    Text(Cow<'a, str>),
    /// Null, a truth value, a list or an object.
    Other,
}

/// The values under the five keys, `Missing` where there is none; of repeated keys the last counts.
pub(super) fn object<'a>(
    line: &'a [u8],
    keys: &[Option<String>; 5],
) -> Result<[Cell<'a>; 5], RowFault> {
    let mut parser = serde_json::Deserializer::from_slice(line);
    let cells = parser.deserialize_map(ObjectVisitor { keys });
    cells
        .and_then(|cells| parser.end().map(|()| cells))
        .map_err(|error| RowFault::Json {
            detail: shorten(error.to_string().as_bytes()),
        })
}

struct ObjectVisitor<'k> {
    keys: &'k [Option<String>; 5],
}

impl<'de> Visitor<'de> for ObjectVisitor<'_> {
    type Value = [Cell<'de>; 5];

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut cells = Self::Value::default();
        while let Some(KeyText(key)) = map.next_key::<KeyText<'_>>()? {
            if !self.keys.iter().flatten().any(|wanted| *wanted == key) {
                map.next_value::<IgnoredAny>()?;
                continue;
            }
            let cell: Cell<'_> = map.next_value()?;
            for (place, wanted) in self.keys.iter().enumerate() {
                if wanted.as_deref() == Some(&*key) {
                    cells[place] = cell.clone();
                }
            }
        }
        Ok(cells)
    }
}

/// A key, borrowed from the line unless it holds escapes.
struct KeyText<'a>(Cow<'a, str>);

impl<'de: 'a, 'a> Deserialize<'de> for KeyText<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match Cell::deserialize(deserializer)? {
            Cell::Text(text) => Ok(Self(text)),
            _ => Err(de::Error::custom("a key that is not text")),
        }
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Cell<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(CellVisitor)
    }
}

struct CellVisitor;

impl<'de> Visitor<'de> for CellVisitor {
    type Value = Cell<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_i64<E>(self, value: i64) -> Result<Self::Value, E> {
        Ok(Cell::Integer(value))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Self::Value, E> {
        // An id above the signed range keeps all its digits as text.
        Ok(i64::try_from(value)
            .map_or_else(|_| Cell::Text(Cow::Owned(value.to_string())), Cell::Integer))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Self::Value, E> {
        Ok(Cell::Float(value))
    }

    fn visit_borrowed_str<E>(self, value: &'de str) -> Result<Self::Value, E> {
        Ok(Cell::Text(Cow::Borrowed(value)))
    }

    fn visit_str<E>(self, value: &str) -> Result<Self::Value, E> {
        Ok(Cell::Text(Cow::Owned(value.to_owned())))
    }

    fn visit_bool<E>(self, _: bool) -> Result<Self::Value, E> {
        Ok(Cell::Other)
    }

    fn visit_unit<E>(self) -> Result<Self::Value, E> {
        Ok(Cell::Other)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Self::Value, A::Error> {
        while list.next_element::<IgnoredAny>()?.is_some() {}
        Ok(Cell::Other)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(Cell::Other)
    }
}
