//! Bodies in JSON, checked.

use serde::de::DeserializeOwned;

use super::call::Call;
use super::shape::{self, Wrong};
use crate::error::ApiError;

/// Reads a body that must be one JSON value of a shape: unknown and repeated fields are refused.
pub(super) fn read<T: DeserializeOwned>(call: &Call) -> Result<T, ApiError> {
    check_type(call)?;
    shape::read(&call.body).map_err(|wrong| refused(wrong, ""))
}

/// Reads a body that must be a JSON array; its elements are named after the field that could hold it.
pub(super) fn read_array<T: DeserializeOwned>(
    call: &Call,
    field: &str,
) -> Result<Vec<T>, ApiError> {
    check_type(call)?;
    shape::read(&call.body).map_err(|wrong| refused(wrong, field))
}

/// Reads a body with one JSON value a line; blank lines are left out. Values are named as elements of a
/// field.
pub(super) fn read_lines<T: DeserializeOwned>(
    call: &Call,
    most: usize,
    field: &str,
) -> Result<Vec<T>, ApiError> {
    let mut values = Vec::new();
    let lines = call.body.split(|&byte| byte == b'\n').enumerate();
    for (at, line) in lines.filter(|(_, line)| !line.trim_ascii().is_empty()) {
        if values.len() == most {
            let message = format!("at most {most} lines are accepted");
            return Err(ApiError::new(413, "too_many", message));
        }
        let value = shape::read(line).map_err(|wrong| {
            let mut error = refused(wrong, &format!("{field}[{}]", values.len()));
            error.message = format!("line {}: {}", at + 1, error.message);
            error
        });
        values.push(value?);
    }
    Ok(values)
}

fn check_type(call: &Call) -> Result<(), ApiError> {
    if call.content_type == "application/json" {
        Ok(())
    } else {
        Err(wrong_type("application/json"))
    }
}

pub(super) fn wrong_type(expected: &str) -> ApiError {
    let message = format!("the Content-Type must be {expected}");
    ApiError::new(415, "unsupported_media_type", message).field("Content-Type")
}

/// The error of a value that was found within `before`.
fn refused(Wrong { error, path }: Wrong, before: &str) -> ApiError {
    let message = error.to_string();
    if error.classify() != serde_json::error::Category::Data {
        return ApiError::bad("bad_json", message);
    }
    let refused = ApiError::new(422, "invalid_body", message);
    let dot = if before.is_empty() || path.is_empty() || path.starts_with('[') {
        ""
    } else {
        "."
    };
    match format!("{before}{dot}{path}") {
        // The body itself is no field.
        field if field.is_empty() => refused,
        field => refused.field(field),
    }
}
