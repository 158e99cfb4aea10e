//! Data for unit tests.

use absentia_lab::generate::{Generator, GeneratorParams};

use crate::data::{Duplicates, Interactions, Triplets};

/// Generated data of a given shape.
///
/// The generator is built on the published engine, so its `Interactions` are another type than ours.
pub(crate) fn generated(users: usize, items: usize, entries: u64) -> Interactions<'static> {
    let generator = Generator::new(GeneratorParams::new(users, items, entries)).unwrap();
    let (mut user, mut item) = (Vec::new(), Vec::new());
    for u in 0..users as u32 {
        let liked = generator.user(u).feedback().liked;
        user.resize(user.len() + liked.len(), u);
        item.extend(liked);
    }
    let triplets = Triplets::new(&user, &item);
    triplets.build(users, items, Duplicates::Error).unwrap()
}
