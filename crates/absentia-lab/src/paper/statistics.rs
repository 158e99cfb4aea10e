//! The paper's table of data sets, with those of this report.

use absentia::evaluate::TestSet;
use absentia_report::format::count;
use anyhow::Result;

use super::data::sources;
use super::lab::Lab;
use super::part::{Block, Grid};
use super::published;

pub(super) fn blocks(lab: &Lab<'_>) -> Result<Vec<Block>> {
    let mut grid = Grid::new(
        "Users, items and entries; the paper counts the ratings it holds out among its reviews",
        [
            "data",
            "users",
            "items",
            "training entries",
            "held out",
            "missing",
            "split",
        ],
    );
    let missing = |entries: f64, users: usize, items: usize| {
        let share = 1.0 - entries / (users as f64 * items as f64);
        format!("{:.2} %", 100.0 * share)
    };
    for source in sources(lab) {
        grid.row(lab.with_set(&source, |set| {
            let (users, items) = (set.train.n_users(), set.train.n_items());
            let (entries, held) = (set.train.n_interactions(), n_entries(&set.test));
            Ok([
                set.name.clone(),
                count(users as u64),
                count(items as u64),
                count(entries as u64),
                count(held as u64),
                missing((entries + held) as f64, users, items),
                set.protocol.to_owned(),
            ])
        })?);
    }
    for (name, reviews, items, users) in published::DATA {
        grid.row([
            format!("paper: {name}"),
            count(users as u64),
            count(items as u64),
            count(reviews - users as u64),
            count(users as u64),
            missing(reviews as f64, users, items),
            "latest held out".to_owned(),
        ]);
    }
    Ok(vec![
        Block::text(
            "In the paper's source the tables come in the order complexity, data sets, SVD against eALS, \
             seconds, and the figures in the order vanilla against fast, seconds over K and Z, weights, \
             accuracy per iteration. Here the first table is I, the last two are II and III, and the \
             figures are 2 to 5.",
        ),
        Block::Table(grid),
    ])
}

/// Items held out, of all users.
fn n_entries(test: &TestSet) -> usize {
    let users = test.users().iter();
    users
        .map(|&user| test.get(user).map_or(0, <[u32]>::len))
        .sum()
}
