//! Item neighbours by cosine (Sarwar et al. 2001; top-N form of Deshpande and Karypis 2004).
//!
//! ```text
//! s_ij = n_ij / √(n_i n_j),   score_ui = Σ_{j∈R_u, i ∈ kNN(j)} s_ji
//! ```
//!
//! with `n_ij` the users who took both and `kNN(j)` the items most similar to j, itself left out.
//! Counting costs `O(Σ_u n_u²)`, a score `O(n_u)` lists.

use std::ops::Range;

use rayon::prelude::*;

use super::BaselineError;
use crate::data::Interactions;
use crate::params::Baseline;
use crate::ranking::{ScoreBlock, ScoreTile, Scorer};

/// Similar items of each item, and the items each user took: what an `itemknn` model consists of.
#[derive(Clone, Debug, PartialEq)]
pub struct Neighbours {
    taken: Lists,
    similar: Lists,
    /// Similarity of every item in `similar`.
    similarity: Vec<f32>,
}

/// Rising lists of items, one per row.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Lists {
    offsets: Vec<u64>,
    items: Vec<u32>,
}

impl Lists {
    fn checked(
        offsets: Vec<u64>,
        items: Vec<u32>,
        n_items: usize,
        what: &'static str,
    ) -> Result<Self, BaselineError> {
        let rises = offsets.first() == Some(&0)
            && offsets.is_sorted()
            && offsets.last() == Some(&(items.len() as u64));
        let lists = Self { offsets, items };
        let rows = |row: usize| lists.row(row);
        let sound = rises
            && (0..lists.len()).all(|row| {
                let row = rows(row);
                row.is_sorted_by(|x, y| x < y)
                    && row.last().is_none_or(|&last| (last as usize) < n_items)
            });
        if sound {
            Ok(lists)
        } else {
            Err(BaselineError::Neighbours { what })
        }
    }

    fn len(&self) -> usize {
        self.offsets.len().saturating_sub(1)
    }

    fn range(&self, row: usize) -> Range<usize> {
        self.offsets[row] as usize..self.offsets[row + 1] as usize
    }

    fn row(&self, row: usize) -> &[u32] {
        &self.items[self.range(row)]
    }
}

impl Neighbours {
    /// Finds the neighbours when the baseline is `itemknn`.
    pub(crate) fn of_baseline(baseline: Baseline, data: &Interactions<'_>) -> Option<Self> {
        match baseline {
            Baseline::ItemKnn { neighbours } => Some(Self::new(data, neighbours)),
            Baseline::Svd
            | Baseline::Ials1
            | Baseline::Rcd
            | Baseline::IiSvd
            | Baseline::Bpr
            | Baseline::SgdObserved
            | Baseline::Popularity => None,
        }
    }

    /// Finds the `k` items most similar to each item; equal ones by item.
    #[must_use]
    pub fn new(data: &Interactions<'_>, k: usize) -> Self {
        let n_items = data.n_items();
        let counts = data.item_counts();
        let first_items: Vec<usize> = (0..n_items).step_by(PART).collect();
        let parts: Vec<NeighbourLists> = first_items
            .into_par_iter()
            .map_init(
                || Counter::new(n_items),
                |counter, first| {
                    let items = first..n_items.min(first + PART);
                    counter.nearest_of_all(data, items, &counts, k)
                },
            )
            .collect();
        let mut similar = Lists {
            offsets: vec![0],
            items: Vec::new(),
        };
        let mut similarity = Vec::new();
        for part in parts {
            let before = similar.items.len() as u64;
            append(&mut similar.items, &part.items);
            append(&mut similarity, &part.similarity);
            similar
                .offsets
                .extend(part.ends.iter().map(|&end| before + end as u64));
        }
        similar.items.shrink_to_fit();
        similarity.shrink_to_fit();
        Self {
            taken: Lists {
                offsets: data.by_user().offsets().to_vec(),
                items: data.by_user().indices().to_vec(),
            },
            similar,
            similarity,
        }
    }

