//! Reading JSON into a shape: an object where a struct is expected, and the path of what is wrong.
//!
//! `serde` also reads a struct from an array, field by field, and a word of a list from an object. Neither is
//! documented, so that both are refused here. [`Strict`] passes everything else on to the reader of JSON and
//! follows where it is.

use std::cell::RefCell;
use std::fmt;

use serde::de::value::StringDeserializer;
use serde::de::{
    self, Deserialize as _, DeserializeOwned, DeserializeSeed, Deserializer, EnumAccess,
    IntoDeserializer as _, MapAccess, SeqAccess, Unexpected, Visitor,
};
use serde::forward_to_deserialize_any;

/// What does not have the expected shape.
pub(super) struct Wrong {
    pub(super) error: serde_json::Error,
    /// The path of the value, such as `events[3].kind`; empty for the body itself.
    pub(super) path: String,
}

/// Reads one JSON value.
pub(super) fn read<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, Wrong> {
    let place = Place::default();
    let mut json = serde_json::Deserializer::from_slice(bytes);
    let inner = Strict {
        inner: &mut json,
        place: &place,
    };
    let value = T::deserialize(inner).and_then(|value| json.end().map(|()| value));
    value.map_err(|error| Wrong {
        path: place.path(&error),
        error,
    })
}

/// Where the reader is. What it has entered stays there when reading fails.
#[derive(Default)]
struct Place(RefCell<Vec<Step>>);

enum Step {
    Field(String),
    Element(usize),
}

impl Place {
    /// Runs something one step further inside.
    fn within<T, E>(&self, step: Step, run: impl FnOnce() -> Result<T, E>) -> Result<T, E> {
        self.0.borrow_mut().push(step);
        let done = run()?;
        self.0.borrow_mut().pop();
        Ok(done)
    }

    /// The path of an error. Which field is missing or there twice, `serde` says in its message alone.
    fn path(&self, error: &serde_json::Error) -> String {
        let mut path = String::new();
        for step in self.0.borrow().iter() {
            match step {
                Step::Field(name) if path.is_empty() => path.push_str(name),
                Step::Field(name) => path.extend([".", name]),
                Step::Element(at) => path.extend(["[", &at.to_string(), "]"]),
            }
        }
        let message = error.to_string();
        let named = ["missing field `", "duplicate field `"]
            .iter()
            .find_map(|start| message.strip_prefix(start)?.split_once('`'));
        if let Some((name, _)) = named {
            let dot = if path.is_empty() { "" } else { "." };
            path.extend([dot, name]);
        }
        path
    }
}

/// A reader, or a visitor, that is followed.
struct Strict<'p, T> {
    inner: T,
    place: &'p Place,
}

impl<'de, D: Deserializer<'de>> Deserializer<'de> for Strict<'_, D> {
    type Error = D::Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, D::Error> {
        let (inner, place) = (visitor, self.place);
        self.inner.deserialize_any(Strict { inner, place })
    }

    fn deserialize_f32<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, D::Error> {
        self.inner.deserialize_f32(visitor)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, D::Error> {
        let (inner, place) = (visitor, self.place);
        self.inner.deserialize_option(Strict { inner, place })
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, D::Error> {
        let (inner, place) = (Object(visitor), self.place);
        self.inner
            .deserialize_struct(name, fields, Strict { inner, place })
    }

    /// A word; the form `{"word": null}` is refused.
    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, D::Error> {
        let word: StringDeserializer<D::Error> =
            String::deserialize(self.inner)?.into_deserializer();
        visitor.visit_enum(word)
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f64 char str string bytes byte_buf unit unit_struct
        newtype_struct seq tuple tuple_struct map identifier ignored_any
    }
}

impl<'de, V: Visitor<'de>> Visitor<'de> for Strict<'_, V> {
    type Value = V::Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.inner.expecting(f)
    }

    fn visit_bool<E: de::Error>(self, value: bool) -> Result<V::Value, E> {
        self.inner.visit_bool(value)
    }

    fn visit_i64<E: de::Error>(self, value: i64) -> Result<V::Value, E> {
        self.inner.visit_i64(value)
    }

    fn visit_u64<E: de::Error>(self, value: u64) -> Result<V::Value, E> {
        self.inner.visit_u64(value)
    }

    fn visit_f64<E: de::Error>(self, value: f64) -> Result<V::Value, E> {
        self.inner.visit_f64(value)
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<V::Value, E> {
        self.inner.visit_str(text)
    }

    fn visit_borrowed_str<E: de::Error>(self, text: &'de str) -> Result<V::Value, E> {
        self.inner.visit_borrowed_str(text)
    }

    fn visit_string<E: de::Error>(self, text: String) -> Result<V::Value, E> {
        self.inner.visit_string(text)
    }

    fn visit_none<E: de::Error>(self) -> Result<V::Value, E> {
        self.inner.visit_none()
    }

    fn visit_unit<E: de::Error>(self) -> Result<V::Value, E> {
        self.inner.visit_unit()
    }

    fn visit_some<D: Deserializer<'de>>(self, inner: D) -> Result<V::Value, D::Error> {
        let place = self.place;
        self.inner.visit_some(Strict { inner, place })
    }

    fn visit_seq<A: SeqAccess<'de>>(self, inner: A) -> Result<V::Value, A::Error> {
        let place = self.place;
        self.inner.visit_seq(Elements {
            inner,
            place,
            next: 0,
        })
    }

