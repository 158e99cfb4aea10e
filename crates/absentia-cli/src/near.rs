//! What somebody may have meant: known words near a word that is not known.

use absentia_io::IdMap;

/// Ids looked through for near ones; beyond that, only the first are.
const MOST_IDS: usize = 2_000_000;

/// Yields up to three known words near `word`, the nearest first.
pub(crate) fn near<'w>(word: &str, known: impl IntoIterator<Item = &'w str>) -> Vec<String> {
    let most = (word.chars().count() / 3).max(2);
    let mut found: Vec<(usize, String)> = Vec::new();
    for candidate in known {
        let distance = distance(word, candidate, most);
        if distance <= most {
            found.push((distance, candidate.to_owned()));
        }
    }
    found.sort();
    found.into_iter().take(3).map(|(_, text)| text).collect()
}

/// Yields up to three ids near `id`.
pub(crate) fn near_ids(id: &str, ids: &IdMap) -> Vec<String> {
    let names: Vec<_> = ids
        .iter()
        .take(MOST_IDS)
        .filter(|name| name.len().abs_diff(id.len()) <= 2)
        .collect();
    near(id, names.iter().map(AsRef::as_ref))
}

/// Yields `; did you mean a, b or c?` as a sentence, if there is anything near.
pub(crate) fn did_you_mean(near: &[String]) -> Option<String> {
    let (last, others) = near.split_last()?;
    Some(if others.is_empty() {
        format!("did you mean {last:?}?")
    } else {
        let others: Vec<String> = others.iter().map(|word| format!("{word:?}")).collect();
        format!("did you mean {} or {last:?}?", others.join(", "))
    })
}

/// Insertions, deletions, replacements and exchanges of neighbours between two words, ignoring
/// case; anything above `most` may come out as `most + 1`.
fn distance(left: &str, right: &str, most: usize) -> usize {
    let left: Vec<char> = left.chars().flat_map(char::to_lowercase).collect();
    let right: Vec<char> = right.chars().flat_map(char::to_lowercase).collect();
    if left.len().abs_diff(right.len()) > most {
        return most + 1;
    }
    let mut rows = vec![vec![0; right.len() + 1]; left.len() + 1];
    for (at, row) in rows.iter_mut().enumerate() {
        row[0] = at;
    }
    rows[0] = (0..=right.len()).collect();
    for i in 1..=left.len() {
        for j in 1..=right.len() {
            let replaced = rows[i - 1][j - 1] + usize::from(left[i - 1] != right[j - 1]);
            let mut best = replaced.min(rows[i - 1][j] + 1).min(rows[i][j - 1] + 1);
            if i > 1 && j > 1 && left[i - 1] == right[j - 2] && left[i - 2] == right[j - 1] {
                best = best.min(rows[i - 2][j - 2] + 1);
            }
            rows[i][j] = best;
        }
    }
    rows[left.len()][right.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn typing_errors_are_found_and_strangers_are_not() {
        let known = ["factors", "iterations", "regularization", "seed"];
        assert_eq!(near("factor", known), ["factors"]);
        assert_eq!(near("fatcors", known), ["factors"]);
        assert_eq!(near("regularisation", known), ["regularization"]);
        assert!(near("warp-drive", known).is_empty());
    }

    #[test]
    fn ids_near_an_unknown_one_are_offered() {
        let ids: IdMap = ["ann", "bob", "anna"].iter().collect();
        let near = near_ids("amn", &ids);
        assert_eq!(near[0], "ann");
        assert_eq!(
            did_you_mean(&near[..1]).as_deref(),
            Some("did you mean \"ann\"?")
        );
    }
}
