//! A value for each side of the matrix.

use std::ops::{Index, IndexMut};

use crate::error::Axis;

/// One value for the users and one for the items; `sides[Axis::User]` is that of the users.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Sides<T> {
    /// The value of the users.
    pub users: T,
    /// The value of the items.
    pub items: T,
}

impl<T> Sides<T> {
    /// Calls a function for each side, users first, and yields the values.
    pub fn from_fn(mut value: impl FnMut(Axis) -> T) -> Self {
        Self {
            users: value(Axis::User),
            items: value(Axis::Item),
        }
    }

    /// Applies a function to both values, users first.
    pub fn map<U>(self, mut f: impl FnMut(T) -> U) -> Sides<U> {
        Sides {
            users: f(self.users),
            items: f(self.items),
        }
    }

    /// Both values by reference.
    pub fn as_ref(&self) -> Sides<&T> {
        Sides {
            users: &self.users,
            items: &self.items,
        }
    }

    /// The value of one side to change, and that of the other side to read.
    pub fn own_and_other(&mut self, axis: Axis) -> (&mut T, &T) {
        match axis {
            Axis::User => (&mut self.users, &self.items),
            Axis::Item => (&mut self.items, &self.users),
        }
    }
}

impl<T> Index<Axis> for Sides<T> {
    type Output = T;

    fn index(&self, axis: Axis) -> &T {
        match axis {
            Axis::User => &self.users,
            Axis::Item => &self.items,
        }
    }
}

impl<T> IndexMut<Axis> for Sides<T> {
    fn index_mut(&mut self, axis: Axis) -> &mut T {
        match axis {
            Axis::User => &mut self.users,
            Axis::Item => &mut self.items,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_side_has_its_own_value() {
        let mut sides = Sides::from_fn(|axis| axis.to_string());
        let (own, other) = sides.own_and_other(Axis::Item);
        own.push_str(other);
        assert_eq!(sides[Axis::Item], "itemuser");
        assert_eq!(
            sides.as_ref().map(String::len),
            Sides { users: 4, items: 8 }
        );
        sides[Axis::User].clear();
        assert_eq!(sides.users, "");
    }
}
