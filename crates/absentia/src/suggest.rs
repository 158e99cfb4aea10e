//! Suggestions for misspelt words: the known words that are similar.

/// Yields up to three known words that differ from `word` by a typing error or two, the closest first.
///
/// Insertions, deletions, replacements and exchanges of neighbouring letters count, upper and lower case
/// do not. A third of the letters may differ, and at least two, but never all of them.
///
/// ```
/// use absentia::suggest::similar;
///
/// assert_eq!(similar("fatcors", ["factors", "seed"]), ["factors"]);
/// assert!(similar("warp-drive", ["factors", "seed"]).is_empty());
/// ```
#[must_use]
pub fn similar<'w>(word: &str, known: impl IntoIterator<Item = &'w str>) -> Vec<&'w str> {
    let mut ranked = ranked(word, known);
    ranked.sort_unstable();
    ranked.into_iter().take(3).map(|(_, name)| name).collect()
}

/// Yields the known word that is closest to `word`, the first of equals, if any is [similar].
pub(crate) fn closest<'w>(word: &str, known: impl IntoIterator<Item = &'w str>) -> Option<&'w str> {
    let ranked = ranked(word, known).into_iter();
    ranked
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, name)| name)
}

/// Yields `did you mean "a", "b" or "c"?`, unless there are no words.
#[must_use]
pub fn did_you_mean<W: AsRef<str>>(words: &[W]) -> Option<String> {
    let quoted = |word: &W| format!("{:?}", word.as_ref());
    let (last, others) = words.split_last()?;
    let others: Vec<String> = others.iter().map(quoted).collect();
    let last = quoted(last);
    if others.is_empty() {
        return Some(format!("did you mean {last}?"));
    }
    Some(format!("did you mean {} or {last}?", others.join(", ")))
}

/// The similar words with their distances.
fn ranked<'w>(word: &str, known: impl IntoIterator<Item = &'w str>) -> Vec<(usize, &'w str)> {
    let word = word.to_lowercase();
    let length = word.chars().count();
    let most = (length / 3).max(2).min(length.saturating_sub(1));
    let known = known
        .into_iter()
        .map(|name| (distance(&word, name, most), name));
    known.filter(|(distance, _)| *distance <= most).collect()
}

/// Number of typing errors between a word in lower case and another, or more than `most`.
fn distance(word: &str, other: &str, most: usize) -> usize {
    // Every letter takes one to four bytes, so that lengths rule out most words at once.
    if other.len() > 4 * (word.len() + most) || word.len() > 4 * (other.len() + most) {
        return most + 1;
    }
    strsim::osa_distance(word, &other.to_lowercase())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn typing_errors_are_found_and_other_words_are_not() {
        let known = ["factors", "iterations", "regularization", "seed"];
        assert_eq!(similar("factor", known), ["factors"]);
        assert_eq!(similar("fatcors", known), ["factors"]);
        assert_eq!(similar("Regularisation", known), ["regularization"]);
        assert!(similar("warp-drive", known).is_empty());
        let known = ["alpha", "beta", "c0", "mean"];
        assert_eq!(closest("alfa", known), Some("alpha"));
        assert_eq!(closest("maen", known), Some("mean"));
        assert_eq!(closest("gamma", known), None);
        assert_eq!(closest("", known), None);
    }

    #[test]
    fn suggestions_read_as_a_sentence() {
        assert_eq!(did_you_mean::<&str>(&[]), None);
        assert_eq!(
            did_you_mean(&["ann"]).as_deref(),
            Some("did you mean \"ann\"?")
        );
        let two = did_you_mean(&["ann", "bob"]);
        assert_eq!(two.as_deref(), Some("did you mean \"ann\" or \"bob\"?"));
    }
}
