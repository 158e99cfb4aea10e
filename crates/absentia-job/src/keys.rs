//! Groups of a job as keys and values: what a configuration file, a model file and Python write.
//!
//! A key is the name of a field with dashes. A value is a text, a number, `true` or `false`, or a list of
//! those; numbers are read like the text that they are written as, so that `factors = 8`,
//! `factors = "8"` and `--factors 8` are the same.

use std::error::Error;
use std::fmt::Display;
use std::num::{IntErrorKind, ParseFloatError, ParseIntError};
use std::str::FromStr;

use absentia::suggest::similar;
use toml::Value;

use crate::error::JobError;

/// A value that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{key} = {given}: {reason}")]
pub struct KeyError {
    /// The key.
    pub key: String,
    /// The value as it was given.
    pub given: String,
    /// What is wrong with it.
    pub reason: String,
}

impl KeyError {
    fn new(key: &str, given: &dyn Display, reason: &dyn Display) -> Self {
        Self {
            key: key.to_owned(),
            given: given.to_string(),
            reason: reason.to_string(),
        }
    }
}

/// A field that can be read from a value and written as one.
pub trait Field {
    /// Sets the field from a value.
    ///
    /// # Errors
    /// The value cannot be read.
    fn read(&mut self, key: &str, value: &Value) -> Result<(), KeyError>;

    /// The value, or `None` if the field was not given.
    fn written(&self) -> Option<Value>;
}

impl<T> Field for Option<T>
where
    T: FromStr + Display,
    T::Err: Error + 'static,
{
    fn read(&mut self, key: &str, value: &Value) -> Result<(), KeyError> {
        *self = Some(parsed(key, value)?);
        Ok(())
    }

    fn written(&self) -> Option<Value> {
        self.as_ref().map(|value| typed(&value.to_string()))
    }
}

impl<T> Field for Vec<T>
where
    T: FromStr + Display,
    T::Err: Error + 'static,
{
    fn read(&mut self, key: &str, value: &Value) -> Result<(), KeyError> {
        *self = match value {
            Value::Array(values) => {
                let values = values.iter().map(|value| parsed(key, value));
                values.collect::<Result<_, _>>()?
            }
            value => vec![parsed(key, value)?],
        };
        Ok(())
    }

    fn written(&self) -> Option<Value> {
        let values = || self.iter().map(|value| typed(&value.to_string()));
        (!self.is_empty()).then(|| Value::Array(values().collect()))
    }
}

impl Field for bool {
    fn read(&mut self, key: &str, value: &Value) -> Result<(), KeyError> {
        let Value::Boolean(given) = value else {
            return Err(KeyError::new(key, value, &"expected true or false"));
        };
        *self = *given;
        Ok(())
    }

    fn written(&self) -> Option<Value> {
        self.then_some(Value::Boolean(true))
    }
}

fn parsed<T: FromStr<Err: Error + 'static>>(key: &str, value: &Value) -> Result<T, KeyError> {
    let text = text_of(value)
        .ok_or_else(|| KeyError::new(key, value, &"expected a text, a number or a list of them"))?;
    text.parse()
        .map_err(|error: T::Err| KeyError::new(key, value, &reason(&error)))
}

/// Why a value was refused, for people: Rust's own errors of numbers are meant for programmers.
#[must_use]
pub fn reason(error: &(dyn Error + 'static)) -> String {
    if let Some(error) = error.downcast_ref::<ParseIntError>() {
        return match error.kind() {
            IntErrorKind::PosOverflow => "the number is too large",
            _ => "expected a whole number that is not negative",
        }
        .to_owned();
    }
    if error.is::<ParseFloatError>() {
        return "expected a number".to_owned();
    }
    error.to_string()
}

/// A value as it would be written on the command line; lists and tables have no text.
#[must_use]
pub fn text_of(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Integer(number) => Some(number.to_string()),
        Value::Float(number) => Some(number.to_string()),
        Value::Datetime(time) => Some(time.to_string()),
        Value::Boolean(_) | Value::Array(_) | Value::Table(_) => None,
    }
}

/// A number where writing it out gives the same text again, a text otherwise.
#[must_use]
pub fn typed(text: &str) -> Value {
    if let Some(number) = text.parse::<i64>().ok().filter(|x| x.to_string() == text) {
        return Value::Integer(number);
    }
    match text.parse::<f64>() {
        Ok(number) if number.is_finite() && number.to_string() == text && text.contains('.') => {
            Value::Float(number)
        }
        _ => Value::String(text.to_owned()),
    }
}

