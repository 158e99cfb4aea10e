//! The history of activations, and which model going back leads to.

/// An entry of the history.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Activation {
    /// The model.
    pub version: u64,
    /// When, in milliseconds of unix time.
    pub at: i64,
    /// Whether it went back to this model.
    pub is_roll_back: bool,
}

/// The version that going back activates: the one before the active one, where versions that were gone back
/// from do not count. Going back repeatedly therefore walks to the first version and never forward.
#[must_use]
pub fn version_before(history: &[Activation]) -> Option<u64> {
    let mut path: Vec<u64> = Vec::new();
    for activation in history {
        if activation.is_roll_back {
            path.pop();
        }
        if path.last() != Some(&activation.version) {
            path.push(activation.version);
        }
    }
    path.pop();
    path.pop()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A history in which `-2` goes back to version 2.
    fn before(history: &[i64]) -> Option<u64> {
        let entry = |&version: &i64| Activation {
            version: version.unsigned_abs(),
            at: 0,
            is_roll_back: version < 0,
        };
        version_before(&history.iter().map(entry).collect::<Vec<_>>())
    }

    #[test]
    fn going_back_walks_the_history_backwards() {
        for (history, expected) in [
            (&[][..], None),
            (&[1], None),
            (&[1, 1], None),
            (&[1, 2, 3], Some(2)),
            (&[1, 2, 3, -2], Some(1)),
            (&[1, 2, 3, -2, -1], None),
            (&[1, 2, -1, 2], Some(1)),
            (&[1, 2, 3, -2, 4], Some(2)),
            (&[1, 2, 3, -2, 4, -2], Some(1)),
            (&[1, 2, 1], Some(2)),
            (&[1, 2, 1, -2, -1], None),
        ] {
            assert_eq!(before(history), expected, "{history:?}");
        }
    }
}
