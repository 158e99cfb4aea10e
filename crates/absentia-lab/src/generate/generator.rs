//! The generator: users on demand, in any order.

use std::ops::Range;

use rayon::prelude::*;

use super::activity::Activity;
use super::catalogue::Catalogue;
use super::error::GenerateError;
use super::params::GeneratorParams;
use super::permutation::Permutation;
use super::seen::Seen;
use super::showing::Showing;
use super::streams::Streams;
use super::taste::Taste;
use super::user::{Feedback, User};
use absentia::data::{DataError, Interactions, RowSource, Values, from_row_source};

/// Number of users generated at a time: enough to keep threads busy, few enough for memory.
const BLOCK: u32 = 8192;

/// Data described by [`GeneratorParams`], generated user by user on request.
///
/// The same parameters give the same data, in any order and on any number of threads.
#[derive(Clone, Debug)]
pub struct Generator {
    params: GeneratorParams,
    pub(super) streams: Streams,
    pub(super) catalogue: Catalogue,
    pub(super) showing: Showing,
    pub(super) taste: Taste,
    activity: Activity,
    activity_rank: Permutation,
}

impl Generator {
    /// Draws the items; users are drawn on request.
    ///
    /// # Errors
    /// Names the first parameter that is out of range.
    pub fn new(params: GeneratorParams) -> Result<Self, GenerateError> {
        params.check()?;
        let streams = Streams::new(params.seed);
        let catalogue = Catalogue::new(&params, &streams);
        Ok(Self {
            showing: Showing::new(&params, &catalogue, &streams),
            catalogue,
            taste: Taste::new(&params),
            activity: Activity::new(&params),
            activity_rank: Permutation::new(params.users, &streams, 0),
            streams,
            params,
        })
    }

    /// The parameters.
    #[must_use]
    pub fn params(&self) -> &GeneratorParams {
        &self.params
    }

    /// Yields a user with the truth about them.
    ///
    /// Numbers beyond the last user are of the same kind but have no entries.
    #[must_use]
    pub fn user(&self, user: u32) -> User<'_> {
        User::new(self, user)
    }

    /// The category of an item.
    ///
    /// # Panics
    /// If there is no such item.
    #[must_use]
    pub fn category(&self, item: u32) -> usize {
        self.catalogue.category[item as usize] as usize
    }

    /// Number of entries of a user, 0 beyond the last.
    #[must_use]
    pub fn quota(&self, user: u32) -> u64 {
        if user as usize >= self.params.users {
            return 0;
        }
        self.activity.quota(self.activity_rank.place(user.into()))
    }

    /// Yields what each user of a range was shown, in their order, on all threads.
    #[must_use]
    pub fn feedback(
        &self,
        users: Range<u32>,
    ) -> impl IndexedParallelIterator<Item = Feedback> + '_ {
        users.into_par_iter().map_init(
            || Seen::new(self.params.items),
            |seen, user| self.user(user).feedback_with(seen),
        )
    }

    /// Yields the observed items of each user of a range, rising, in the users' order, on all
    /// threads.
    #[must_use]
    pub fn rows(&self, users: Range<u32>) -> impl IndexedParallelIterator<Item = Vec<u32>> + '_ {
        users.into_par_iter().map_init(
            || Seen::new(self.params.items),
            |seen, user| self.user(user).liked_with(seen),
        )
    }

    /// Yields all observed entries as a matrix. Each user is generated once, and only the matrix is held in memory.
    ///
    /// # Errors
    /// Rows that are not valid, which the generator does not make.
    pub fn interactions(&self) -> Result<Interactions<'static>, DataError> {
        from_row_source(self, self.params.users, self.params.items)
    }

    /// Yields the matrix whose rows `row` makes, one user at a time, with an empty set as scratch space.
    pub(super) fn collect(
        &self,
        row: impl Fn(&User<'_>, &mut Seen) -> Vec<u32> + Sync,
    ) -> Result<Interactions<'static>, DataError> {
        let (mut offsets, mut indices) = (vec![0], Vec::new());
        for users in self.blocks() {
            let rows: Vec<Vec<u32>> = users
                .into_par_iter()
                .map_init(
                    || Seen::new(self.params.items),
                    |seen, user| row(&self.user(user), seen),
                )
                .collect();
            for row in rows {
                indices.extend_from_slice(&row);
                offsets.push(indices.len() as u64);
            }
        }
        Interactions::from_csr(self.params.items, offsets, indices, Values::Constant(1.0))
    }

    fn blocks(&self) -> impl Iterator<Item = Range<u32>> + use<> {
        let users = self.params.users as u32;
        (0..users)
            .step_by(BLOCK as usize)
            .map(move |start| start..users.min(start.saturating_add(BLOCK)))
    }
}

/// Quotas are known without generating anything, so that the first pass costs next to nothing.
impl RowSource for Generator {
    type Scratch = Seen;

    fn scratch(&self) -> Seen {
        Seen::new(self.params.items)
    }

    fn count(&self, user: u32, _: &mut Seen) -> usize {
        self.quota(user) as usize
    }

    fn fill(&self, user: u32, seen: &mut Seen, items: &mut [u32]) -> usize {
        let liked = self.user(user).liked_with(seen);
        if liked.len() == items.len() {
            items.copy_from_slice(&liked);
        }
        liked.len()
    }
}
