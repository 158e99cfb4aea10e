//! Lists for several requests at one sequence number.

use absentia::Dense;
use absentia::error::Axis;
use absentia::model::NewEntry;
use absentia::ranking::{ChangedItems, IndexedItems, ItemLists, Scored};

use super::request::{ItemOfUser, List, ListRequest, Listed, Seen, Who};
use crate::catalogue::Catalogue;
use crate::core::Core;
use crate::error::ApiError;
use crate::settings::{Kind, Meaning};
use crate::state::{Live, State};
use crate::store::StoreReader;

/// Items that may differ from the index where a network thread looks a list up. Those that could enter the list are
/// scored, which takes some microseconds; with more of them, ranking costs less.
const MAX_CHANGED: usize = 8192;

/// A request with rows in place of ids.
struct Resolved {
    /// Factors of the user; none if nothing is known.
    factors: Option<Vec<f32>>,
    /// Items that are left out, rising.
    exclude: Vec<u32>,
    /// The only items that may be in the list, rising.
    allow: Option<Vec<u32>>,
}

/// A list that is made, or what is needed to make it without the state.
enum Draft {
    /// The items, and what they are a fallback of.
    Made(Vec<Scored>, Option<&'static str>),
    /// Factors of the user, and the items that are left out: the index serves the list.
    Unranked(Vec<f32>, Vec<u32>),
}

/// The list of a stored user, if it can be looked up at once: its user and all but a few items are as they were when
/// shortlists were made, and nobody has the state to change it. A network thread may ask for it.
pub(crate) fn looked_up(core: &Core, request: &ListRequest) -> Option<List> {
    let live = core.live();
    let state = live.try_read()?;
    if state.n_changed() > MAX_CHANGED {
        return None;
    }
    let best = from_shortlist(core, &state, request)?;
    Some(list(core, &live, &state, request, &best))
}

/// The items of a stored user, if a shortlist has enough of them: the user has not changed since it was made, and items
/// that were seen are left out of the list, as they are of the shortlist.
fn from_shortlist(core: &Core, state: &State, request: &ListRequest) -> Option<Vec<Scored>> {
    let Who::User(user) = &request.who else {
        return None;
    };
    if request.seen != Seen::Hide || !request.categories.is_empty() {
        return None;
    }
    let (shortlists, changed) = state.shortlists()?;
    let (online, ids) = (state.learner.online(), state.learner.ids());
    let row = ids.users.get(user)?;
    let factors = online.factors(Axis::User).row(row as usize);
    if !state.is_unchanged(row) || !is_known(factors) {
        return None;
    }
    let catalogue = core.catalogue();
    let has_hidden = catalogue.hidden().next().is_some();
    let exclude: Vec<u32> = request
        .exclude
        .iter()
        .filter_map(|id| ids.items.get(id))
        .collect();
    let is_hidden = |item| {
        ids.items
            .name(item)
            .is_some_and(|id| catalogue.is_hidden(&id))
    };
    let is_left_out = |item: u32| {
        online.has_seen(row, item) || exclude.contains(&item) || (has_hidden && is_hidden(item))
    };
    let length = request.offset + request.n;
    let best = shortlists.best((row, factors), changed, length, &is_left_out)?;
    core.metrics.count_looked_up();
    Some(best)
}

/// Makes the lists of some requests from one state. The state is locked while they are prepared and while
/// items are named, not while they are ranked: events are learned meanwhile.
pub(super) fn lists(
    core: &Core,
    store: &dyn StoreReader,
    requests: &[&ListRequest],
) -> Vec<Result<List, ApiError>> {
    let live = core.live();
    let (mut drafts, index, changed, sequence) = {
        let state = live.read();
        let drafts = requests.iter().map(|request| {
            if let Some(best) = from_shortlist(core, &state, request) {
                return Ok(Draft::Made(best, None));
            }
            let resolved = resolve(core, store, &state, request)?;
            draft(&state, resolved, request.offset + request.n)
        });
        let drafts: Vec<Result<Draft, ApiError>> = drafts.collect();
        let (index, changed) = state.ranked_items();
        (drafts, index, changed, state.sequence)
    };
    rank_together((&index, &changed), requests, &mut drafts);
    let state = live.read();
    let lists = requests.iter().zip(drafts).map(|(request, draft)| {
        let (best, fallback) = match draft? {
            Draft::Made(best, fallback) => (best, fallback),
            Draft::Unranked(..) => (Vec::new(), None),
        };
        Ok(List {
            fallback,
            unknown: unknown(&state, &request.who),
            sequence,
            ..list(core, &live, &state, request, &best)
        })
    });
    lists.collect()
}

/// A list of some items at the sequence number of a state.
fn list(core: &Core, live: &Live, state: &State, request: &ListRequest, best: &[Scored]) -> List {
    List {
        user: match &request.who {
            Who::User(user) => Some(user.clone()),
            Who::Items(_) => None,
        },
        items: named(&core.catalogue(), state, best, request),
        fallback: None,
        unknown: Vec::new(),
        model: live.version,
        sequence: state.sequence,
    }
}

/// Makes a list at once if the index does not serve it.
fn draft(state: &State, resolved: Resolved, length: usize) -> Result<Draft, ApiError> {
    let Resolved {
        factors,
        exclude,
        allow,
    } = resolved;
    let is_left = |item: &u32| exclude.binary_search(item).is_err();
    let Some(factors) = factors else {
        let allow = allow.as_deref();
        return Ok(Draft::Made(
            popular(state, allow, is_left, length),
            Some("popular"),
        ));
    };
    let Some(allow) = allow else {
        return Ok(Draft::Unranked(factors, exclude));
    };
    let items: Vec<u32> = allow.into_iter().filter(is_left).collect();
    let best = state.learner.online().best_of(&factors, &items, length);
    Ok(Draft::Made(best.map_err(|error| internal(&error))?, None))
}

/// Makes the lists that the index serves.
fn rank_together(
    (index, changed): (&IndexedItems, &ChangedItems),
    requests: &[&ListRequest],
    drafts: &mut [Result<Draft, ApiError>],
) {
    let (mut users, mut exclude, mut lengths) = (Vec::new(), Vec::new(), Vec::new());
    let mut waiting = Vec::new();
    for (request, draft) in requests.iter().zip(drafts) {
        if let Ok(Draft::Unranked(own, left_out)) = draft {
            users.push(std::mem::take(own));
            exclude.push(std::mem::take(left_out));
            lengths.push(request.offset + request.n);
            waiting.push(draft);
        }
    }
    let (Some(first), Some(&top)) = (users.first(), lengths.iter().max()) else {
        return;
    };
    let factors = Dense::from_fn(users.len(), first.len(), |row, f| users[row][f]);
    let exclude: ItemLists = exclude.into_iter().collect();
    match index.best(&factors, changed, top, &exclude) {
        Ok(lists) => {
            for ((draft, mut list), length) in waiting.into_iter().zip(lists).zip(lengths) {
                list.truncate(length);
                *draft = Ok(Draft::Made(list, None));
            }
        }
        Err(error) => {
            for draft in waiting {
                *draft = Err(internal(&error));
            }
        }
    }
}

fn resolve(
    core: &Core,
    store: &dyn StoreReader,
    state: &State,
    request: &ListRequest,
) -> Result<Resolved, ApiError> {
    let (online, items) = (state.learner.online(), &state.learner.ids().items);
    let mut seen = Vec::new();
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
            seen.extend(hidden.filter_map(|item| items.get(&item.item)));
            let folded = online.fold_in_user(&entries);
            Some(folded.map_err(|error| ApiError::invalid("items", error.to_string()))?)
        }
        Who::User(user) => {
            let row = state.learner.ids().users.get(user);
            if let Some(row) = row
                && request.seen == Seen::Hide
            {
                seen.extend(online.seen(row));
            }
            if let Seen::HideKinds(kinds) = &request.seen {
                let ids = store.items_of_kinds(user, kinds)?;
                seen.extend(ids.iter().filter_map(|id| items.get(id)));
            }
            row.map(|row| online.factors(Axis::User).row(row as usize).to_vec())
        }
    };
    let catalogue = core.catalogue();
    let allow = (!request.categories.is_empty()).then(|| {
        let names = request.categories.iter();
        let ids = names.flat_map(|name| catalogue.category(name));
        let mut rows: Vec<u32> = ids.filter_map(|id| items.get(id)).collect();
        rows.sort_unstable();
        rows.dedup();
        rows
    });
    Ok(Resolved {
        factors: factors.filter(|row| is_known(row)),
        exclude: left_out(state, &catalogue, request, seen),
        allow,
    })
}