/// A group of fields that are keys of a job.
///
/// The key of a field is its name with dashes, which is also the name of its flag: clap derives that from
/// the field as well.
pub trait Keys {
    /// Every field by its name.
    fn fields(&mut self) -> NamedFields<'_>;

    /// Every key of the group.
    fn key_names(&mut self) -> Vec<String> {
        let fields = self.fields().into_iter();
        fields.map(|(name, _)| key_of(name)).collect()
    }

    /// Whether a key is one of the group.
    fn has_key(&mut self, key: &str) -> bool {
        self.fields().iter().any(|(name, _)| key_of(name) == key)
    }

    /// Sets the value of a key, and replaces any earlier value; `header = false` is `no-header = true`.
    ///
    /// # Errors
    /// A key that the group does not have, a value that cannot be read.
    fn set_key(&mut self, key: &str, value: &Value) -> Result<(), JobError> {
        let on = Value::Boolean(true);
        let opposite = format!("no-{key}");
        let (key, value) = if *value == Value::Boolean(false) && self.has_key(&opposite) {
            (&*opposite, &on)
        } else {
            (key, value)
        };
        let mut fields = self.fields().into_iter();
        if let Some((_, field)) = fields.find(|(name, _)| key_of(name) == key) {
            return Ok(field.read(key, value)?);
        }
        let keys = self.key_names();
        let similar = match usual_name(key, |usual| keys.iter().any(|key| key == usual)) {
            Some(usual) => vec![usual],
            None => similar(key, keys.iter().map(String::as_str)),
        };
        Err(JobError::UnknownKey {
            key: key.to_owned(),
            similar: similar.into_iter().map(str::to_owned).collect(),
        })
    }
}

/// Fields by their names.
pub type NamedFields<'f> = Vec<(&'static str, &'f mut dyn Field)>;

/// The key of a field.
pub(crate) fn key_of(field: &str) -> String {
    field.replace('_', "-")
}

/// The key of a parameter of the engine.
#[must_use]
pub fn key_of_parameter(name: &str) -> String {
    match name {
        "steps" => "cg-steps".to_owned(),
        name => key_of(name),
    }
}

/// The key that other programs call by this name, of those that are known here.
#[must_use]
pub fn usual_name(name: &str, is_known: impl Fn(&str) -> bool) -> Option<&'static str> {
    let names: &[&str] = match name.replace('_', "-").as_str() {
        "lambda" | "reg" | "l2" | "reg-param" | "regularisation" => &["regularization"],
        "rank" | "dim" | "dimensions" | "n-factors" | "num-factors" | "embedding-size" => {
            &["factors"]
        }
        "epochs" | "sweeps" | "n-iter" | "num-iterations" | "max-iter" => &["iterations"],
        "lr" => &["learning-rate"],
        "alpha" => &["confidence"],
        "random-state" | "random-seed" => &["seed"],
        "num-threads" | "n-jobs" | "jobs" => &["threads"],
        "sep" | "delimiter" => &["separator"],
        // What a command writes may be a model.
        "out" | "output" | "save" => &["out", "model"],
        "topk" | "top-k" | "limit" => &["top"],
        "port" | "host" | "bind" => &["address"],
        _ => &[],
    };
    names.iter().copied().find(|name| is_known(name))
}

/// Lists the fields of a group, with their keys where those are not the names of the fields. A field that is
/// left out does not compile.
macro_rules! keys {
    ($group:ident { $($field:ident $(as $key:literal)?),* $(,)? }) => {
        impl $crate::keys::Keys for $group {
            fn fields(&mut self) -> $crate::keys::NamedFields<'_> {
                let Self { $($field),* } = self;
                vec![$((
                    [$($key,)? stringify!($field)][0],
                    $field as &mut dyn $crate::keys::Field,
                )),*]
            }
        }
    };
}

pub(crate) use keys;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_that_look_like_numbers_keep_their_zeros() {
        assert_eq!(typed("007"), Value::String("007".into()));
        assert_eq!(typed("7"), Value::Integer(7));
        assert_eq!(typed("0.01"), Value::Float(0.01));
        assert_eq!(typed("1e-3"), Value::String("1e-3".into()));
    }

    #[test]
    fn a_value_is_read_like_its_text() {
        let mut factors: Option<usize> = None;
        for value in [Value::Integer(8), Value::String("8".into())] {
            Field::read(&mut factors, "factors", &value).expect("a number");
            assert_eq!(factors, Some(8));
        }
        let wrong = Field::read(&mut factors, "factors", &Value::Boolean(true));
        let text = wrong.expect_err("no number").to_string();
        assert!(text.starts_with("factors = true: expected"), "{text}");
    }
}
