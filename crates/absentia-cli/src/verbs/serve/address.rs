//! Where a server listens, as people write it.

use std::net::{Ipv4Addr, SocketAddr};

use absentia::error::TextError;

/// Reads an address and a port; without an address, or with the name `localhost`, it is this machine alone.
pub(super) fn parse_address(text: &str) -> Result<SocketAddr, TextError> {
    let port = text.strip_prefix("localhost:").or(text.strip_prefix(':'));
    if let Ok(port) = port.unwrap_or(text).parse() {
        return Ok((Ipv4Addr::LOCALHOST, port).into());
    }
    let expected = "an address and a port, as in 127.0.0.1:8080";
    text.parse().map_err(|_| TextError::new(text, expected))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_port_alone_is_of_this_machine() {
        for text in ["127.0.0.1:8080", "localhost:8080", ":8080", "8080"] {
            let address = parse_address(text).expect("an address");
            assert_eq!(address.to_string(), "127.0.0.1:8080", "{text}");
        }
        let other = parse_address("0.0.0.0:80").expect("an address");
        assert_eq!(other.to_string(), "0.0.0.0:80");
        for wrong in ["", "127.0.0.1", "shop:8080", "localhost", "80800"] {
            let error = parse_address(wrong).expect_err("no address").to_string();
            assert!(error.contains("expected an address and a port"), "{error}");
        }
    }
}
