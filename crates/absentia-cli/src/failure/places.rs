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

    /// The file and line that give the value of a flag.
    pub(super) fn of(&self, flag: &str) -> Option<&str> {
        let place = self.0.iter().find(|(key, _)| key == flag);
        place.map(|(_, place)| &**place)
    }
}
