//! The value of every user to a file, and sampled negatives from one.

use std::io::Write as _;
use std::path::Path;

use absentia::evaluate::{Evaluation, TestSet};
use absentia::ranking::UserItems;
use absentia_io::{AtomicFile, IdMap, Unknown, expand, read_with_ids};
use absentia_job::Reading;
use anyhow::Result;

use crate::failure::Refusal;

/// Writes one line a user: the id, then every metric.
pub(super) fn write(path: &Path, names: &[String], evaluation: &Evaluation) -> Result<()> {
    let mut writer = csv::Writer::from_writer(AtomicFile::create(path)?);
    let headings = evaluation
        .metrics
        .iter()
        .map(|metric| metric.name.to_string());
    writer.write_record(std::iter::once("user".to_owned()).chain(headings))?;
    for (at, name) in names.iter().enumerate() {
        let values = evaluation
            .metrics
            .iter()
            .map(|metric| metric.per_user[at].to_string());
        writer.write_record(std::iter::once(name.clone()).chain(values))?;
    }
    writer.flush()?;
    let mut file = writer
        .into_inner()
        .map_err(csv::IntoInnerError::into_error)?;
    file.flush()?;
    Ok(file.commit()?)
}

/// Reads sampled negatives: lines `(user,item)<TAB>negative<TAB>...` as NCF writes them, or any
/// interaction file of user and negative item.
pub(super) fn negatives(
    path: &Path,
    ids: &(IdMap, IdMap),
    test: &TestSet,
    read: &Reading,
) -> Result<UserItems> {
    let text = std::fs::read_to_string(path).ok();
    let (users, items) = if let Some(text) = text.filter(|text| text.starts_with('(')) {
        ncf(path, &text, ids)?
    } else {
        let paths = expand(&[path.display().to_string()])?;
        let ids = (ids.0.clone(), ids.1.clone());
        let pairs = read_with_ids(&paths, &read.options(), ids, Unknown::Skip, &())?;
        (pairs.user, pairs.item)
    };
    let lists = UserItems::from_pairs(&users, &items)?;
    for (row, &user) in test.users().iter().enumerate() {
        let held = test.lists().row(row);
        let listed = lists.get(user).unwrap_or_default();
        // A test item is not a negative, and one that the model does not know is not in the list.
        if listed.iter().all(|item| held.contains(item)) {
            let id = ids.0.name(user).unwrap_or_default();
            let name = path.display();
            let refusal = Refusal::data(format!("{name}: no usable negatives for user {id:?}"));
            let hint =
                "every test user needs items that the model knows and that are not in --test";
            return Err(refusal.hint(hint).into());
        }
    }
    Ok(lists)
}

fn ncf(path: &Path, text: &str, (users, items): &(IdMap, IdMap)) -> Result<(Vec<u32>, Vec<u32>)> {
    let (mut user_of, mut item_of) = (Vec::new(), Vec::new());
    for (at, line) in text.lines().enumerate() {
        let mut fields = line.split('\t');
        let pair = fields.next().unwrap_or_default();
        let user = pair
            .strip_prefix('(')
            .and_then(|pair| pair.split(',').next())
            .ok_or_else(|| {
                Refusal::data(format!(
                    "{}:{}: expected (user,item)",
                    path.display(),
                    at + 1
                ))
            })?;
        let Some(user) = users.get(user.trim()) else {
            continue;
        };
        for item in fields.filter_map(|item| items.get(item.trim())) {
            user_of.push(user);
            item_of.push(item);
        }
    }
    Ok((user_of, item_of))
}
