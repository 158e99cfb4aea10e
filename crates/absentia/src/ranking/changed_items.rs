//! Copies of the items that have changed since an index was made, merged into lists of that index.

use super::factors::{FactorRows, FactorScorer};
use super::indexed_items::IndexedItems;
use super::rank::score_list;
use super::scorer::ScoreTile;
use super::screen::QuantisedBlock;
use super::top::{Scored, Top};
use crate::linalg::Dense;

/// Copies of the items that differ from those of an index, as they are now. Whoever has them and the index
/// can rank while the model goes on learning.
///
/// Copies are in the order in which items have changed for the first time: that is their place.
#[derive(Clone, Debug)]
pub struct ChangedItems {
    /// Number of items of the index.
    n_indexed: u32,
    /// Which items they are, rising.
    items: Vec<u32>,
    /// Their places.
    places: Vec<u32>,
    /// Items by place.
    by_place: Vec<u32>,
    factors: Dense,
    scale: Option<Vec<f32>>,
    /// How much scores can have changed, the most first.
    bounds: Vec<Bound>,
    /// The same items by place, where this machine multiplies bytes fast.
    quantised: Option<QuantisedBlock>,
}

/// With more items than this that may enter a list by their bounds, those that may by their quantised factors are looked for,
/// which are far fewer.
const MOST_SCORED: usize = 64;

/// What the score of a changed item can be at most, per length of a user's factors.
#[derive(Clone, Copy, Debug)]
struct Bound {
    /// How much more than it was; without limit for an item that the index does not have.
    change: f64,
    /// In all.
    score: f64,
    place: u32,
}

impl Bound {
    /// The larger change first, equal ones by place.
    fn order(&self, other: &Self) -> std::cmp::Ordering {
        let by_change = other.change.total_cmp(&self.change);
        by_change.then(self.place.cmp(&other.place))
    }
}

/// The first items of an index for a user.
#[derive(Clone, Copy, Debug)]
pub(super) struct FirstItems<'a> {
    /// Best first.
    pub(super) items: &'a [Scored],
    /// Whether the user can get no other items of the index.
    pub(super) has_no_others: bool,
}

impl ChangedItems {
    /// Yields none.
    pub(crate) fn none(index: &IndexedItems) -> Self {
        Self {
            n_indexed: index.n_items() as u32,
            items: Vec::new(),
            places: Vec::new(),
            by_place: Vec::new(),
            factors: Dense::zeros(0, index.n_factors()),
            scale: index.is_scaled().then(Vec::new),
            bounds: Vec::new(),
            quantised: QuantisedBlock::empty(index.n_factors()),
        }
    }

    /// Copies some items, which rise, each with its present factors and scale.
    pub(crate) fn new<'r>(
        index: &IndexedItems,
        items: impl Iterator<Item = u32>,
        present: impl Fn(u32) -> (&'r [f32], f32),
    ) -> Self {
        let mut copies = Self::none(index);
        for item in items {
            let (factors, scale) = present(item);
            let place = copies.push(item, factors);
            copies.places.push(place);
            copies.items.push(item);
            if let Some(scales) = &mut copies.scale {
                scales.push(scale);
            }
            copies.bounds.push(copies.bound(index, place));
            copies.quantise(place);
        }
        copies.bounds.sort_unstable_by(Bound::order);
        copies
    }

    /// Appends the factors of an item; yields its place.
    fn push(&mut self, item: u32, factors: &[f32]) -> u32 {
        let place = self.by_place.len() as u32;
        self.by_place.push(item);
        self.factors.push_row(factors);
        place
    }

    /// Copies the present factors of an item, in place of an earlier copy, and its scale if the items of the index have one.
    pub(crate) fn copy(&mut self, index: &IndexedItems, item: u32, factors: &[f32], scale: f32) {
        let place = match self.items.binary_search(&item) {
            Ok(at) => {
                let place = self.places[at];
                let before = self.bound(index, place);
                if let Ok(at) = self.find(&before) {
                    self.bounds.remove(at);
                }
                let row = self.factors.row_mut(place as usize);
                row.copy_from_slice(factors);
                place
            }
            Err(at) => {
                let place = self.push(item, factors);
                self.items.insert(at, item);
                self.places.insert(at, place);
                place
            }
        };
        if let Some(scales) = &mut self.scale {
            scales.resize(self.by_place.len(), scale);
            scales[place as usize] = scale;
        }
        let bound = self.bound(index, place);
        if let Err(at) = self.find(&bound) {
            self.bounds.insert(at, bound);
        }
        self.quantise(place);
    }

    /// The present factors of the item at a place, and its scale.
    fn present(&self, place: u32) -> (&[f32], f32) {
        let scale = self.scale.as_ref();
        let scale = scale.map_or(1.0, |scale| scale[place as usize]);
        (self.factors.row(place as usize), scale)
    }

    fn quantise(&mut self, place: u32) {
        let Some(mut quantised) = self.quantised.take() else {
            return;
        };
        quantised.put(place as usize, self.present(place));
        self.quantised = Some(quantised);
    }

    fn bound(&self, index: &IndexedItems, place: u32) -> Bound {
        let now = self.present(place);
        let item = self.by_place[place as usize];
        let score = FactorScorer::length(now.0, now.1);
        let change = if item < self.n_indexed {
            FactorScorer::change(index.item(item), now)
        } else {
            f64::INFINITY
        };
        Bound {
            change,
            score,
            place,
        }
    }