    /// Puts together what was saved apart: items taken by each user, neighbours of each item, and
    /// their similarities.
    ///
    /// # Errors
    /// Lists that do not rise or name items that are not there, and similarities that are not
    /// finite or not one per neighbour.
    pub fn from_parts(
        taken: (Vec<u64>, Vec<u32>),
        similar: (Vec<u64>, Vec<u32>),
        similarity: Vec<f32>,
    ) -> Result<Self, BaselineError> {
        let n_items = similar.0.len().saturating_sub(1);
        let taken = Lists::checked(taken.0, taken.1, n_items, "items taken")?;
        let similar = Lists::checked(similar.0, similar.1, n_items, "lists")?;
        if similarity.len() != similar.items.len() || similarity.iter().any(|s| !s.is_finite()) {
            return Err(BaselineError::Neighbours {
                what: "similarities",
            });
        }
        Ok(Self {
            taken,
            similar,
            similarity,
        })
    }

    /// Offsets and items of what each user took.
    #[must_use]
    pub fn taken(&self) -> (&[u64], &[u32]) {
        (&self.taken.offsets, &self.taken.items)
    }

    /// Offsets, items and similarities of each item's neighbours, items rising.
    #[must_use]
    pub fn neighbours(&self) -> (&[u64], &[u32], &[f32]) {
        (&self.similar.offsets, &self.similar.items, &self.similarity)
    }

    /// Number of users.
    #[must_use]
    pub fn n_users(&self) -> usize {
        self.taken.len()
    }

    /// Number of items.
    #[must_use]
    pub fn n_items(&self) -> usize {
        self.similar.len()
    }

    /// Score of one pair.
    ///
    /// # Panics
    /// If the user is out of range.
    #[must_use]
    pub fn score(&self, user: u32, item: u32) -> f32 {
        let own = self.taken.row(user as usize).iter();
        own.filter_map(|&taken| {
            let at = self.similar.row(taken as usize).binary_search(&item).ok()?;
            Some(self.similarity[self.similar.range(taken as usize).start + at])
        })
        .sum()
    }
}

/// Most neighbours that all items can have together: an item has at most `k`, and no more than the other
/// entries of its users.
pub(super) fn most(data: &Interactions<'_>, k: usize) -> u64 {
    let (by_item, by_user) = (data.by_item(), data.by_user());
    let k = k.min(data.n_items().saturating_sub(1)) as u64;
    let of_item = |item: usize| {
        let mut others = 0;
        for &user in by_item.row(item).indices {
            if others >= k {
                break;
            }
            others += by_user.row_len(user as usize) as u64 - 1;
        }
        others.min(k)
    };
    (0..data.n_items()).into_par_iter().map(of_item).sum()
}

/// Number of items whose neighbours are found together.
const PART: usize = 512;

/// Neighbours of some items, one after the other.
#[derive(Default)]
struct NeighbourLists {
    ends: Vec<usize>,
    items: Vec<u32>,
    similarity: Vec<f32>,
}

/// Appends with room for an eighth more: twice the room would be half empty.
fn append<T: Copy>(all: &mut Vec<T>, more: &[T]) {
    if all.capacity() - all.len() < more.len() {
        all.reserve_exact(more.len().max(all.len() / 8));
    }
    all.extend_from_slice(more);
}

/// Counts of users in common with one item, one per worker.
struct Counter {
    common: Vec<u32>,
    met: Vec<u32>,
    found: Vec<(u32, f32)>,
}

impl Counter {
    fn new(n_items: usize) -> Self {
        Self {
            common: vec![0; n_items],
            met: Vec::new(),
            found: Vec::new(),
        }
    }

