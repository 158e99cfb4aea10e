//! Lists for several requests at one sequence number.

use absentia::Dense;
use absentia::error::Axis;
use absentia::model::NewEntry;
use absentia::ranking::{ItemLists, Scored};

use super::request::{ItemOfUser, List, ListRequest, Listed, Seen, Who};
use crate::core::Core;
use crate::error::ApiError;
use crate::settings::{Kind, Meaning};
use crate::state::State;
use crate::store::StoreReader;

/// What a list is made from.
struct Prepared {
    /// Factors of the user; none if nothing is known.
    factors: Option<Vec<f32>>,
    /// Items that are left out, rising.
    exclude: Vec<u32>,
    /// The only items that may be in the list, rising.
    allow: Option<Vec<u32>>,
}

/// Makes the lists of some requests from one state.
pub(super) fn lists(
    core: &Core,
    store: &dyn StoreReader,
    requests: &[&ListRequest],
) -> Vec<Result<List, ApiError>> {
    let live = core.live();
    let state = live.read();
    let prepared: Vec<Result<Prepared, ApiError>> = requests
        .iter()
        .map(|request| prepare(core, store, &state, request))
        .collect();
    let mut ranked = ranked_together(&state, requests, &prepared).into_iter();
    let mut lists = Vec::with_capacity(requests.len());
    for (request, prepared) in requests.iter().zip(prepared) {
        lists.push(prepared.and_then(|prepared| {
            let length = request.offset + request.n;
            let (best, fallback) = match (&prepared.factors, &prepared.allow) {
                (None, _) => (popular(&state, &prepared, length), Some("popular")),
                (Some(_), None) => (ranked.next().unwrap_or_else(|| Ok(Vec::new()))?, None),
                (Some(factors), Some(allow)) => {
                    let left = |item: &u32| prepared.exclude.binary_search(item).is_err();
                    let items: Vec<u32> = allow.iter().copied().filter(left).collect();
                    let online = state.learner.online();
                    let best = online
                        .best_of(factors, &items, length)
                        .map_err(|error| internal(&error))?;
                    (best, None)
                }
            };
            Ok(List {
                user: match &request.who {
                    Who::User(user) => Some(user.clone()),
                    Who::Items(_) => None,
                },
                items: named(core, &state, &best, request.offset, request.n),
                fallback,
                unknown: unknown(&state, &request.who),
                model: live.version,
                sequence: state.sequence,
            })
        }));
    }
    lists
}

/// The lists of all requests that the index serves, in their order.
fn ranked_together(
    state: &State,
    requests: &[&ListRequest],
    prepared: &[Result<Prepared, ApiError>],
) -> Vec<Result<Vec<Scored>, ApiError>> {
    let together = requests
        .iter()
        .zip(prepared)
        .filter_map(|(request, prepared)| {
            let prepared = prepared.as_ref().ok()?;
            let factors = prepared.factors.as_ref()?;
            let serves = prepared.allow.is_none();
            serves.then_some((request.offset + request.n, factors, &prepared.exclude))
        });
    let together: Vec<_> = together.collect();
    let Some(top) = together.iter().map(|&(length, ..)| length).max() else {
        return Vec::new();
    };
    let k = together[0].1.len();
    let users = Dense::from_fn(together.len(), k, |row, f| together[row].1[f]);
    let exclude: ItemLists = together
        .iter()
        .map(|(.., items)| (*items).clone())
        .collect();
    let best = state
        .learner
        .online()
        .best_items(&users, state.index(), top, &exclude);
    match best {
        Ok(lists) => lists
            .into_iter()
            .zip(&together)
            .map(|(mut list, &(length, ..))| {
                list.truncate(length);
                Ok(list)
            })
            .collect(),
        Err(error) => together.iter().map(|_| Err(internal(&error))).collect(),
    }
}

