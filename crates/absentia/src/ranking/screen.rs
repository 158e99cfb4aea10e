//! Screening: skipping items that cannot enter a list, by a bound from their quantised factors.
//!
//! Items that pass the screen are scored and compared in floats, so screening changes no list.

use rayon::prelude::*;

use super::factors::FactorScorer;
use super::scan::for_each_tile;
use super::scorer::Scorer as _;
use super::state::{Screened, UserState};
use crate::linalg::LANES;
use crate::linalg::kernels::{Kernels, Limit, PanelScales, QuantisedPanel, QuantisedRows, words};

/// Maximum number of factors; with more, sums of products of bytes could overflow 32 bits.
const MOST_FACTORS: usize = 1 << 15;

/// A block of quantised items.
#[derive(Clone, Debug)]
pub(super) struct QuantisedBlock {
    panels: Vec<i32>,
    scales: Vec<PanelScales>,
    pitch: usize,
}

/// Scratch memory for screening a tile of users, reused between calls of one worker.
#[derive(Default)]
pub(super) struct ScreenScratch {
    words: Vec<i32>,
    limits: Vec<Limit>,
    /// For each user, one bit per item of a strip.
    passed: Vec<u16>,
    /// Scores of items that passed.
    pub(super) scores: Vec<f32>,
}

/// Whether screening may pay for a list of `top` of the items on this machine.
pub(super) fn pays(factors: &FactorScorer<'_>, top: usize, items: usize) -> bool {
    Kernels::in_use().can_screen() && factors.n_factors() <= MOST_FACTORS && top <= items / 16
}

/// Whether screening may pay for a list of `top` of all items.
pub(crate) fn screening_pays(factors: &FactorScorer<'_>, top: usize) -> bool {
    pays(factors, top, factors.n_items())
}

/// Quantises users; those that cannot be quantised are not screened.
pub(super) fn prepare(factors: &FactorScorer<'_>, states: &mut [UserState<'_>]) {
    for_each_tile(states, |bytes: &mut Vec<i8>, states| {
        for state in states {
            let row = Kernels::in_use().quantise_row(factors.user(state.user), bytes);
            state.screened = row.map(Screened::new);
        }
    });
}

impl QuantisedBlock {
    /// Its size in bytes.
    pub(super) fn size(&self) -> usize {
        size_of_val(&self.panels[..]) + size_of_val(&self.scales[..])
    }

    /// Quantises the factors of items.
    pub(super) fn new(factors: &FactorScorer<'_>, items: &[u32]) -> Self {
        let pitch = words(factors.n_factors());
        let panels = items.len().div_ceil(LANES);
        let mut block = Self {
            panels: vec![0; panels * pitch * LANES],
            scales: vec![PanelScales::default(); panels],
            pitch,
        };
        if pitch > 0 {
            let panels = block.panels.par_chunks_mut(pitch * LANES);
            panels
                .zip(&mut block.scales)
                .zip(items.par_chunks(LANES))
                .with_min_len(16)
                .for_each_init(Vec::new, |bytes, ((words, scales), items)| {
                    for (lane, &item) in items.iter().enumerate() {
                        let row = factors.item(item);
                        Kernels::in_use().quantise_lane(row, lane, (words, scales), bytes);
                    }
                });
        }
        block
    }

    /// No items yet, if their products can be screened on this machine.
    pub(super) fn empty(k: usize) -> Option<Self> {
        let can_screen = Kernels::in_use().can_screen() && (1..=MOST_FACTORS).contains(&k);
        can_screen.then(|| Self {
            panels: Vec::new(),
            scales: Vec::new(),
            pitch: words(k),
        })
    }

    /// Quantises the item at a place: one that is there is replaced, the next one is appended.
    pub(super) fn put(&mut self, place: usize, (row, scale): (&[f32], f32)) {
        let (panel, size) = (place / LANES, self.pitch * LANES);
        if panel == self.scales.len() {
            self.panels.resize(self.panels.len() + size, 0);
            self.scales.push(PanelScales::default());
        }
        let words = &mut self.panels[panel * size..(panel + 1) * size];
        let to = (words, &mut self.scales[panel]);
        Kernels::in_use().quantise_lane((row, scale), place % LANES, to, &mut Vec::new());
    }

    /// Places of items whose product with a user's factors may reach a threshold, among them perhaps some behind the last
    /// one; nothing if the factors cannot be quantised.
    pub(super) fn passing(&self, user: &[f32], threshold: f32) -> Option<Vec<u32>> {
        let row = Kernels::in_use().quantise_row(user, &mut Vec::new())?;
        let limits = [row.limit(threshold)];
        let rows = QuantisedRows {
            words: row.words(),
            pitch: self.pitch,
            limits: &limits,
        };
        let mut places = Vec::new();
        for at in 0..self.scales.len() {
            let mut passed = [0];
            Kernels::in_use().screen(rows, self.panel(at), &mut passed, 1);
            let lanes = (0..LANES).filter(|lane| passed[0] >> lane & 1 == 1);
            places.extend(lanes.map(|lane| (at * LANES + lane) as u32));
        }
        Some(places)
    }

    fn panel(&self, at: usize) -> QuantisedPanel<'_> {
        let size = self.pitch * LANES;
        QuantisedPanel {
            words: &self.panels[at * size..(at + 1) * size],
            scales: &self.scales[at],
        }
    }

    /// Screens a strip of the block, `items`, for some users of a tile; `start` is where the block
    /// begins in the catalogue, `first` where the strip begins in the block.
    pub(super) fn screen(
        &self,
        (start, first): (usize, usize),
        items: &[u32],
        (states, open): (&mut [&mut UserState<'_>], &[usize]),
        tile: &mut ScreenScratch,
    ) {
        tile.words.clear();
        tile.limits.clear();
        for &at in open {
            if let Some(row) = states[at].to_screen() {
                tile.words.extend_from_slice(row.words());
                tile.limits.push(row.limit(states[at].top.threshold()));
            }
        }
        let rows = QuantisedRows {
            words: &tile.words,
            pitch: self.pitch,
            limits: &tile.limits,
        };
        let panels = items.len().div_ceil(LANES);
        tile.passed.resize(panels * open.len(), 0);
        for at in 0..panels {
            let panel = self.panel(first / LANES + at);
            Kernels::in_use().screen(rows, panel, &mut tile.passed[at..], panels);
        }
        for (&at, passed) in open.iter().zip(tile.passed.chunks_exact_mut(panels)) {
            states[at].take_passed(start + first, items, passed);
        }
    }
}
