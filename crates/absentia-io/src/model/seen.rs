//! What users have seen, kept in a model on request: a loaded model then recommends without its training file.

use absentia::Model;
use absentia::ranking::UserItems;

use super::opened::Opened;
use super::tensor::Tensor;
use crate::error::Error;

/// Pairs of rows: of users, and of items.
const SEEN: [&str; 2] = ["seen_users", "seen_items"];

pub(super) fn tensors(seen: &UserItems) -> [Tensor<'static>; 2] {
    let lists = seen.users().iter().enumerate();
    let (users, items): (Vec<u32>, Vec<u32>) = lists
        .flat_map(|(at, &user)| seen.lists().row(at).iter().map(move |&item| (user, item)))
        .unzip();
    [Tensor::list(SEEN[0], users), Tensor::list(SEEN[1], items)]
}

/// What users have seen, if the file has it.
pub(super) fn load(opened: &Opened, model: &Model) -> Result<Option<UserItems>, Error> {
    if opened.header.tensor(SEEN[0]).is_none() {
        return Ok(None);
    }
    let users = opened.list::<u32>(SEEN[0])?;
    let items = opened.list::<u32>(SEEN[1])?;
    let is_within = |rows: &[u32], count: usize| rows.iter().all(|&row| (row as usize) < count);
    let fits = is_within(&users, model.n_users()) && is_within(&items, model.n_items());
    let seen = fits.then(|| UserItems::from_pairs(&users, &items).ok());
    let seen = seen.flatten();
    let seen = seen.ok_or_else(|| opened.corrupt("what users have seen is not of its rows"))?;
    Ok(Some(seen))
}
