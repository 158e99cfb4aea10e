//! The memory of a model that is read, before it is read.

use std::path::Path;

use absentia::memory::Stage;

use super::inspect::{IdForm, inspect};
use crate::error::Error;

/// The memory of a model once it is read: the file, which is mapped and read whole, and what is copied
/// out of it, which is everything but factors.
///
/// # Errors
/// As [`inspect`].
pub fn loading(path: &Path) -> Result<Stage, Error> {
    let info = inspect(path)?;
    let factors = 4 * ((info.n_users + info.n_items) * info.n_factors) as u64;
    let table = |form: IdForm, rows: usize| match form {
        IdForm::Dense => 0,
        IdForm::Integers | IdForm::Text => 4 * (rows + rows / 2 + 1).next_power_of_two() as u64,
    };
    let tables = table(info.user_ids, info.n_users) + table(info.item_ids, info.n_items);
    Ok(Stage::new("reading the model")
        .with("file", info.bytes)
        .with(
            "ids, weights and counts",
            info.bytes.saturating_sub(factors),
        )
        .with("tables of ids", tables))
}
