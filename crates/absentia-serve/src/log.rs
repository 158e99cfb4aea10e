//! Lines of JSON on the standard error stream.

use std::io::Write as _;
use std::net::SocketAddr;
use std::time::Duration;

use serde_json::{Value, json};

use crate::clock::now_ms;

/// Writes a line.
pub(crate) fn line(event: &str, mut fields: Value) {
    fields["time"] = json!(now_ms());
    fields["event"] = json!(event);
    let _ = writeln!(std::io::stderr().lock(), "{fields}");
}

/// Writes a line about a request. Queries and headers are left out: they may hold keys.
pub(crate) fn request(
    id: &str,
    peer: SocketAddr,
    method: &str,
    path: &str,
    status: u16,
    took: Duration,
) {
    line(
        "request",
        json!({
            "id": id, "peer": peer.ip().to_string(), "method": method, "path": path,
            "status": status, "microseconds": took.as_micros() as u64,
        }),
    );
}
