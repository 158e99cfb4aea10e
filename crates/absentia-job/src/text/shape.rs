//! The shape of a matrix.

use std::fmt;
use std::str::FromStr;

use absentia::error::TextError;

/// Numbers of users and items, such as `943,1682`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Number of users.
    pub users: u32,
    /// Number of items.
    pub items: u32,
}

impl FromStr for Shape {
    type Err = TextError;

    fn from_str(text: &str) -> Result<Self, TextError> {
        let wrong = || TextError::new(text, "users,items as in 943,1682");
        let (users, items) = text.split_once(',').ok_or_else(wrong)?;
        Ok(Self {
            users: users.trim().parse().map_err(|_| wrong())?,
            items: items.trim().parse().map_err(|_| wrong())?,
        })
    }
}

impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{},{}", self.users, self.items)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shapes_have_two_numbers() {
        let shape: Shape = "943, 1682".parse().expect("a shape");
        assert_eq!((shape.users, shape.items), (943, 1682));
        assert_eq!(shape.to_string(), "943,1682");
        assert!("943".parse::<Shape>().is_err());
    }
}
