//! Resuming a run from its checkpoint.

use std::path::Path;

use absentia::Params;
use absentia::fit::Checkpoint;
use absentia::weights::SchemeSpec;
use absentia_io::IdMap;
use absentia_io::model;
use absentia_io::time::TimeUnit;
use absentia_search::Automatic;

use crate::error::JobError;
use crate::fingerprint::{Difference, Fingerprint};
use crate::job::Job;
use crate::keys::{Keys as _, key_of, text_of};

/// Reads the checkpoint of a run, if it exists, and takes the settings that were chosen from it.
///
/// # Errors
/// A checkpoint that cannot be read, or of other data or settings.
pub(crate) fn resume(
    path: &Path,
    own: &Fingerprint,
    params: &mut Params,
    weights: &mut Option<SchemeSpec>,
    automatic: Automatic,
) -> Result<Option<Checkpoint>, JobError> {
    if !path.exists() {
        return Ok(None);
    }
    let loaded = model::load_checkpoint(path)?;
    let then = loaded.fingerprint.as_deref();
    let Some(then) = then.and_then(|text| serde_json::from_str(text).ok()) else {
        return Err(JobError::UnknownData {
            path: path.to_owned(),
        });
    };
    check_data(path, own.difference(&then))?;
    let (checkpoint, config) = (loaded.checkpoint, loaded.config);
    let then = checkpoint.model.params();
    if automatic.regularization {
        params.regularization = then.regularization;
    }
    if automatic.post_scale {
        params.post_scale = then.post_scale;
    }
    if automatic.by_time {
        params.post_scale_half_life = then.post_scale_half_life;
    }
    let stored = config.as_deref().and_then(weights_of);
    if automatic.recipe {
        params.targets = then.targets;
        *weights = stored.clone().or(weights.take());
    }
    let unit = TimeUnit::of_latest(checkpoint.model.parts().transform.now);
    check_params(path, then, params, unit)?;
    check_weights(path, stored.as_ref(), weights.as_ref())?;
    Ok(Some(checkpoint))
}

/// Refuses a checkpoint of a run that was made on other data or measured otherwise.
pub(crate) fn check_data(path: &Path, difference: Option<Difference>) -> Result<(), JobError> {
    let path = path.to_owned();
    match difference {
        None => Ok(()),
        Some(Difference::Data(what)) => Err(JobError::OtherData { path, what }),
        Some(Difference::Setting(key, then, now)) => Err(JobError::OtherSettings {
            path,
            key: key.to_owned(),
            then,
            now,
        }),
    }
}

/// The weights on missing entries that a stored configuration names.
fn weights_of(config: &str) -> Option<SchemeSpec> {
    let table: toml::Table = config.parse().ok()?;
    match table.get("weights")? {
        toml::Value::Array(schemes) => schemes.first()?.as_str()?.parse().ok(),
        scheme => scheme.as_str()?.parse().ok(),
    }
}

/// Rejects other weights on missing entries. Files of weights may have moved: what they hold is compared, not their names.
pub(crate) fn check_weights(
    path: &Path,
    then: Option<&SchemeSpec>,
    now: Option<&SchemeSpec>,
) -> Result<(), JobError> {
    let comparable = then.filter(|then| then.scheme().is_some());
    match comparable.zip(now) {
        Some((then, now)) if then != now => Err(JobError::OtherSettings {
            path: path.to_owned(),
            key: "weights".to_owned(),
            then: then.to_string(),
            now: now.to_string(),
        }),
        _ => Ok(()),
    }
}

/// Rejects parameters that a resumed run must not change, and names the first that differs.
pub(crate) fn check_params(
    path: &Path,
    then: &Params,
    now: &Params,
    unit: TimeUnit,
) -> Result<(), JobError> {
    let Some(&name) = now.changes_since(then).first() else {
        return Ok(());
    };
    Err(JobError::OtherSettings {
        path: path.to_owned(),
        key: key_of(name),
        then: written(then, name, unit),
        now: written(now, name, unit),
    })
}

/// The text of a parameter.
fn written(params: &Params, name: &str, unit: TimeUnit) -> String {
    let mut job = Job {
        solver: Some(params.solver),
        ..Job::default()
    };
    job.settings.fix(params, unit);
    let mut fields = job.fields().into_iter();
    let field = fields.find(|(own, _)| *own == name);
    let value = field.and_then(|(_, field)| field.written());
    value.map_or("none".to_owned(), |value| {
        text_of(&value).unwrap_or_default()
    })
}

/// Whether two maps give the same rows to the same ids.
#[must_use]
pub fn same_ids(left: &IdMap, right: &IdMap) -> bool {
    left.len() == right.len() && left.iter().zip(right.iter()).all(|(l, r)| l == r)
}
