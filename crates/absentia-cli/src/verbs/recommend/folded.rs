//! Users and items that are folded in before they are ranked: from interactions, attributes, or both.

use std::collections::HashMap;

use absentia::data::Duplicates;
use absentia::error::Axis;
use absentia::model::{NewEntry, RowWeights};
use absentia::ranking::{FactorScorer, RankRequest, UserItems, rank};
use absentia::{Dense, Model};
use absentia_io::IdMap;
use absentia_job::{merge_repeats, read_files};
use anyhow::Result;

use super::users::nobody;
use super::{Recommend, UserList, named_by};
use crate::cli::Context;
use crate::folding::entry_of;
use crate::loading::{row_of, take_log};
use crate::relating::{Attributes, known};
use crate::store::Stored;
use crate::ui::Ui;

/// Entries by the ids of their users or items.
type ById = HashMap<String, Vec<NewEntry>>;

/// What the files say.
struct Given {
    attributes: Vec<Attributes>,
    /// Known items of users.
    of_users: ById,
    /// Known users of items that the model does not know.
    of_items: ById,
}

impl Given {
    fn read(command: &Recommend, stored: &Stored, ui: &Ui) -> Result<Self> {
        let mut given = Self {
            attributes: Attributes::read_all(&command.relation, stored, ui)?,
            of_users: ById::new(),
            of_items: ById::new(),
        };
        if command.fold_in.is_empty() {
            return Ok(given);
        }
        let mut dataset = read_files(&command.fold_in, &command.read, ui)?;
        let mut log = take_log(&mut dataset)?;
        merge_repeats(&mut log, Duplicates::default(), false, ui)?;
        let mut left_out = 0;
        for row in 0..log.len() {
            let user = dataset.users.name(log.user()[row]).unwrap_or_default();
            let item = dataset.items.name(log.item()[row]).unwrap_or_default();
            let (list, index) = match (stored.users.get(&user), stored.items.get(&item)) {
                (_, Some(known)) => (given.of_users.entry(user.into_owned()), known),
                (Some(known), None) => (given.of_items.entry(item.into_owned()), known),
                (None, None) => {
                    left_out += 1;
                    continue;
                }
            };
            list.or_default().push(entry_of(&log, row, index));
        }
        if left_out > 0 {
            ui.warn(format!(
                "left out {left_out} of {} rows of which the model knows neither user nor item",
                log.len()
            ));
        }
        Ok(given)
    }

    /// The ids that a type has in the files, in order, those left out that `skip` names.
    fn ids(&self, entity: usize, skip: impl Fn(&str) -> bool) -> IdMap {
        let main = if entity == 0 {
            &self.of_users
        } else {
            &self.of_items
        };
        let attributes = self.attributes.iter().filter(|one| one.entity == entity);
        let ids = main.keys().map(String::as_str);
        let ids = ids.chain(attributes.flat_map(Attributes::ids));
        let mut ids: IdMap = ids.filter(|id| !skip(id)).collect();
        ids.sort_from(0);
        ids
    }

    /// Whether the files say anything of an id.
    fn has(&self, entity: usize, id: &str) -> bool {
        let main = if entity == 0 {
            &self.of_users
        } else {
            &self.of_items
        };
        let of_type = |one: &&Attributes| one.entity == entity;
        let mut attributes = self.attributes.iter().filter(of_type);
        main.contains_key(id) || attributes.any(|one| !one.get(id).is_empty())
    }

    /// The factors of ids, folded in.
    fn folded(&self, entity: usize, ids: &IdMap, model: &Model) -> Result<Vec<Vec<f32>>> {
        let (axis, main) = match entity {
            0 => (Axis::User, &self.of_users),
            _ => (Axis::Item, &self.of_items),
        };
        let fold_in = model.fold_in(axis);
        let solve = |id: std::borrow::Cow<'_, str>| {
            let entries = main.get(&*id).map_or(&[][..], Vec::as_slice);
            let weights = RowWeights::Frozen;
            let known = known(entity, &id, entries, &self.attributes, &weights);
            Ok(fold_in.solve_related(&known)?)
        };
        ids.iter().map(solve).collect()
    }
}

