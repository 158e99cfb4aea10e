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
            Term::Product(product) => serializer.collect_map([(product.stored_name(), product)]),
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

#[cfg(all(test, feature = "serde"))]
mod tests {
    use super::*;

    #[test]
    fn terms_are_stored_as_in_every_model_file() {
        for (text, display) in [
            (
                r#"{"parts":[{"rank":1,"kind":{"uniform":{"weight":0.5}}}]}"#,
                "uniform:0.5",
            ),
            (
                r#"{"parts":[{"rank":2,"kind":"low-rank"},{"rank":1,"kind":{"popularity":{"c0":5.0,"items":{"exponent":0.4,"total":9,"sum":2.5}}}}]}"#,
                "lowrank + popularity:c0=5,alpha=0.4",
            ),
            (
                r#"{"parts":[{"rank":1,"kind":{"popularity-activity":{"c0":5.0,"items":{"exponent":0.4,"total":9,"sum":2.5},"users":{"exponent":0.2,"total":9,"sum":1.5}}}}]}"#,
                "popularity*activity:c0=5,alpha=0.4,beta=0.2",
            ),
            (
                r#"{"parts":[{"rank":1,"kind":{"function":{"rank":1,"method":"nonnegative","relative_error":0.25,"measured":{"all":{"entries":7}},"negatives":{"count":0,"worst":null},"converged":true}}}]}"#,
                "function",
            ),
            (
                r#"{"parts":[{"rank":1,"kind":{"groups":{"segments":1,"categories":2,"table":[0.5,1.0],"user_segment":[0],"item_category":[1]}}}]}"#,
                "groups",
            ),
            (
                r#"{"parts":[{"rank":1,"kind":{"learned":{"learned":{"mean":0.1,"rank":1,"alpha":0.25,"rounds":2,"seed":0},"user_mean":[0.5],"item_mean":[0.5]}}}]}"#,
                "learned",
            ),
            (
                r#"{"parts":[{"rank":2,"kind":{"product":{"c0":5.0,"items":{"exponent":0.4,"total":9,"sum":2.5},"other":{"rank":2,"kind":"low-rank"}}}}]}"#,
                "popularity * lowrank",
            ),
            (
                r#"{"parts":[{"rank":2,"kind":{"product":{"c0":5.0,"users":{"exponent":0.4,"total":9,"sum":2.5},"presence":{"factor":"both","slices":"month","sharpness":0.5,"withdrawn":0.25,"starts":[100,200],"items":[[0,1,3],[1,1,1]]}}}}]}"#,
                "activity*age*available:c0=5,beta=0.4,slices=month,sharpness=0.5,withdrawn=0.25",
            ),
            (
                r#"{"parts":[{"rank":1,"kind":{"product":{"c0":0.5,"presence":{"factor":"age","slices":"20","sharpness":0.5,"withdrawn":0.0,"starts":[10],"items":[[0,0,3]],"released":[7]}}}}]}"#,
                "age",
            ),
        ] {
            let frozen: Frozen = serde_json::from_str(text).expect("stored weights");
            assert_eq!(frozen.to_string(), display);
            assert_eq!(serde_json::to_string(&frozen).ok().as_deref(), Some(text));
        }
        let unknown = r#"{"parts":[{"rank":1,"kind":"no-such-kind"}]}"#;
        let error = serde_json::from_str::<Frozen>(unknown).expect_err("an unknown kind");
        assert!(error.to_string().contains("no-such-kind"), "{error}");
    }
}
