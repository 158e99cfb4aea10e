//! Lists of users and items that are folded in before they are ranked.

use std::borrow::Cow;

use absentia::error::Axis;
use absentia::ranking::{RankRequest, UserItems, rank};
use absentia_io::IdMap;
use absentia_job::{Folded, FoldedScores, GivenRows};
use anyhow::Result;

use super::users::nobody;
use super::{Recommend, UserList, named_by};
use crate::folding::given_rows;
use crate::loading::row_of;
use crate::store::Stored;
use crate::ui::Ui;

/// Rows that the files add to a model.
pub(super) struct FoldedRows {
    given: GivenRows,
    folded: Folded,
    /// The items of the model, then the new ones.
    pub(super) items: IdMap,
}

impl FoldedRows {
    pub(super) fn read(command: &Recommend, stored: &Stored, ui: &Ui) -> Result<Self> {
        let files = (&command.fold_in[..], &command.relation[..]);
        let given = given_rows(files, &command.read, stored, ui)?;
        let folded = Folded::new(&given, stored.known(), ui)?;
        Ok(Self {
            items: folded.all_items(&stored.items)?,
            given,
            folded,
        })
    }

    /// The lists of users, some of whom, and some of whose items, are folded in.
    pub(super) fn lists(
        &self,
        command: &Recommend,
        (stored, seen): (&Stored, Option<&UserItems>),
        request: &RankRequest<'_>,
        ui: &Ui,
    ) -> Result<Vec<UserList>> {
        let users = self.wanted(command, stored, ui)?;
        let rows = users.iter().map(|id| self.user(&id, stored));
        let rows: Vec<Cow<'_, [f32]>> = rows.collect::<Result<_>>()?;
        let scores = FoldedScores::new(&rows, &self.folded, &stored.model);
        let seen = self.seen(&users, stored, seen)?;
        let numbers: Vec<u32> = (0..users.len() as u32).collect();
        let request = RankRequest {
            users: &numbers,
            exclude: (!command.allow_seen).then_some(&seen as _),
            ..*request
        };
        let ranked = rank(&scores.scorer()?, &request)?;
        let name = |item: u32| self.items.id(item);
        let lists = (0..).zip(ranked);
        Ok(lists
            .map(|(user, ranking)| named_by(users.id(user), &ranking.top, &name))
            .collect())
    }

    fn user<'r>(&'r self, id: &str, stored: &'r Stored) -> Result<Cow<'r, [f32]>> {
        let factors = self.folded.user_factors(id, stored.known());
        factors.map_or_else(
            || {
                let row = row_of(&stored.users, Axis::User, id)? as usize;
                Ok(Cow::Owned(stored.model.user_factors().row(row).to_vec()))
            },
            Ok,
        )
    }

    /// What users have seen: in the files of `--train`, and in those they are folded in from, new items included.
    fn seen(&self, users: &IdMap, stored: &Stored, seen: Option<&UserItems>) -> Result<UserItems> {
        let (mut rows, mut items) = (Vec::new(), Vec::new());
        for (at, id) in (0_u32..).zip(users.iter()) {
            let known = stored.users.get(&id).and_then(|user| seen?.get(user));
            let taken = self.given.taken(&id).iter();
            let before = items.len();
            items.extend(known.unwrap_or_default());
            items.extend(taken.filter_map(|item| self.items.get(item)));
            rows.resize(rows.len() + items.len() - before, at);
        }
        Ok(UserItems::from_pairs(&rows, &items)?)
    }

    /// The users that lists are wanted for: those named, or all that the files say something of.
    fn wanted(&self, command: &Recommend, stored: &Stored, ui: &Ui) -> Result<IdMap> {
        let all = || self.given.ids(Axis::User, |_| true);
        if command.all {
            let mut users: IdMap = stored.users.iter().collect();
            for id in all().iter() {
                users.intern(&id)?;
            }
            return Ok(users);
        }
        let named = command.named_users()?;
        if !named.is_empty() {
            let has = |id: &str| self.given.has(Axis::User, id) || stored.users.get(id).is_some();
            let named = command.known(Axis::User, named, has, ui)?;
            return Ok(named.iter().map(|user| &user.id).collect());
        }
        let users = all();
        if users.is_empty() {
            return Err(nobody().into());
        }
        Ok(users)
    }
}
