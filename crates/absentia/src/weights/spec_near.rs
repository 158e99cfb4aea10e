//! The known word that a mistyped one is nearest to.

/// Yields the known word that is at most two changes away, and fewer than the word has letters.
pub(super) fn nearest(word: &str, known: &[&'static str]) -> Option<&'static str> {
    let most = word.chars().count().saturating_sub(1).min(2);
    let distances = known.iter().map(|&name| (distance(word, name), name));
    let near = distances.filter(|(changes, _)| *changes <= most);
    near.min_by_key(|(changes, _)| *changes)
        .map(|(_, name)| name)
}

/// Letters to insert, drop or replace.
fn distance(left: &str, right: &str) -> usize {
    let right: Vec<char> = right.chars().collect();
    let mut row: Vec<usize> = (0..=right.len()).collect();
    for (at, letter) in left.chars().enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], at + 1);
        for (place, other) in right.iter().enumerate() {
            let replaced = diagonal + usize::from(letter != *other);
            diagonal = row[place + 1];
            row[place + 1] = replaced.min(diagonal + 1).min(row[place] + 1);
        }
    }
    row[right.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slips_are_found_and_strangers_are_not() {
        let known = ["alpha", "beta", "c0", "mean"];
        assert_eq!(nearest("alfa", &known), Some("alpha"));
        assert_eq!(nearest("maen", &known), Some("mean"));
        assert_eq!(nearest("gamma", &known), None);
        assert_eq!(nearest("", &known), None);
    }
}