fn prepare(
    core: &Core,
    store: &dyn StoreReader,
    state: &State,
    request: &ListRequest,
) -> Result<Prepared, ApiError> {
    let (online, items) = (state.learner.online(), &state.learner.ids().items);
    let mut exclude: Vec<u32> = request
        .exclude
        .iter()
        .filter_map(|id| items.get(id))
        .collect();
    let factors = match &request.who {
        Who::Items(given) => {
            let entries = entries(core, state, given)?;
            let is_hidden = |item: &&ItemOfUser| match &request.seen {
                Seen::Hide => true,
                Seen::Show => false,
                Seen::HideKinds(kinds) => {
                    item.kind.as_ref().is_some_and(|kind| kinds.contains(kind))
                }
            };
            let hidden = given.iter().filter(is_hidden);
            exclude.extend(hidden.filter_map(|item| items.get(&item.item)));
            let folded = online.fold_in_user(&entries);
            Some(folded.map_err(|error| ApiError::invalid("items", error.to_string()))?)
        }
        Who::User(user) => {
            let row = state.learner.ids().users.get(user);
            if let Some(row) = row
                && request.seen == Seen::Hide
            {
                exclude.extend(online.seen(row));
            }
            if let Seen::HideKinds(kinds) = &request.seen {
                let seen = store.items_of_kinds(user, kinds)?;
                exclude.extend(seen.iter().filter_map(|id| items.get(id)));
            }
            row.map(|row| online.factors(Axis::User).row(row as usize).to_vec())
        }
    };
    let catalogue = core.catalogue();
    exclude.extend(catalogue.hidden().filter_map(|id| items.get(id)));
    exclude.sort_unstable();
    exclude.dedup();
    let allow = (!request.categories.is_empty()).then(|| {
        let names = request.categories.iter();
        let ids = names.flat_map(|name| catalogue.category(name));
        let mut rows: Vec<u32> = ids.filter_map(|id| items.get(id)).collect();
        rows.sort_unstable();
        rows.dedup();
        rows
    });
    Ok(Prepared {
        // Nothing is known of a user whose factors are all 0.
        factors: factors.filter(|row| row.iter().any(|&x| x != 0.0)),
        exclude,
        allow,
    })
}

/// The items of someone who is not stored, as entries. Items that the model does not know are left out.
fn entries(core: &Core, state: &State, given: &[ItemOfUser]) -> Result<Vec<NewEntry>, ApiError> {
    let mut entries: Vec<NewEntry> = Vec::with_capacity(given.len());
    for (at, item) in given.iter().enumerate() {
        let Some(row) = state.learner.ids().items.get(&item.item) else {
            continue;
        };
        if entries.iter().any(|entry| entry.index == row) {
            let message = format!("{:?} is there twice", item.item);
            return Err(ApiError::invalid(format!("items[{at}].item"), message));
        }
        let kind = match &item.kind {
            None => Kind::default(),
            Some(name) => *core.settings.kinds.get(name).ok_or_else(|| {
                ApiError::invalid(format!("items[{at}].kind"), "there is no such kind")
            })?,
        };
        if kind.needs_value && item.value.is_none() {
            let message = "an item of this kind needs a value";
            return Err(ApiError::invalid(format!("items[{at}].value"), message));
        }
        let value = item.value.unwrap_or(kind.value);
        if !value.is_finite() {
            let field = format!("items[{at}].value");
            return Err(ApiError::invalid(field, "it must be finite"));
        }
        entries.push(NewEntry {
            value,
            weight: kind.weight,
            exposed: kind.meaning == Meaning::Exposure,
            ..NewEntry::new(row)
        });
    }
    Ok(entries)
}

/// Items of someone who is not stored that the model does not know.
fn unknown(state: &State, who: &Who) -> Vec<String> {
    let Who::Items(given) = who else {
        return Vec::new();
    };
    let ids = &state.learner.ids().items;
    let unknown = given.iter().filter(|item| ids.get(&item.item).is_none());
    unknown.map(|item| item.item.clone()).collect()
}

/// Items with most interactions, equal ones by row.
fn popular(state: &State, prepared: &Prepared, length: usize) -> Vec<Scored> {
    let counts = state.learner.online().counts(Axis::Item);
    let score = |item: u32| counts[item as usize];
    let is_left = |item: &u32| prepared.exclude.binary_search(item).is_err();
    let mut items: Vec<u32> = match &prepared.allow {
        Some(allow) => allow.iter().copied().filter(is_left).collect(),
        None => (0..counts.len() as u32).filter(is_left).collect(),
    };
    let order = |&a: &u32, &b: &u32| score(b).cmp(&score(a)).then(a.cmp(&b));
    if length < items.len() {
        items.select_nth_unstable_by(length, order);
        items.truncate(length);
    }
    items.sort_unstable_by(order);
    let scored = |item: u32| Scored {
        item,
        score: score(item) as f32,
    };
    items.into_iter().map(scored).collect()
}

fn named(core: &Core, state: &State, best: &[Scored], offset: usize, n: usize) -> Vec<Listed> {
    let (ids, catalogue) = (&state.learner.ids().items, core.catalogue());
    let listed = best.iter().skip(offset).take(n).map(|scored| {
        let item = ids.name(scored.item).unwrap_or_default().into_owned();
        let entry = catalogue.get(Axis::Item, &item);
        Listed {
            title: entry.and_then(|entry| entry.title.clone()),
            score: scored.score,
            item,
        }
    });
    listed.collect()
}

fn internal(error: &absentia::ranking::RankError) -> ApiError {
    ApiError::new(500, "internal", error.to_string())
}
