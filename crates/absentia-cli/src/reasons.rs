//! Why a value of a flag is refused, as for a key of a configuration file.

use std::error::Error as _;

use absentia_job::keys::reason;
use clap::error::{ContextKind, ContextValue};

/// The error with a reason for people.
pub(crate) fn with_reason(error: clap::Error, command: &mut clap::Command) -> clap::Error {
    let text = |kind| match error.get(kind) {
        Some(ContextValue::String(text)) => Some(text.clone()),
        _ => None,
    };
    let (Some(flag), Some(value), Some(source)) = (
        text(ContextKind::InvalidArg),
        text(ContextKind::InvalidValue),
        error.source(),
    ) else {
        return error;
    };
    let reason = reason(source);
    if reason == source.to_string() {
        return error;
    }
    let message = format!("invalid value '{value}' for '{flag}': {reason}");
    command.error(error.kind(), message)
}
