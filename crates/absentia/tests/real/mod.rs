//! Real data beside the repository, where it is there.
#![allow(dead_code, unreachable_pub)]

use std::collections::HashMap;
use std::io::Read;
use std::path::Path;

use absentia::data::{Duplicates, Interactions, Triplets};

/// Reads the binary matrix of ratings, or `None` where the data set is not there.
pub fn movietweetings() -> Option<Interactions<'static>> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../../shared/data/movietweetings-100k/ratings.tsv.gz");
    let file = std::fs::File::open(path).ok()?;
    let mut text = String::new();
    flate2::read::GzDecoder::new(file)
        .read_to_string(&mut text)
        .ok()?;
    let (mut user_ids, mut item_ids) = (HashMap::new(), HashMap::new());
    let (mut users, mut items) = (Vec::new(), Vec::new());
    for line in text.lines() {
        let mut words = line.split('\t');
        let (user, item) = (words.next()?, words.next()?);
        let next = user_ids.len() as u32;
        users.push(*user_ids.entry(user).or_insert(next));
        let next = item_ids.len() as u32;
        items.push(*item_ids.entry(item).or_insert(next));
    }
    let triplets = Triplets::new(&users, &items);
    triplets
        .build(user_ids.len(), item_ids.len(), Duplicates::Last)
        .ok()
}
