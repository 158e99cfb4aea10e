//! What weights keep of the data they were made for.

use crate::weights::scheme::{Resolved, Term};

/// The meaning of the columns of A and B, part by part, with everything learned from data frozen.
///
/// Together with A and B this is all there is to save.
#[derive(Clone, Debug, Default, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Frozen {
    /// The terms that were added up, in the order of their columns.
    pub parts: Vec<FrozenPart>,
}

/// One term and the number of its columns.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct FrozenPart {
    /// Number of columns of A and B.
    pub rank: usize,
    /// What they are.
    #[cfg_attr(feature = "serde", serde(with = "stored"))]
    pub kind: Term<Resolved>,
}

/// The weights as a scheme, where they can be written as one; other parts are named only.
impl std::fmt::Display for Frozen {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for (at, FrozenPart { kind, .. }) in self.parts.iter().enumerate() {
            let plus = if at == 0 { "" } else { " + " };
            match kind.behaviour().scheme().and_then(|scheme| scheme.spec()) {
                Some(spec) => write!(f, "{plus}{spec}")?,
                None => write!(f, "{plus}{}", kind.name())?,
            }
        }
        Ok(())
    }
}

/// Terms as model files have them: a map from name to content, or the name alone for given factors.
#[cfg(feature = "serde")]
mod stored {
    use serde::de::value::MapAccessDeserializer;
    use serde::de::{Error, MapAccess, Visitor};
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    use crate::weights::scheme::{Resolved, Term};
    use crate::weights::schemes::GivenFactors;

    const GIVEN: &str = "low-rank";

    pub(super) fn serialize<S: Serializer>(
        kind: &Term<Resolved>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        match kind {
            Term::LowRank(GivenFactors) => serializer.serialize_str(GIVEN),
            kind => kind.serialize(serializer),
        }
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Term<Resolved>, D::Error> {
        deserializer.deserialize_any(KindVisitor)
    }

    struct KindVisitor;

    impl<'de> Visitor<'de> for KindVisitor {
        type Value = Term<Resolved>;

        fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            f.write_str("a kind of weights")
        }

        fn visit_str<E: Error>(self, name: &str) -> Result<Self::Value, E> {
            if name == GIVEN {
                return Ok(Term::LowRank(GivenFactors));
            }
            Err(E::unknown_variant(name, &[GIVEN]))
        }

        fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Self::Value, A::Error> {
            Term::deserialize(MapAccessDeserializer::new(map))
        }
    }
}
