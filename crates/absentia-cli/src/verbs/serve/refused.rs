//! Why a server did not start, with an exit code and with what to do about it.

use std::io::ErrorKind;

use absentia_serve::ServeError;
use absentia_serve::store::StoreError;

use crate::failure::Refusal;

/// An error of the server with its exit code.
pub(super) fn refused(error: ServeError) -> anyhow::Error {
    let message = error.to_string();
    match error {
        ServeError::Learn(error) => error.into(),
        ServeError::NoKey(_) | ServeError::InUse(_) | ServeError::Settings { .. } => {
            Refusal::usage(message).into()
        }
        ServeError::NoModel(folder) => {
            let refusal = Refusal::not_found(format!("{folder}: this folder has no model yet"));
            refusal
                .hint("give one: `absentia serve MODEL`; `absentia serve --demo` needs none")
                .into()
        }
        ServeError::Store(StoreError::Damaged(_)) | ServeError::OtherIds { .. } => {
            Refusal::data(message).into()
        }
        ServeError::Io { what, source } => match of_address(source.kind()) {
            Some((reason, hint)) => Refusal::failed(format!("{what}: {reason}"))
                .hint(hint)
                .into(),
            None => anyhow::Error::from(source).context(what),
        },
        _ => anyhow::anyhow!(message),
    }
}

/// Why it cannot listen on an address, and what to do about it.
fn of_address(kind: ErrorKind) -> Option<(&'static str, &'static str)> {
    Some(match kind {
        ErrorKind::AddrInUse => (
            "another program listens there",
            "end it, or choose another port, as in --address 127.0.0.1:8081",
        ),
        ErrorKind::AddrNotAvailable => (
            "this machine does not have this address",
            "--address takes an address of this machine; 0.0.0.0 is all of them",
        ),
        _ => return None,
    })
}
