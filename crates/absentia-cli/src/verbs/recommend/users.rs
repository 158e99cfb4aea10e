//! The users that lists are wanted for.

use absentia::error::Axis;
use absentia_io::IdMap;
use anyhow::Result;

use super::Recommend;
use crate::failure::Refusal;
use crate::loading::{id_list, row_of};
use crate::ui::Ui;

/// An id that was given, and the file and line it is in.
pub(super) struct Named {
    pub(super) id: String,
    place: Option<String>,
}

impl Recommend {
    /// The rows of the users that were given.
    pub(super) fn users(&self, known: &IdMap, ui: &Ui) -> Result<Vec<u32>> {
        if self.all {
            return Ok((0..known.len() as u32).collect());
        }
        let named = self.named_users()?;
        if named.is_empty() {
            return Err(nobody().into());
        }
        let named = self.known(Axis::User, named, |id| known.get(id).is_some(), ui)?;
        named.iter().map(|user| user.row(known)).collect()
    }

    /// The ids that were given.
    pub(super) fn named_users(&self) -> Result<Vec<Named>> {
        let Some(path) = &self.users_file else {
            let ids = self.user.iter().cloned();
            return Ok(ids.map(|id| Named { id, place: None }).collect());
        };
        let listed = id_list(path)?.into_iter();
        let named = listed.map(|(line, id)| Named {
            id,
            place: Some(format!("{}:{line}", path.display())),
        });
        Ok(named.collect())
    }

    /// Leaves out unknown users or items, if that was asked for, and says how many.
    pub(super) fn known<N: AsRef<str>>(
        &self,
        axis: Axis,
        mut named: Vec<N>,
        is_known: impl Fn(&str) -> bool,
        ui: &Ui,
    ) -> Result<Vec<N>> {
        let before = named.len();
        if self.skip_unknown {
            named.retain(|one| is_known(one.as_ref()));
        }
        let left_out = before - named.len();
        if left_out > 0 {
            ui.warn(format!(
                "left out {left_out} of {before} {axis}s that the model does not know"
            ));
        }
        if named.is_empty() {
            let refusal = Refusal::not_found(format!("the model knows none of these {axis}s"));
            return Err(refusal
                .hint("are the ids those of the training data?")
                .into());
        }
        Ok(named)
    }
}

impl AsRef<str> for Named {
    fn as_ref(&self) -> &str {
        &self.id
    }
}

impl Named {
    /// The row of the user, or an error that names the line.
    pub(super) fn row(&self, known: &IdMap) -> Result<u32> {
        row_of(known, Axis::User, &self.id).map_err(|error| {
            match (error.downcast::<Refusal>(), &self.place) {
                (Ok(refusal), Some(place)) => {
                    let refusal = refusal.at(place);
                    refusal
                        .and_hint("--skip-unknown leaves such users out")
                        .into()
                }
                (Ok(refusal), None) => refusal.into(),
                (Err(error), _) => error,
            }
        })
    }
}

/// Says that no user was given.
pub(super) fn nobody() -> Refusal {
    Refusal::usage("no user to recommend to")
        .hint("name users, or pass --users-file FILE, --all, or --items for someone new")
}
