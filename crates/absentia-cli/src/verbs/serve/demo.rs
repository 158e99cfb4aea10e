//! The data of `serve --demo`: a generated shop of films with titles, and a model of it.

use std::path::{Path, PathBuf};

use absentia::data::Confidence;
use absentia::fit::{Run, fit};
use absentia::online::{Online, Options};
use absentia::weights::{Scheme, Strength};
use absentia::{Axis, Params};
use absentia_io::IdMap;
use absentia_io::model::Ids;
use absentia_lab::generate::{Generator, GeneratorParams};
use absentia_online::Learner;
use absentia_serve::store::{CatalogueEntry, Change, SqliteStore, Store as _, StoreReader as _};
use anyhow::Result;

const USERS: usize = 600;
const ITEMS: usize = 400;
const ENTRIES: u64 = 14_000;

const GENRES: [&str; 8] = [
    "drama",
    "comedy",
    "thriller",
    "science fiction",
    "western",
    "documentary",
    "animation",
    "crime",
];
const FIRST: [&str; 20] = [
    "Silent",
    "Golden",
    "Distant",
    "Broken",
    "Winter",
    "Electric",
    "Hidden",
    "Paper",
    "Midnight",
    "Scarlet",
    "Northern",
    "Restless",
    "Glass",
    "Forgotten",
    "Second",
    "Velvet",
    "Burning",
    "Hollow",
    "Patient",
    "Wild",
];
const SECOND: [&str; 20] = [
    "River", "Garden", "Signal", "Harbour", "Orchard", "Machine", "Letters", "Mountain", "Tide",
    "Station", "Mirror", "Voyage", "Crossing", "Lantern", "Kingdom", "Season", "Witness",
    "Horizon", "Island", "Promise",
];
const NAMES: [&str; 20] = [
    "Ada", "Ben", "Chloe", "Dario", "Emma", "Felix", "Greta", "Hugo", "Ines", "Jonas", "Katja",
    "Liam", "Mona", "Nils", "Olga", "Pablo", "Rosa", "Simon", "Tara", "Vito",
];

/// Makes the model and the titles, unless the folder has them; yields the model's file.
pub(super) fn prepare(folder: &Path) -> Result<PathBuf> {
    let path = folder.join("demo.absentia");
    if path.is_file() {
        return Ok(path);
    }
    std::fs::create_dir_all(folder)?;
    let generator = Generator::new(GeneratorParams {
        categories: GENRES.len(),
        ..GeneratorParams::new(USERS, ITEMS, ENTRIES)
    })?;
    let data = generator.interactions()?;
    let scheme = Scheme::popularity(Strength::Mean(0.05), 0.4);
    let params = Params::new()
        .factors(24)
        .iterations(12)
        .regularization(0.05)
        // Events have weights by their kind.
        .confidence(Confidence::Column)
        .check()?;
    let model = fit(&data, &scheme, &params, Run::default())?.model;
    let online = Online::new(&model, &data, Options::default())?;
    let ids = Ids {
        related: Vec::new(),
        users: (0..USERS).map(user_id).collect::<IdMap>(),
        items: (0..ITEMS).map(item_id).collect::<IdMap>(),
    };
    let mut store = SqliteStore::open(&absentia_serve::state::Folder::database(folder), 0)?;
    if store.catalogue(Axis::Item, "", 1)?.is_empty() {
        let users = (0..USERS).map(|user| Change::Catalogue(Axis::User, user_entry(user)));
        let items = (0..ITEMS).map(|item| {
            let genre = GENRES[generator.category(item as u32) % GENRES.len()];
            Change::Catalogue(Axis::Item, item_entry(item, genre))
        });
        store.commit(&users.chain(items).collect::<Vec<_>>())?;
    }
    // Last: its file says that everything is there.
    Learner::new(online, ids).save(&path)?;
    Ok(path)
}

fn user_id(user: usize) -> String {
    let (name, turn) = (NAMES[user % NAMES.len()].to_lowercase(), user / NAMES.len());
    match turn {
        0 => name,
        turn => format!("{name}-{}", turn + 1),
    }
}

fn item_id(item: usize) -> String {
    let (first, second) = words(item);
    format!("{first}-{second}").to_lowercase()
}

/// Every pair of words once.
fn words(item: usize) -> (&'static str, &'static str) {
    let (row, column) = (item / FIRST.len(), item % FIRST.len());
    (FIRST[column], SECOND[(row + column) % SECOND.len()])
}

fn user_entry(user: usize) -> CatalogueEntry {
    let (name, turn) = (NAMES[user % NAMES.len()], user / NAMES.len());
    CatalogueEntry {
        id: user_id(user),
        title: Some(match turn {
            0 => name.to_owned(),
            turn => format!("{name} the {}", turn + 1),
        }),
        ..CatalogueEntry::default()
    }
}

fn item_entry(item: usize, genre: &str) -> CatalogueEntry {
    let (first, second) = words(item);
    CatalogueEntry {
        id: item_id(item),
        title: Some(format!("The {first} {second}")),
        category: Some(genre.to_owned()),
        hidden: false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_user_and_film_has_an_id_of_its_own() {
        let users: IdMap = (0..USERS).map(user_id).collect();
        let items: IdMap = (0..ITEMS).map(item_id).collect();
        assert_eq!((users.len(), items.len()), (USERS, ITEMS));
        assert_eq!(
            item_entry(0, "drama").title.as_deref(),
            Some("The Silent River")
        );
    }
}
