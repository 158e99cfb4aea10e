//! The list of someone new, known by a few items.

use absentia::Dense;
use absentia::error::Axis;
use absentia::model::{NewEntry, RowWeights};
use absentia::ranking::{FactorScorer, RankRequest, UserItems, rank};
use anyhow::Result;

use super::{Recommend, UserList, named_by};
use crate::loading::row_of;
use crate::store::Stored;
use crate::ui::Ui;

/// The best items for a user who took those of `--items`; the user is folded in from them.
pub(super) fn list(
    command: &Recommend,
    stored: &Stored,
    request: &RankRequest<'_>,
    ui: &Ui,
) -> Result<UserList> {
    let items: Vec<&str> = command.items.iter().map(|id| id.trim()).collect();
    let is_known = |id: &str| stored.items.get(id).is_some();
    let items = command.known(Axis::Item, items, is_known, ui)?;
    let rows = items.iter().map(|id| row_of(&stored.items, Axis::Item, id));
    let mut rows: Vec<u32> = rows.collect::<Result<_>>()?;
    rows.sort_unstable();
    rows.dedup();
    let entries: Vec<NewEntry> = rows.iter().map(|&item| NewEntry::new(item)).collect();
    let model = &stored.model;
    let fold_in = model.fold_in(Axis::User);
    let factors = fold_in.solve(&entries, &RowWeights::Frozen)?;
    let user = Dense::from_fn(1, factors.len(), |_, factor| factors[factor]);
    let mut scorer = FactorScorer::new(&user, model.item_factors())?;
    if let Some(scale) = model.item_scale() {
        scorer = scorer.scaled(scale)?;
    }
    let seen = UserItems::from_pairs(&vec![0; rows.len()], &rows)?;
    let request = RankRequest {
        users: &[0],
        exclude: Some(&seen as _),
        ..*request
    };
    let ranked = rank(&scorer, &request)?;
    let top = ranked.first().map_or(&[][..], |ranking| &ranking.top);
    Ok(named_by(None, top, &|item| stored.items.id(item)))
}
