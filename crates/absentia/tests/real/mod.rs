//! Real data beside the repository, where it is there.
#![allow(dead_code, unreachable_pub)]

use std::collections::HashMap;
use std::io::Read;
use std::path::Path;

use absentia::data::{Duplicates, Interactions, Triplets};

/// Reads the binary matrix of ratings, or skips the test if the data set does not exist.
pub fn movietweetings() -> Option<Interactions<'static>> {
    let path = absentia_testing::shared_data("movietweetings-100k/ratings.tsv.gz")?;
    Some(ratings(&path))
}

/// The binary matrix of a file of ratings, which must be whole.
fn ratings(path: &Path) -> Interactions<'static> {
    let file = std::fs::File::open(path).expect("opened");
    let mut text = String::new();
    flate2::read::GzDecoder::new(file)
        .read_to_string(&mut text)
        .expect("a whole gzip file of UTF-8 text");
    let (mut user_ids, mut item_ids) = (HashMap::new(), HashMap::new());
    let (mut users, mut items) = (Vec::new(), Vec::new());
    for line in text.lines() {
        let mut words = line.split('\t');
        let (user, item) = (
            words.next().expect("a user"),
            words.next().expect("an item"),
        );
        let next = user_ids.len() as u32;
        users.push(*user_ids.entry(user).or_insert(next));
        let next = item_ids.len() as u32;
        items.push(*item_ids.entry(item).or_insert(next));
    }
    let triplets = Triplets::new(&users, &items);
    triplets
        .build(user_ids.len(), item_ids.len(), Duplicates::Last)
        .expect("a matrix")
}
