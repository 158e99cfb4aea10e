//! Titles, categories and hidden items in memory, as answers need them.

use std::collections::{BTreeSet, HashMap};

use absentia::error::Axis;

use crate::store::{CatalogueEntry, StoreError, StoreReader};

/// The catalogue: every entry by id, hidden items and items by category.
#[derive(Debug, Default)]
pub struct Catalogue {
    users: HashMap<String, CatalogueEntry>,
    items: HashMap<String, CatalogueEntry>,
    hidden: BTreeSet<String>,
    categories: HashMap<String, BTreeSet<String>>,
}

/// Entries that are read at a time.
const CHUNK: usize = 10_000;

impl Catalogue {
    /// Reads all entries.
    ///
    /// # Errors
    /// The database cannot be read.
    pub fn read(store: &dyn StoreReader) -> Result<Self, StoreError> {
        let mut catalogue = Self::default();
        for axis in [Axis::User, Axis::Item] {
            let mut after = String::new();
            loop {
                let entries = store.catalogue(axis, &after, CHUNK)?;
                let Some(last) = entries.last() else {
                    break;
                };
                after.clone_from(&last.id);
                catalogue.take(axis, entries);
            }
        }
        Ok(catalogue)
    }

    /// Adds or replaces entries.
    pub fn take(&mut self, axis: Axis, entries: Vec<CatalogueEntry>) {
        for entry in entries {
            self.forget(axis, &entry.id);
            if axis == Axis::Item {
                if entry.hidden {
                    self.hidden.insert(entry.id.clone());
                }
                if let Some(category) = &entry.category {
                    let items = self.categories.entry(category.clone()).or_default();
                    items.insert(entry.id.clone());
                }
            }
            self.side_mut(axis).insert(entry.id.clone(), entry);
        }
    }

    /// Removes an entry.
    pub fn forget(&mut self, axis: Axis, id: &str) {
        let Some(entry) = self.side_mut(axis).remove(id) else {
            return;
        };
        if axis == Axis::Item {
            self.hidden.remove(id);
            if let Some(items) = entry
                .category
                .and_then(|name| self.categories.get_mut(&name))
            {
                items.remove(id);
            }
        }
    }

    /// The entry of an id.
    #[must_use]
    pub fn get(&self, axis: Axis, id: &str) -> Option<&CatalogueEntry> {
        match axis {
            Axis::User => self.users.get(id),
            Axis::Item => self.items.get(id),
        }
    }

    /// Items that are never recommended.
    pub fn hidden(&self) -> impl Iterator<Item = &str> {
        self.hidden.iter().map(String::as_str)
    }

    /// Whether an item is never recommended.
    #[must_use]
    pub fn is_hidden(&self, item: &str) -> bool {
        self.hidden.contains(item)
    }

    /// Items of a category.
    pub fn category(&self, name: &str) -> impl Iterator<Item = &str> {
        let items = self.categories.get(name).into_iter().flatten();
        items.map(String::as_str)
    }

    /// Number of entries.
    #[must_use]
    pub fn len(&self, axis: Axis) -> usize {
        match axis {
            Axis::User => self.users.len(),
            Axis::Item => self.items.len(),
        }
    }

    fn side_mut(&mut self, axis: Axis) -> &mut HashMap<String, CatalogueEntry> {
        match axis {
            Axis::User => &mut self.users,
            Axis::Item => &mut self.items,
        }
    }
}
