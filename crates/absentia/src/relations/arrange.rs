//! Which side of the matrix each type is on.

use super::{Entity, ITEMS, RelationError, USERS};
use crate::error::Axis;

/// The types of a relation as they are named.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TypePair {
    /// The type of its rows.
    pub first: String,
    /// The type of its columns.
    pub second: String,
    /// Whether the second role has factors of its own, apart from those that its type has elsewhere.
    pub context: bool,
}

impl TypePair {
    /// The name of the relation.
    #[must_use]
    pub fn name(&self) -> String {
        format!("{}-{}", self.first, self.second)
    }
}

/// Types with their sides, and the numbers of the two types of each relation.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Arrangement {
    /// The types: users, items, and those that relations add, still without rows.
    pub entities: Vec<Entity>,
    /// First and second type of each relation.
    pub pairs: Vec<(usize, usize)>,
    /// The type that each relation adds; nothing where both are there without it.
    pub added: Vec<Option<usize>>,
    /// The relations in an order in which each has a type that is there before it: users, items, or one that an
    /// earlier relation adds.
    pub order: Vec<usize>,
}

impl Arrangement {
    /// Puts users on the side of rows, items on that of columns, and every other type on the side that the types
    /// it is related to are not on.
    ///
    /// # Errors
    /// A relation between types of one side, which needs context factors; one that is connected to nothing; two
    /// between the same types.
    pub fn of(given: &[TypePair]) -> Result<Self, RelationError> {
        let mut entities = vec![
            Entity::new(USERS, Axis::User),
            Entity::new(ITEMS, Axis::Item),
        ];
        let mut pairs = vec![None; given.len()];
        let mut added = vec![None; given.len()];
        let mut order = Vec::with_capacity(given.len());
        loop {
            let before = order.len();
            for (at, pair) in given.iter().enumerate() {
                if pairs[at].is_some() {
                    continue;
                }
                let known = entities.len();
                pairs[at] = placed(&mut entities, pair)?;
                if pairs[at].is_some() {
                    added[at] = (entities.len() > known).then_some(known);
                    order.push(at);
                }
            }
            if order.len() == before {
                break;
            }
        }
        let mut found: Vec<(usize, usize)> = Vec::with_capacity(given.len());
        for (pair, placed) in given.iter().zip(pairs) {
            let Some(pair_of_numbers) = placed else {
                return Err(RelationError::Unconnected {
                    relation: pair.name(),
                    first: pair.first.clone(),
                    second: pair.second.clone(),
                });
            };
            let (first, second) = pair_of_numbers;
            let is_known =
                |known: &(usize, usize)| *known == (first, second) || *known == (second, first);
            if is_known(&(0, 1)) || found.iter().any(is_known) {
                return Err(RelationError::Twice {
                    relation: pair.name(),
                });
            }
            found.push(pair_of_numbers);
        }
        Ok(Self {
            entities,
            pairs: found,
            added,
            order,
        })
    }
}

/// The numbers of the types of a relation, once one of them has a side.
fn placed(
    entities: &mut Vec<Entity>,
    pair: &TypePair,
) -> Result<Option<(usize, usize)>, RelationError> {
    let find = |entities: &[Entity], name: &str| entities.iter().position(|e| e.name == name);
    let first = find(entities, &pair.first);
    if pair.context {
        let Some(first) = first else {
            return Ok(None);
        };
        let name = context_name(&pair.second, &pair.first);
        if find(entities, &name).is_some() {
            return Err(RelationError::Twice {
                relation: pair.name(),
            });
        }
        entities.push(Entity::new(&name, entities[first].axis.other()));
        return Ok(Some((first, entities.len() - 1)));
    }
    let second = find(entities, &pair.second);
    let mut added = |known: usize, name: &str| {
        entities.push(Entity::new(name, entities[known].axis.other()));
        entities.len() - 1
    };
    match (first, second) {
        (None, None) => Ok(None),
        (Some(first), None) if pair.first != pair.second => {
            Ok(Some((first, added(first, &pair.second))))
        }
        (None, Some(second)) => Ok(Some((added(second, &pair.first), second))),
        (Some(first), Some(second)) if entities[first].axis != entities[second].axis => {
            Ok(Some((first, second)))
        }
        _ => Err(RelationError::SameSide {
            relation: pair.name(),
            first: pair.first.clone(),
            second: pair.second.clone(),
        }),
    }
}

