//! Text into markup, safely.

/// `text` with every character that means something to HTML or SVG replaced.
pub(super) fn escape(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\'' => safe.push_str("&#39;"),
            // Other control characters are not allowed in a document at all.
            c if c.is_control() && !matches!(c, '\n' | '\t') => safe.push('\u{fffd}'),
            c => safe.push(c),
        }
    }
    safe
}

/// Escaped prose in which `` `words` `` between back-ticks are set as code.
pub(super) fn prose(text: &str) -> String {
    let parts: Vec<&str> = text.split('`').collect();
    // An odd number of back-ticks means that they are not meant as quotes.
    if parts.len().is_multiple_of(2) {
        return escape(text);
    }
    let quoted = parts.iter().enumerate().map(|(n, part)| match n % 2 {
        0 => escape(part),
        _ => format!("<code>{}</code>", escape(part)),
    });
    quoted.collect()
}

/// `text` cut to `limit` characters, the last being `…`.
pub(super) fn shorten(text: &str, limit: usize) -> String {
    if text.chars().count() <= limit {
        return text.to_owned();
    }
    let kept: String = text.chars().take(limit.saturating_sub(1)).collect();
    kept + "…"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markup_is_disarmed() {
        assert_eq!(
            escape("<script>alert('a & \"b\"')</script>\u{7}"),
            "&lt;script&gt;alert(&#39;a &amp; &quot;b&quot;&#39;)&lt;/script&gt;\u{fffd}"
        );
    }

    #[test]
    fn back_ticks_become_code() {
        assert_eq!(prose("use `a<b` now"), "use <code>a&lt;b</code> now");
        assert_eq!(prose("a ` alone"), "a ` alone");
    }

    #[test]
    fn long_labels_are_cut_at_characters() {
        assert_eq!(shorten("ääää", 3), "ää…");
        assert_eq!(shorten("ab", 3), "ab");
    }
}