/// Whether anything is known of a user with these factors.
fn is_known(factors: &[f32]) -> bool {
    factors.iter().any(|&x| x != 0.0)
}

/// Items that are left out, rising: those that were seen, those of the request and hidden ones.
fn left_out(
    state: &State,
    catalogue: &Catalogue,
    request: &ListRequest,
    seen: Vec<u32>,
) -> Vec<u32> {
    let rows = |id: &str| state.learner.ids().items.get(id);
    let mut items = seen;
    items.extend(request.exclude.iter().filter_map(|id| rows(id)));
    items.extend(catalogue.hidden().filter_map(rows));
    items.sort_unstable();
    items.dedup();
    items
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
fn popular(
    state: &State,
    allow: Option<&[u32]>,
    is_left: impl Fn(&u32) -> bool,
    length: usize,
) -> Vec<Scored> {
    let counts = state.learner.online().counts(Axis::Item);
    let score = |item: u32| counts[item as usize];
    let mut items: Vec<u32> = match allow {
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

fn named(
    catalogue: &Catalogue,
    state: &State,
    best: &[Scored],
    request: &ListRequest,
) -> Vec<Listed> {
    let ids = &state.learner.ids().items;
    let listed = best.iter().skip(request.offset).take(request.n);
    let listed = listed.map(|scored| {
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
