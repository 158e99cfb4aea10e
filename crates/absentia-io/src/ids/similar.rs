//! Suggestions for an unknown id: the known ids that are similar.

use absentia::suggest;

use super::IdMap;

/// The maximum number of ids that are compared with an unknown one; only the first ones are.
const MAX_COMPARED: usize = 2_000_000;

impl IdMap {
    /// Yields up to three ids that differ from `id` by a typing error or two, the closest first.
    #[must_use]
    pub fn similar(&self, id: &str) -> Vec<String> {
        let ids = self.iter().take(MAX_COMPARED);
        let ids: Vec<_> = ids
            .filter(|known| known.len().abs_diff(id.len()) <= 2)
            .collect();
        let similar = suggest::similar(id, ids.iter().map(AsRef::as_ref));
        similar.into_iter().map(str::to_owned).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_similar_to_an_unknown_one_are_found() {
        let ids: IdMap = ["ann", "bob", "anna"].iter().collect();
        assert_eq!(ids.similar("amn")[0], "ann");
        assert!(ids.similar("zacharias").is_empty());
    }
}
