//! Lines of a configuration file, for errors about its values.

/// The lines of a configuration file that give values.
#[derive(Clone, Debug, Default)]
pub(crate) struct Places(Vec<(String, String)>);

impl Places {
    /// Adds a key with its file and line; of keys that are given again the last one counts.
    pub(crate) fn add(&mut self, key: &str, place: String) {
        self.0.retain(|(known, _)| known != key);
        self.0.push((key.to_owned(), place));
    }

    /// A message about a flag whose value is in the file, with the line and the key instead of the flag.
    pub(super) fn located(&self, message: &str) -> Option<String> {
        let flags = message.match_indices("--").map(|(at, dashes)| {
            let rest = &message[at + dashes.len()..];
            let end = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '-');
            &rest[..end.unwrap_or(rest.len())]
        });
        let mut places = flags.filter_map(|flag| self.0.iter().find(|(key, _)| key == flag));
        let (key, place) = places.next()?;
        let text = message.replacen(&format!("--{key}"), key, 1);
        Some(format!("{place}: {text}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_flag_that_the_file_gives_has_its_line() {
        let mut places = Places::default();
        places.add("factors", "run.toml:2".to_owned());
        places.add("at", "run.toml:3".to_owned());
        let located = |message: &str| places.located(message);
        assert_eq!(
            located("--factors is 0; it must be between 1 and 8192").as_deref(),
            Some("run.toml:2: factors is 0; it must be between 1 and 8192")
        );
        assert_eq!(
            located("--metrics needs --at").as_deref(),
            Some("run.toml:3: --metrics needs at")
        );
        assert_eq!(located("--factors-of is unknown"), None);
        assert_eq!(located("no flag at all"), None);
    }
}