/// The lists of users, some of whom, and some of whose items, are folded in.
pub(super) fn lists(
    command: &Recommend,
    (stored, seen): (&Stored, Option<&UserItems>),
    request: &RankRequest<'_>,
    context: &Context,
) -> Result<Vec<UserList>> {
    let (model, ui) = (&stored.model, &context.ui);
    let given = Given::read(command, stored, ui)?;
    let users = wanted(command, &given, stored, ui)?;
    let is_folded: Vec<bool> = users.iter().map(|id| given.has(0, &id)).collect();
    let folded_ids: IdMap = users.iter().filter(|id| given.has(0, id)).collect();
    let folded = given.folded(0, &folded_ids, model)?;
    let mut rows = Vec::with_capacity(users.len());
    let (mut seen_users, mut seen_items) = (Vec::new(), Vec::new());
    let mut next = folded.into_iter();
    for (at, (id, is_folded)) in users.iter().zip(is_folded).enumerate() {
        let known = stored.users.get(&id);
        if let Some(list) = known.and_then(|user| seen?.get(user)) {
            seen_users.extend(list.iter().map(|_| at as u32));
            seen_items.extend(list);
        }
        if is_folded {
            rows.extend(next.next());
            let own = given.of_users.get(&*id).map_or(&[][..], Vec::as_slice);
            seen_users.extend(own.iter().map(|_| at as u32));
            seen_items.extend(own.iter().map(|entry| entry.index));
        } else {
            let user = row_of(&stored.users, Axis::User, &id)?;
            rows.push(model.user_factors().row(user as usize).to_vec());
        }
    }
    let new_items = given.ids(1, |id| stored.items.get(id).is_some());
    let added = given.folded(1, &new_items, model)?;
    ui.note(format!(
        "folded in {} users and {} new items",
        folded_ids.len(),
        new_items.len()
    ));
    let (n, k) = (model.n_items(), model.n_factors());
    let users_dense = Dense::from_fn(rows.len(), k, |row, f| rows[row][f]);
    let items_dense = Dense::from_fn(n + added.len(), k, |row, f| match row.checked_sub(n) {
        Some(new) => added[new][f],
        None => model.item_factors().row(row)[f],
    });
    let scale = model.item_scale().map(|scale| {
        let rho = f64::from(model.params().post_scale);
        let of = |id: std::borrow::Cow<'_, str>| {
            let count = given.of_items.get(&*id).map_or(0, Vec::len);
            (count.max(1) as f64).powf(rho) as f32
        };
        let mut all = scale.to_vec();
        all.extend(new_items.iter().map(of));
        all
    });
    let mut scorer = FactorScorer::new(&users_dense, &items_dense)?;
    if let Some(scale) = &scale {
        scorer = scorer.scaled(scale)?;
    }
    let own_seen = UserItems::from_pairs(&seen_users, &seen_items)?;
    let numbers: Vec<u32> = (0..users.len() as u32).collect();
    let request = RankRequest {
        users: &numbers,
        exclude: (!command.allow_seen).then_some(&own_seen as _),
        ..*request
    };
    let name = |item: u32| match (item as usize).checked_sub(n) {
        Some(new) => new_items.id(new as u32),
        None => stored.items.id(item),
    };
    let ranked = rank(&scorer, &request)?;
    let lists = (0..).zip(ranked);
    Ok(lists
        .map(|(user, ranking)| named_by(users.id(user), &ranking.top, &name))
        .collect())
}

/// The users that lists are wanted for: those named, or all that the files say something of.
fn wanted(command: &Recommend, given: &Given, stored: &Stored, ui: &Ui) -> Result<IdMap> {
    if command.all {
        let mut all: IdMap = stored.users.iter().collect();
        for id in given.ids(0, |_| false).iter() {
            all.intern(&id)?;
        }
        return Ok(all);
    }
    let named = command.named_users()?;
    if !named.is_empty() {
        let is_known = |id: &str| given.has(0, id) || stored.users.get(id).is_some();
        let named = command.known(named, is_known, ui)?;
        return Ok(named.iter().map(|user| &user.id).collect());
    }
    let users = given.ids(0, |_| false);
    if users.is_empty() {
        return Err(nobody().into());
    }
    Ok(users)
}