    /// The `k` nearest of each of some items.
    fn nearest_of_all(
        &mut self,
        data: &Interactions<'_>,
        items: Range<usize>,
        counts: &[u32],
        k: usize,
    ) -> NeighbourLists {
        let mut part = NeighbourLists::default();
        for item in items {
            let nearest = self.nearest(data, item, counts, k);
            part.items.extend(nearest.iter().map(|(item, _)| item));
            part.similarity
                .extend(nearest.iter().map(|(_, similarity)| similarity));
            part.ends.push(part.items.len());
        }
        part.items.shrink_to_fit();
        part.similarity.shrink_to_fit();
        part
    }

    /// The `k` nearest of an item, rising by item.
    fn nearest(
        &mut self,
        data: &Interactions<'_>,
        item: usize,
        counts: &[u32],
        k: usize,
    ) -> &[(u32, f32)] {
        for &user in data.by_item().row(item).indices {
            for &other in data.by_user().row(user as usize).indices {
                if self.common[other as usize] == 0 {
                    self.met.push(other);
                }
                self.common[other as usize] += 1;
            }
        }
        let cosine = |other: u32, common: u32| {
            let lengths = f64::from(counts[item]) * f64::from(counts[other as usize]);
            (f64::from(common) / lengths.sqrt()) as f32
        };
        let found = &mut self.found;
        found.clear();
        for other in self.met.drain(..) {
            let common = std::mem::take(&mut self.common[other as usize]);
            if other as usize != item {
                found.push((other, cosine(other, common)));
            }
        }
        let by_likeness = |x: &(u32, f32), y: &(u32, f32)| y.1.total_cmp(&x.1).then(x.0.cmp(&y.0));
        if found.len() > k {
            found.select_nth_unstable_by(k, by_likeness);
            found.truncate(k);
        }
        found.sort_unstable_by_key(|(other, _)| *other);
        found
    }
}

impl Scorer for Neighbours {
    fn n_users(&self) -> usize {
        self.n_users()
    }

    fn n_items(&self) -> usize {
        self.n_items()
    }

    fn block<'s>(&'s self, items: &'s [u32]) -> Box<dyn ScoreBlock + 's> {
        Box::new(NeighbourBlock {
            neighbours: self,
            items,
        })
    }

    /// All items at once: a strip then costs the part of the lists that falls into it.
    fn block_items(&self) -> usize {
        self.n_items().max(1)
    }
}

struct NeighbourBlock<'a> {
    neighbours: &'a Neighbours,
    items: &'a [u32],
}

impl ScoreBlock for NeighbourBlock<'_> {
    /// Items of a strip rise when they are a catalogue's; lists given in another order are scored
    /// one by one. Either way a score is the same sum in the same order: over the user's items.
    fn score(&self, users: &[u32], range: Range<usize>, tile: &mut ScoreTile) {
        let strip = &self.items[range];
        let rises = strip.is_sorted_by(|x, y| x < y);
        for (row, &user) in users.iter().enumerate() {
            let out = &mut tile.row_mut(row)[..strip.len()];
            if rises {
                self.add_lists(user, strip, out);
            } else {
                for (slot, &item) in out.iter_mut().zip(strip) {
                    *slot = self.neighbours.score(user, item);
                }
            }
        }
    }
}

impl NeighbourBlock<'_> {
    fn add_lists(&self, user: u32, strip: &[u32], out: &mut [f32]) {
        out.fill(0.0);
        let (Some(&first), Some(&last)) = (strip.first(), strip.last()) else {
            return;
        };
        let Neighbours {
            taken,
            similar,
            similarity,
        } = self.neighbours;
        let contiguous = (last - first) as usize + 1 == strip.len();
        for &own in taken.row(user as usize) {
            let (start, list) = (similar.range(own as usize).start, similar.row(own as usize));
            let from = list.partition_point(|&item| item < first);
            for (at, &item) in list.iter().enumerate().skip(from) {
                if item > last {
                    break;
                }
                let slot = if contiguous {
                    Ok((item - first) as usize)
                } else {
                    strip.binary_search(&item)
                };
                if let Ok(slot) = slot {
                    out[slot] += similarity[start + at];
                }
            }
        }
    }
}