    fn visit_map<A: MapAccess<'de>>(self, inner: A) -> Result<V::Value, A::Error> {
        let place = self.place;
        self.inner.visit_map(Fields {
            inner,
            place,
            name: String::new(),
        })
    }

    fn visit_enum<A: EnumAccess<'de>>(self, access: A) -> Result<V::Value, A::Error> {
        self.inner.visit_enum(access)
    }
}

/// The visitor of a struct, which takes an object and nothing else.
struct Object<V>(V);

impl<'de, V: Visitor<'de>> Visitor<'de> for Object<V> {
    type Value = V::Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, _: A) -> Result<V::Value, A::Error> {
        Err(de::Error::invalid_type(Unexpected::Seq, &self))
    }

    fn visit_map<A: MapAccess<'de>>(self, fields: A) -> Result<V::Value, A::Error> {
        self.0.visit_map(fields)
    }
}

struct Elements<'p, A> {
    inner: A,
    place: &'p Place,
    next: usize,
}

impl<'de, A: SeqAccess<'de>> SeqAccess<'de> for Elements<'_, A> {
    type Error = A::Error;

    fn next_element_seed<T: DeserializeSeed<'de>>(
        &mut self,
        inner: T,
    ) -> Result<Option<T::Value>, A::Error> {
        let (place, step) = (self.place, Step::Element(self.next));
        self.next += 1;
        place.within(step, || {
            self.inner.next_element_seed(Strict { inner, place })
        })
    }
}

struct Fields<'p, A> {
    inner: A,
    place: &'p Place,
    /// The field whose value is next.
    name: String,
}

impl<'de, A: MapAccess<'de>> MapAccess<'de> for Fields<'_, A> {
    type Error = A::Error;

    fn next_key_seed<T: DeserializeSeed<'de>>(
        &mut self,
        seed: T,
    ) -> Result<Option<T::Value>, A::Error> {
        let Some(name) = self.inner.next_key::<String>()? else {
            return Ok(None);
        };
        let key = name.as_str().into_deserializer();
        let key = self
            .place
            .within(Step::Field(name.clone()), || seed.deserialize(key))?;
        self.name = name;
        Ok(Some(key))
    }

    fn next_value_seed<T: DeserializeSeed<'de>>(&mut self, inner: T) -> Result<T::Value, A::Error> {
        let (place, step) = (self.place, Step::Field(std::mem::take(&mut self.name)));
        place.within(step, || self.inner.next_value_seed(Strict { inner, place }))
    }
}

impl<'de, T: DeserializeSeed<'de>> DeserializeSeed<'de> for Strict<'_, T> {
    type Value = T::Value;

    fn deserialize<D: Deserializer<'de>>(self, inner: D) -> Result<T::Value, D::Error> {
        let place = self.place;
        self.inner.deserialize(Strict { inner, place })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde::Deserialize;

    #[derive(Debug, Default, Deserialize, PartialEq)]
    #[serde(deny_unknown_fields, default)]
    struct Outer {
        inner: Vec<Inner>,
        maybe: Option<Inner>,
        word: Word,
        number: f32,
    }

    #[derive(Debug, Default, Deserialize, PartialEq)]
    #[serde(deny_unknown_fields)]
    struct Inner {
        name: String,
        #[serde(default)]
        size: Option<u32>,
    }

    #[derive(Debug, Default, Deserialize, PartialEq)]
    #[serde(rename_all = "kebab-case")]
    enum Word {
        #[default]
        First,
        Second,
    }

    #[test]
    fn objects_are_read_and_what_is_wrong_is_named() {
        let text = br#"{"inner": [{"name": "a", "size": 2}], "word": "second", "maybe": {"name": "b"}, "number": 0.1}"#;
        let read_whole: Outer = read(text).unwrap_or_default();
        let plain: Outer = serde_json::from_slice(text).unwrap();
        assert_eq!(read_whole, plain);
        assert_eq!(plain.inner[0].size, Some(2));
        for (text, path) in [
            ("[]", ""),
            ("[[], null, \"second\", 1]", ""),
            ("7", ""),
            (r#"{"inner": {}}"#, "inner"),
            (r#"{"inner": [["a", 1]]}"#, "inner[0]"),
            (r#"{"inner": [{"name": "a"}, []]}"#, "inner[1]"),
            (
                r#"{"inner": [{"name": "a"}, {"name": 7}]}"#,
                "inner[1].name",
            ),
            (r#"{"inner": [{"size": 1}]}"#, "inner[0].name"),
            (r#"{"inner": [{"name": "a", "size": -1}]}"#, "inner[0].size"),
            (r#"{"maybe": ["b"]}"#, "maybe"),
            (r#"{"maybe": {}}"#, "maybe.name"),
            (r#"{"maybe": {"name": "b", "other": 1}}"#, "maybe.other"),
            (r#"{"maybe": {"name": "b", "name": "c"}}"#, "maybe.name"),
            (r#"{"word": "third"}"#, "word"),
            (r#"{"word": {"second": null}}"#, "word"),
            (r#"{"word": ["second"]}"#, "word"),
            (r#"{"number": "1"}"#, "number"),
            (r#"{"other": 1}"#, "other"),
        ] {
            let wrong = read::<Outer>(text.as_bytes()).err().map(|wrong| wrong.path);
            assert_eq!(wrong.as_deref(), Some(path), "{text}");
        }
        assert!(read::<Outer>(b"{} {}").is_err());
    }
}