/// What the second role of a relation is called if it has factors of its own.
#[must_use]
pub fn context_name(second: &str, first: &str) -> String {
    format!("{second} of {first}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pair(first: &str, second: &str, context: bool) -> TypePair {
        TypePair {
            first: first.to_owned(),
            second: second.to_owned(),
            context,
        }
    }

    fn sides(given: &[TypePair]) -> Result<Vec<(String, Axis)>, RelationError> {
        let arranged = Arrangement::of(given)?;
        let entities = arranged.entities.into_iter().skip(2);
        Ok(entities.map(|e| (e.name, e.axis)).collect())
    }

    #[test]
    fn types_are_on_the_other_side_of_what_they_belong_to() {
        let given = [
            pair("words", "tags", false),
            pair("items", "tags", false),
            pair("users", "towns", false),
        ];
        let expected = [
            ("tags", Axis::User),
            ("towns", Axis::Item),
            ("words", Axis::Item),
        ];
        let expected = expected.map(|(name, axis)| (name.to_owned(), axis));
        assert_eq!(sides(&given).as_deref(), Ok(&expected[..]));
        assert_eq!(
            Arrangement::of(&given).map(|a| a.pairs),
            Ok(vec![(4, 2), (1, 2), (0, 3)])
        );
    }

    #[test]
    fn each_type_is_added_by_one_relation_whichever_end_it_is() {
        let given = [
            pair("words", "tags", false),
            pair("tags", "items", false),
            pair("users", "words", false),
            pair("users", "users", true),
        ];
        let arranged = Arrangement::of(&given).unwrap();
        let name = |at: usize| &arranged.entities[at].name[..];
        let added: Vec<_> = arranged.added.iter().map(|at| at.map(name)).collect();
        // Tags and words have other relations that add them, so that the first adds nothing.
        let expected = [None, Some("tags"), Some("words"), Some("users of users")];
        assert_eq!(added, expected);
        assert_eq!(arranged.order, [1, 2, 3, 0]);
    }

    #[test]
    fn a_type_on_both_sides_needs_context_factors() {
        let triangle = [pair("items", "tags", false), pair("users", "tags", false)];
        for refused in [&triangle[..], &[pair("users", "users", false)]] {
            assert!(matches!(
                sides(refused),
                Err(RelationError::SameSide { .. })
            ));
        }
        let given = [
            pair("users", "users", true),
            pair("items", "tags", false),
            pair("users", "tags", true),
        ];
        let expected = [
            ("users of users", Axis::Item),
            ("tags", Axis::User),
            ("tags of users", Axis::Item),
        ];
        let expected = expected.map(|(name, axis)| (name.to_owned(), axis));
        assert_eq!(sides(&given).as_deref(), Ok(&expected[..]));
    }

    #[test]
    fn relations_must_be_connected_and_differ() {
        let apart = sides(&[pair("shops", "towns", false)]);
        assert!(matches!(apart, Err(RelationError::Unconnected { .. })));
        let tags = pair("items", "tags", false);
        for twice in [
            vec![tags.clone(), tags],
            vec![pair("users", "items", false)],
            vec![pair("items", "users", false)],
            // Both would be called "users of users".
            vec![pair("users", "users", true), pair("users", "users", true)],
        ] {
            assert!(matches!(sides(&twice), Err(RelationError::Twice { .. })));
        }
    }
}
