//! Whose list, how long, without which items.

use serde::{Deserialize, Serialize};

/// Whose list it is.
#[derive(Clone, Debug, PartialEq)]
pub enum Who {
    /// A user by id.
    User(String),
    /// Someone who is not stored, with these items.
    Items(Vec<ItemOfUser>),
}

/// An item of someone who is not stored.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ItemOfUser {
    /// The item.
    pub item: String,
    /// Kind of the interaction; an interaction of weight 1 if not given.
    #[serde(default)]
    pub kind: Option<String>,
    /// Its value.
    #[serde(default)]
    pub value: Option<f32>,
}

/// Which items that a user has seen are left out.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Seen {
    /// All that the user has interacted with.
    #[default]
    Hide,
    /// None.
    Show,
    /// Those of events of some kinds.
    HideKinds(Vec<String>),
}

/// A request for a list.
#[derive(Clone, Debug, PartialEq)]
pub struct ListRequest {
    /// Whose list.
    pub who: Who,
    /// Its length.
    pub n: usize,
    /// Places that are skipped.
    pub offset: usize,
    /// Items that are left out.
    pub exclude: Vec<String>,
    /// Categories of which items are taken; all if empty.
    pub categories: Vec<String>,
    /// Seen items.
    pub seen: Seen,
}

/// An item of a list.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Listed {
    /// The item.
    pub item: String,
    /// Its score; the number of interactions in a fallback list.
    pub score: f32,
    /// Its title, if it has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
}

/// A list.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct List {
    /// The user, if it is one by id.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub user: Option<String>,
    /// The items, best first.
    pub items: Vec<Listed>,
    /// `popular` if the user is not known and these are the items with most interactions.
    pub fallback: Option<&'static str>,
    /// Items of the request that the model does not know, so that the list does not depend on them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unknown: Vec<String>,
    /// Version of the model.
    pub model: u64,
    /// The last event that the list knows.
    pub sequence: u64,
}
