//! What kinds of events there are and what they weigh, and the limits of the server.

use std::collections::BTreeMap;
use std::path::Path;

use absentia::data::Confidence;
use absentia_online::LearnError;
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::error::ServeError;
use crate::log;

/// What an event of a kind becomes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Meaning {
    /// An interaction.
    #[default]
    Interaction,
    /// The item was shown and not taken.
    Exposure,
}

/// A kind of event.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Kind {
    /// What it becomes.
    pub meaning: Meaning,
    /// Weight of the entry.
    pub weight: f32,
    /// Value if the event has none.
    pub value: f32,
    /// Whether the event must have a value.
    pub needs_value: bool,
}

impl Default for Kind {
    fn default() -> Self {
        Self {
            meaning: Meaning::Interaction,
            weight: 1.0,
            value: 1.0,
            needs_value: false,
        }
    }
}

/// Limits of the server; `/openapi.json` documents them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Limits {
    /// Bytes of a body.
    pub body_bytes: usize,
    /// Bytes of the head of a request.
    pub header_bytes: usize,
    /// Seconds within which the head and then the body must arrive.
    pub read_seconds: u64,
    /// Seconds within which the answer must be taken.
    pub write_seconds: u64,
    /// Connections at a time.
    pub connections: usize,
    /// Requests that wait for a ranking thread.
    pub waiting_rankings: usize,
    /// Milliseconds that a request waits for a ranking thread at most.
    pub ranking_wait_ms: u64,
    /// Writing requests that wait.
    pub waiting_writes: usize,
    /// Ranking threads; one for each processor if 0.
    pub ranking_threads: usize,
    /// Seconds after which a server that stops does not wait for requests any more.
    pub stop_seconds: u64,
    /// Events after which the state is saved.
    pub snapshot_events: u64,
    /// Bytes of the database; no limit if 0.
    pub database_bytes: u64,
    /// Mebibytes of shortlists, which are made for the users with most interactions: their lists are looked up instead
    /// of ranked. None if 0.
    pub shortlist_mib: u32,
    /// Percent of their time that ranking threads may work; they pause for the rest.
    pub ranking_percent: u32,
    /// Percent of the time of one thread that may be spent on predicting events before they are learned; every
    /// event is predicted if 100, none if 0.
    pub quality_percent: u32,
    /// Hours for which the answer to a request with an `Idempotency-Key` is kept at least.
    pub idempotency_hours: u32,
}

impl Limits {
    /// Bytes of shortlists.
    #[must_use]
    pub fn shortlist_bytes(&self) -> u64 {
        u64::from(self.shortlist_mib) << 20
    }
}

/// Events of one request.
pub const MAX_EVENTS: usize = 1000;
/// Events of one request with a line for each.
pub const MAX_BULK: usize = 10_000;
/// Users of one request.
pub const MAX_USERS: usize = 256;
/// Length of a list.
pub const MAX_LIST: usize = 1000;
/// Last place of a list.
pub const MAX_OFFSET: usize = 10_000;
/// Ids to exclude in one request.
pub const MAX_EXCLUDED: usize = 1000;
/// Items of an unknown user.
pub const MAX_ITEMS: usize = 1000;
/// Bytes of an event id or an `Idempotency-Key`.
pub const MAX_KEY_BYTES: usize = 128;
/// Bytes of a title or category.
pub const MAX_TITLE_BYTES: usize = 500;

impl Default for Limits {
    fn default() -> Self {
        Self {
            body_bytes: 1 << 20,
            header_bytes: 16 << 10,
            read_seconds: 10,
            write_seconds: 30,
            connections: 1024,
            waiting_rankings: 512,
            ranking_wait_ms: 1000,
            waiting_writes: 256,
            ranking_threads: 0,
            stop_seconds: 10,
            snapshot_events: 10_000,
            database_bytes: 0,
            shortlist_mib: 32,
            ranking_percent: 100,
            quality_percent: 5,
            idempotency_hours: 24,
        }
    }
}

/// The settings file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Settings {
    /// Kinds of events by name.
    pub kinds: BTreeMap<String, Kind>,
    /// Limits.
    pub limits: Limits,
    /// Whether every request is logged, not only those that failed.
    pub log_requests: bool,
    /// Origins whose pages may call the server; none if empty.
    pub cors_origins: Vec<String>,
    /// Whether requests from this machine need a key as well.
    pub require_key: bool,
}

