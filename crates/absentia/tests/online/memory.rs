//! Memory grows by what the entries take.

use absentia::data::{Duplicates, Triplets};
use absentia::online::{Event, Operation, WeightMode};
use absentia::weights::Scheme;

use crate::setup::{Setup, params};

#[test]
fn memory_grows_by_what_the_entries_take() {
    let (users, items) = (100_u32, 400_u32);
    let pairs = (0..users.max(items)).map(|at| (at % users, at % items));
    let (users_of, items_of): (Vec<u32>, Vec<u32>) = pairs.unzip();
    let times: Vec<i64> = users_of.iter().map(|_| 1000).collect();
    let rows = Triplets::new(&users_of, &items_of).times(&times);
    let rows = rows.build(users as usize, items as usize, Duplicates::Error);
    let rows = rows.unwrap().into_owned();
    let setup = Setup::with(rows, Scheme::uniform(0.1), WeightMode::Frozen, &params());
    let mut online = setup.with_steps(0);
    let (before, entries) = (online.bytes(), online.n_entries());
    for user in 0..users {
        let is_new = |item: &u32| item % 2 == user % 2 && item % users != user;
        for item in (0..items).filter(is_new) {
            let event = Event::new(user, item).time(2000);
            online.apply(&Operation::Insert(event)).unwrap();
        }
    }
    let new = online.n_entries() - entries;
    assert!(new > 19_000, "{new}");
    // An index on both sides and a time; rows have room for an eighth more, or for four entries.
    let (grown, room) = (online.bytes() - before, u64::from(users + items) * 4 * 16);
    let most = new * 16 * 9 / 8 + room;
    assert!((new * 16..=most).contains(&grown), "{grown} of {most}");
    // The estimate of the command line covers it.
    let planned = setup.online().growth_bytes(new, 0);
    assert!(grown <= planned + room, "{grown} of {planned}");
}
