//! Who reads the pages: the cookie, logging in and out, requests of other sites.
//!
//! The cookie holds the key. Scripts cannot read it, the browser sends it to the dashboard alone and never with
//! a request that another site makes. The key is checked with every request, so that one that expires ends the
//! session. Without a cookie, someone on this machine may read and act, as in the API; so every form that is
//! sent must also name this server as its origin.

use hyper::header::HeaderMap;

use super::html::{Html, Page};
use crate::api::{Answer, Call, has_own_origin, without_key};
use crate::auth::{Principal, Refused};
use crate::core::Core;
use crate::error::ApiError;

const COOKIE: &str = "absentia_key";

/// Who sent a request: the owner of the key of its cookie, or someone on this machine.
pub(super) fn reader(core: &Core, is_loopback: bool, headers: &HeaderMap) -> Option<Principal> {
    let of_key = key(headers).and_then(|key| core.keys.check(key).ok());
    of_key.or_else(|| without_key(core, is_loopback, headers))
}

fn key(headers: &HeaderMap) -> Option<&str> {
    let texts = headers.get_all("cookie").iter();
    let mut pairs = texts
        .filter_map(|text| text.to_str().ok())
        .flat_map(|text| text.split(';'))
        .filter_map(|pair| pair.trim().split_once('='));
    pairs
        .find(|(name, _)| *name == COOKIE)
        .map(|(_, value)| value)
}

/// Refuses a form that a page of another origin sends.
pub(super) fn check_origin(headers: &HeaderMap) -> Result<(), ApiError> {
    if has_own_origin(headers) == Some(true) {
        return Ok(());
    }
    let message = "the form was not sent by a page of this server";
    Err(ApiError::new(403, "other_origin", message))
}

/// Takes a key and sets the cookie.
pub(super) fn log_in(core: &Core, headers: &HeaderMap, form: &Call) -> Answer {
    let key = form.text("key").unwrap_or_default().trim();
    match core.keys.check(key) {
        Ok(_) => super::redirect("/dashboard").header("set-cookie", cookie(headers, key)),
        Err(Refused::Unknown) => page(401, "This key is not known."),
        Err(Refused::Expired) => page(401, "This key has expired."),
    }
}

fn cookie(headers: &HeaderMap, key: &str) -> String {
    // The origin says whether the browser sees TLS, which a proxy in front of the server adds.
    let origin = headers
        .get("origin")
        .map_or(&b""[..], hyper::header::HeaderValue::as_bytes);
    let secure = if origin.starts_with(b"https://") {
        "; Secure"
    } else {
        ""
    };
    format!("{COOKIE}={key}; Path=/dashboard; HttpOnly; SameSite=Strict{secure}")
}

/// Removes the cookie.
pub(super) fn log_out() -> Answer {
    let gone = format!("{COOKIE}=; Path=/dashboard; HttpOnly; SameSite=Strict; Max-Age=0");
    super::redirect("/dashboard").header("set-cookie", gone)
}

/// The page that asks for a key.
pub(super) fn page(status: u16, message: &str) -> Answer {
    let form = Html::trusted(
        "<form class=\"line\" method=\"post\" action=\"/dashboard/login\"><label for=\"key\">Key</label>\
         <input id=\"key\" name=\"key\" type=\"password\" autocomplete=\"current-password\" required \
         placeholder=\"absk_…\"><button>Log in</button></form>",
    );
    let page = Page::new(
        "Log in",
        "A key with the scope read shows everything; actions need the scope admin.",
    );
    let page = match message {
        "" => page,
        message => page.push(Html::of_class("p", "warning", &Html::text(message))),
    };
    page.push(form)
        .push(Html::trusted(
            "<p>Keys are made with <code>absentia serve --folder FOLDER --new-key read</code>.</p>",
        ))
        .answer(status, None)
}

#[cfg(test)]
mod tests {
    use super::*;
    use hyper::header::HeaderValue;

    fn headers(pairs: &[(&'static str, &'static str)]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for (name, value) in pairs {
            headers.append(*name, HeaderValue::from_static(value));
        }
        headers
    }

    #[test]
    fn the_key_is_found_among_other_cookies() {
        let found = headers(&[("cookie", "a=b; absentia_key=absk_1_2"), ("cookie", "c=d")]);
        assert_eq!(key(&found), Some("absk_1_2"));
        assert_eq!(key(&headers(&[("cookie", "xabsentia_key=1")])), None);
        assert_eq!(key(&HeaderMap::new()), None);
    }

    #[test]
    fn forms_of_other_origins_are_refused() {
        let host = ("host", "shop.example.com");
        for origin in ["https://shop.example.com", "http://shop.example.com"] {
            assert!(check_origin(&headers(&[host, ("origin", origin)])).is_ok());
        }
        for origin in [
            "null",
            "",
            "https://shop.example.com:8080",
            "https://evil.example",
        ] {
            assert!(check_origin(&headers(&[host, ("origin", origin)])).is_err());
        }
        assert!(check_origin(&headers(&[host])).is_err());
    }

    #[test]
    fn the_cookie_is_secure_where_the_page_is() {
        assert!(cookie(&headers(&[("origin", "https://a")]), "k").ends_with("; Secure"));
        assert!(!cookie(&headers(&[("origin", "http://a")]), "k").contains("Secure"));
    }
}