impl Default for Settings {
    fn default() -> Self {
        let weighing = |weight: f32| Kind {
            weight,
            ..Kind::default()
        };
        let rating = Kind {
            needs_value: true,
            ..Kind::default()
        };
        let impression = Kind {
            meaning: Meaning::Exposure,
            ..Kind::default()
        };
        let kinds = [
            ("view", weighing(1.0)),
            ("click", weighing(1.0)),
            ("purchase", weighing(3.0)),
            ("rating", rating),
            ("impression", impression),
        ];
        Self {
            kinds: kinds.map(|(name, kind)| (name.to_owned(), kind)).into(),
            limits: Limits::default(),
            log_requests: false,
            cors_origins: Vec::new(),
            require_key: false,
        }
    }
}

impl Settings {
    /// Reads a settings file.
    ///
    /// # Errors
    /// A file that cannot be read, unknown keys, numbers out of range.
    pub fn read(path: &Path) -> Result<Self, ServeError> {
        let wrong = |detail: String| ServeError::Settings {
            path: path.display().to_string(),
            detail,
        };
        let text = absentia_io::read_text(path).map_err(LearnError::File)?;
        let settings: Self = toml::from_str(&text).map_err(|error| {
            let line_of = |at: usize| 1 + text[..at].matches('\n').count();
            let line = error.span().map_or(1, |span| line_of(span.start));
            ServeError::Settings {
                path: format!("{}:{line}", path.display()),
                detail: error.message().to_owned(),
            }
        })?;
        for (name, kind) in &settings.kinds {
            if !(kind.weight.is_finite() && kind.weight >= 0.0 && kind.value.is_finite()) {
                return Err(wrong(format!(
                    "kinds.{name}: weight must be at least 0, and weight and value finite"
                )));
            }
        }
        let limits = &settings.limits;
        if limits.body_bytes == 0 || limits.connections == 0 || limits.header_bytes < 8192 {
            return Err(wrong(
                "limits: body_bytes and connections must be at least 1, header_bytes at least 8192"
                    .to_owned(),
            ));
        }
        if !(1..=100).contains(&limits.ranking_percent) || limits.quality_percent > 100 {
            return Err(wrong(
                "limits: ranking_percent must be from 1 to 100, quality_percent from 0 to 100"
                    .to_owned(),
            ));
        }
        Ok(settings)
    }

    /// Logs that weights of kinds change nothing, if a model takes the weights of its entries from elsewhere.
    pub(crate) fn warn_of_unused_weights(&self, confidence: Confidence) {
        let weighs = |kind: &&Kind| {
            kind.meaning == Meaning::Interaction && kind.weight.to_bits() != 1.0_f32.to_bits()
        };
        if confidence != Confidence::Column && self.kinds.values().any(|kind| weighs(&kind)) {
            let message = "weights of kinds of interactions are not used: the model was trained with a rule for weights \
                           of its own; train it with --confidence 1 or --confidence column";
            log::line("kind_weights_not_used", json!({"message": message}));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_sets_some_things_and_leaves_the_others() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("serve.toml");
        std::fs::write(
            &path,
            "[kinds.listen]\nweight = 2\n[limits]\nconnections = 5\n",
        )
        .unwrap();
        let settings = Settings::read(&path).unwrap();
        assert_eq!(settings.kinds.len(), 1);
        assert_eq!(settings.limits.connections, 5);
        assert_eq!(settings.limits.body_bytes, Limits::default().body_bytes);
        for wrong in [
            "[limits]\nbodies = 5",
            "[kinds.x]\nweight = -1",
            "[limits]\nconnections = 0",
            "[limits]\nranking_percent = 0",
            "[limits]\nquality_percent = 101",
        ] {
            std::fs::write(&path, wrong).unwrap();
            assert!(Settings::read(&path).is_err(), "{wrong}");
        }
        // The second line, and nothing of the text of the file.
        std::fs::write(&path, "[limits]\nbodies = 5").unwrap();
        let error = Settings::read(&path).unwrap_err().to_string();
        let start = format!("{}:2: unknown field `bodies`", path.display());
        assert!(
            error.starts_with(&start) && !error.contains('\n'),
            "{error}"
        );
    }
}