    /// Where a bound is, or belongs.
    fn find(&self, bound: &Bound) -> Result<usize, usize> {
        self.bounds.binary_search_by(|other| other.order(bound))
    }

    /// Number of items.
    pub(super) fn len(&self) -> usize {
        self.items.len()
    }

    /// Those that the index has as well, as they were, rising.
    pub(super) fn indexed(&self) -> &[u32] {
        let n = self.items.partition_point(|&item| item < self.n_indexed);
        &self.items[..n]
    }

    /// The score of an item for a user, if it is one of these.
    pub(super) fn score_of(&self, user: &FactorRows<'_>, item: u32) -> Option<f32> {
        let at = self.items.binary_search(&item).ok()?;
        let place = self.places[at];
        Some(self.scorer(*user).score_items(0, &[place], &mut Vec::new())[0])
    }

    /// These items, rising, with their scores for a user.
    pub(super) fn scores<'t>(
        &self,
        user: FactorRows<'_>,
        tile: &'t mut ScoreTile,
    ) -> (&[u32], &'t [f32]) {
        let scores = score_list(&self.scorer(user), 0, &self.places, tile);
        (&self.items, scores)
    }

    /// The best `top` items of a user, without those that are left out: of all items with these as they are now. Nothing
    /// if too few of the first items of the index are as they were.
    pub(super) fn merged(
        &self,
        first: FirstItems<'_>,
        user: &[f32],
        top: usize,
        is_left_out: &dyn Fn(u32) -> bool,
    ) -> Option<Vec<Scored>> {
        let most = top.min(first.items.len());
        let (mut kept, mut places) = (Vec::with_capacity(most), Vec::new());
        for scored in first.items {
            match self.items.binary_search(&scored.item) {
                Ok(at) => places.push(self.places[at]),
                Err(_) if kept.len() < top && !is_left_out(scored.item) => kept.push(*scored),
                Err(_) => {}
            }
        }
        if kept.len() < top && !first.has_no_others {
            return None;
        }
        // Others had at most the score of the last one. Where there are none, nothing is known of those that have changed:
        // their scores may have been no numbers.
        let others = match first.items.last() {
            Some(last) if !first.has_no_others => f64::from(last.score),
            _ => f64::INFINITY,
        };
        Some(self.offer(kept, (others, places), user, top, is_left_out))
    }

    /// As [`merged`](Self::merged), of a list without any of these items.
    pub(super) fn merged_into(
        &self,
        list: Vec<Scored>,
        user: &[f32],
        top: usize,
        is_left_out: &dyn Fn(u32) -> bool,
    ) -> Vec<Scored> {
        let others = (f64::INFINITY, Vec::new());
        self.offer(list, others, user, top, is_left_out)
    }

    /// Offers these items to a list: those at some places, and those of the others whose scores, which were at most
    /// `others`, may now be as large as the last one of the list.
    fn offer(
        &self,
        list: Vec<Scored>,
        (others, mut places): (f64, Vec<u32>),
        user: &[f32],
        top: usize,
        is_left_out: &dyn Fn(u32) -> bool,
    ) -> Vec<Scored> {
        let last = top.checked_sub(1).and_then(|last| list.get(last));
        let threshold = last.map_or(f64::NEG_INFINITY, |last| f64::from(last.score));
        let length = FactorScorer::length(user, 1.0);
        let listed = places.len();
        let may_enter = |bound: &&Bound| bound.change * length + others >= threshold;
        for bound in self.bounds.iter().take_while(may_enter) {
            if places.len() - listed > MOST_SCORED
                && let Some(passing) = self.passing(user, last)
            {
                places = passing;
                break;
            }
            if bound.score * length >= threshold && !places[..listed].contains(&bound.place) {
                places.push(bound.place);
            }
        }
        places.retain(|&place| !is_left_out(self.by_place[place as usize]));
        if places.is_empty() {
            return list;
        }
        let own = Dense::from_fn(1, user.len(), |_, f| user[f]);
        let mut tile = ScoreTile::default();
        let scores = score_list(&self.scorer((&own).into()), 0, &places, &mut tile);
        let mut best = Top::new(top);
        for Scored { item, score } in list {
            best.offer(&[item], &[score]);
        }
        for (&place, &score) in places.iter().zip(&*scores) {
            best.offer(&[self.by_place[place as usize]], &[score]);
        }
        best.finish()
    }

    /// Places of all of these items whose score for a user may be as large as the last one of a list, by their quantised
    /// factors; nothing if the list is not full or the factors are not quantised.
    fn passing(&self, user: &[f32], last: Option<&Scored>) -> Option<Vec<u32>> {
        let mut places = self.quantised.as_ref()?.passing(user, last?.score)?;
        places.retain(|&place| (place as usize) < self.by_place.len());
        Some(places)
    }

    /// Scores of these items, by place, for some users.
    fn scorer<'a>(&'a self, users: FactorRows<'a>) -> FactorScorer<'a> {
        let present = FactorRows::from(&self.factors);
        FactorScorer::of_model(users, present, self.scale.as_deref())
    }
}
