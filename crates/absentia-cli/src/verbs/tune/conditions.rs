//! How trials are measured: scores are compared where this is the same.

use absentia_search::Rung;

/// The conditions of a rung.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Conditions {
    factors: usize,
    /// Number of users that are measured.
    users: usize,
    /// Whether sweeps go on while the metric rises.
    is_last: bool,
}

impl Conditions {
    /// Those of a trial with this number of factors, where a number of folds hold out rows of a number of users.
    pub(super) fn new(factors: usize, rung: &Rung, (folds, users): (usize, usize)) -> Self {
        Self {
            factors,
            users: rung.measured_users(folds, users),
            is_last: rung.is_last,
        }
    }

    /// What is not as before, in words.
    pub(super) fn changes(&self, before: &Self) -> String {
        let changes = [
            (self.users != before.users, "users"),
            (self.factors != before.factors, "factors"),
            (self.is_last != before.is_last, "numbers of sweeps"),
        ];
        let changes = changes.iter().filter(|(is_other, _)| *is_other);
        let names: Vec<&str> = changes.map(|(_, name)| *name).collect();
        match &names[..] {
            [] => String::new(),
            [name] => (*name).to_owned(),
            [first @ .., last] => format!("{} and {last}", first.join(", ")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn conditions(factors: usize, sample: usize, is_last: bool, users: usize) -> Conditions {
        let rung = Rung {
            factors,
            sample,
            is_last,
        };
        Conditions::new(factors, &rung, (1, users))
    }

    #[test]
    fn only_what_changes_is_named() {
        let small = |factors, sample, is_last| conditions(factors, sample, is_last, 24);
        let large = |factors, sample, is_last| conditions(factors, sample, is_last, 50_000);
        // Every sample has all of 24 users.
        assert_eq!(small(8, 0, true), small(8, 2, true));
        assert_eq!(small(16, 1, false).changes(&small(8, 0, false)), "factors");
        let changes = large(16, 2, true).changes(&large(8, 0, false));
        assert_eq!(changes, "users, factors and numbers of sweeps");
        let changes = large(8, 2, true).changes(&large(8, 0, false));
        assert_eq!(changes, "users and numbers of sweeps");
    }
}
