//! Bodies in JSON, checked.

use serde::de::DeserializeOwned;

use super::call::Call;
use crate::error::ApiError;

/// Reads a body that must be one JSON value of a shape: unknown and repeated fields are refused.
pub(super) fn read<T: DeserializeOwned>(call: &Call) -> Result<T, ApiError> {
    if call.content_type != "application/json" {
        return Err(wrong_type("application/json"));
    }
    serde_json::from_slice(&call.body).map_err(|error| wrong(&error, None))
}

/// Reads a body with one JSON value a line; blank lines are left out.
pub(super) fn read_lines<T: DeserializeOwned>(
    call: &Call,
    most: usize,
) -> Result<Vec<T>, ApiError> {
    let mut values = Vec::new();
    let lines = call.body.split(|&byte| byte == b'\n').enumerate();
    for (at, line) in lines.filter(|(_, line)| !line.trim_ascii().is_empty()) {
        if values.len() == most {
            let message = format!("at most {most} lines are accepted");
            return Err(ApiError::new(413, "too_many", message));
        }
        let value = serde_json::from_slice(line);
        values.push(value.map_err(|error| wrong(&error, Some(at + 1)))?);
    }
    Ok(values)
}

pub(super) fn wrong_type(expected: &str) -> ApiError {
    let message = format!("the Content-Type must be {expected}");
    ApiError::new(415, "unsupported_media_type", message).field("Content-Type")
}

fn wrong(error: &serde_json::Error, line: Option<usize>) -> ApiError {
    let place = line
        .map(|line| format!("line {line}: "))
        .unwrap_or_default();
    let message = format!("{place}{error}");
    match error.classify() {
        serde_json::error::Category::Data => ApiError::new(422, "invalid_body", message),
        _ => ApiError::bad("bad_json", message),
    }
}
