//! The dashboard: every page with real data, hostile texts, who may act; and in a browser, if there is one.

use std::path::Path;

use serde_json::json;

use crate::browser::Browser;
use crate::client::{Reply, Server, run, trained, until};

const EVIL: &str = "\"><script>alert('x')</script>";
const PAGES: [&str; 7] = [
    "/dashboard",
    "/dashboard/look-up",
    "/dashboard/look-up?kind=user&id=u1&item=i2",
    "/dashboard/look-up?kind=item&id=i1",
    "/dashboard/model",
    "/dashboard/data",
    "/dashboard/quality",
];
/// What a reader finds on them.
const SHOWN: [&[&str]; 7] = [
    &["32", "42", "half answered within", "log lag"],
    &["Users with most interactions", "u1"],
    &["Recommended", "Paper Station", "it weighs", "Similar users"],
    &["Similar items", "Users in the model"],
    &["Versions", "Objective", "popularity:c0=30,alpha=0.5"],
    &["long tail", "purchase", "Events by kind"],
    &["recent popularity", "NDCG @20", "Caches"],
];

/// The same in a query.
const EVIL_QUERY: &str = "%22%3E%3Cscript%3Ealert(%27x%27)%3C%2Fscript%3E";

/// A server with events, and a user, an item and titles that try to be markup.
fn with_hostile_texts(path: &Path) -> Server {
    let server = Server::start(path, "m.absentia");
    let entries = json!({"entries": [
        {"id": "i1", "title": EVIL, "category": EVIL}, {"id": "i3", "title": "Paper Station"},
    ]});
    server.post("/v1/items", &entries).ok();
    let users = json!({"entries": [{"id": "u1", "title": EVIL}]});
    server.post("/v1/users", &users).ok();
    let events = json!({"events": [
        {"user": "u1", "item": EVIL, "kind": "view"},
        {"user": EVIL, "item": "i1", "kind": "purchase"},
        {"user": EVIL, "item": "i2", "kind": "view"},
    ]});
    server.post("/v1/events", &events).ok();
    server
}

/// Sends a form as a page of some origin does.
fn form(server: &Server, path: &str, headers: &str, body: &str) -> Reply {
    let headers = format!("content-type: application/x-www-form-urlencoded\r\n{headers}");
    server.send("POST", path, &headers, body.as_bytes())
}

const OWN: &str = "origin: http://localhost\r\n";

#[test]
fn every_page_shows_real_data_and_no_text_becomes_markup() {
    let (_folder, path) = trained();
    let server = with_hostile_texts(&path);
    let evil = EVIL_QUERY;
    let hostile = [
        format!("/dashboard/look-up?kind=user&id={evil}&item={evil}"),
        format!("/dashboard/look-up?kind=item&id={evil}"),
        format!("/dashboard/look-up?kind=user&id=nobody{evil}"),
        format!("/dashboard/{evil}"),
    ];
    for page in PAGES.map(str::to_owned).iter().chain(&hostile) {
        let reply = server.get(page);
        let expected = if *page == hostile[3] { 404 } else { 200 };
        assert_eq!(reply.status, expected, "{page}: {reply:?}");
        assert!(
            reply
                .head
                .contains("content-security-policy: default-src 'none'")
        );
        assert!(reply.head.contains("content-type: text/html"));
        assert!(reply.body.ends_with("</html>\n"), "{page}");
        for markup in ["<script", "javascript:", "style=", "onerror", "NaN"] {
            assert!(!reply.body.contains(markup), "{page} has {markup}");
        }
        for tag in ["table", "form", "svg", "dl", "figure", "section", "main"] {
            let opened = reply.body.matches(&format!("<{tag}>")).count()
                + reply.body.matches(&format!("<{tag} ")).count();
            let closed = reply.body.matches(&format!("</{tag}>")).count();
            assert_eq!(opened, closed, "{page}: {tag}");
        }
    }
    let has = |page: &str, texts: &[&str]| {
        let body = server.get(page).body;
        for text in texts {
            assert!(body.contains(text), "{page} lacks {text}: {body}");
        }
    };
    // 31 users and 41 items of the model, one more of each from the events.
    has(
        "/dashboard",
        &["<dd>32</dd>", "<dd>42</dd>", "<svg", "/v1/events"],
    );
    has(
        PAGES[2],
        &[
            "&lt;script&gt;",
            "Recommended",
            "Paper Station",
            "score",
            "Similar users",
            "it weighs",
        ],
    );
    has(
        PAGES[3],
        &["Similar items", "Users in the model", "&lt;script&gt;"],
    );
    has(
        "/dashboard/model",
        &["popularity:c0=30,alpha=0.5", "missing pairs", "Train"],
    );
    has("/dashboard/data", &["long tail", "purchase", "<svg"]);
    has(&hostile[2], &["popular items"]);
    let first = server.get("/");
    assert_eq!(first.status, 303);
    assert!(first.head.contains("location: /dashboard"));
    assert!(server.get("/dashboard/style.css").head.contains("text/css"));
    assert_eq!(server.get("/dashboard/icon.svg").status, 200);
    assert_eq!(server.delete("/dashboard").status, 405);
}

#[test]
fn actions_need_the_scope_admin_and_a_page_of_this_server() {
    let (_folder, path) = trained();
    let key = |scope: &str| {
        let words = format!("serve --folder data --new-key {scope} -q");
        run(&path, &words).trim().to_owned()
    };
    let (read, admin) = (key("read"), key("admin"));
    let server = Server::start(&path, "m.absentia");
    let cookie = |key: &str| format!("{OWN}cookie: absentia_key={key}\r\n");
    let train = "/dashboard/model/train";
    let body = "sweeps=2&activate=on";
    // Pages of other sites, and requests that do not say where they come from.
    for origin in ["", "origin: null\r\n", "origin: http://evil.example\r\n"] {
        let headers = format!("{origin}cookie: absentia_key={admin}\r\n");
        assert_eq!(form(&server, train, &headers, body).status, 403);
        assert_eq!(form(&server, train, origin, body).status, 403);
    }
    // The same without a key at the API, which no form has to reach: a page of another origin is not this machine.
    for origin in ["origin: null\r\n", "origin: http://evil.example\r\n"] {
        let sent = server.send("POST", "/v1/models/1/activate", origin, b"");
        sent.refused(401, "key_needed");
    }
    let refused = form(&server, train, &cookie(&read), body);
    assert_eq!(refused.status, 403, "{refused:?}");
    assert!(refused.body.contains("needs admin"), "{refused:?}");
    let page = server.send("GET", "/dashboard/model", &cookie(&read), b"");
    assert!(!page.body.contains("Activate") && page.body.contains("scope admin"));
    assert_eq!(server.get("/v1/models").ok()["active"], 1);
    // Training with activation, and back again.
    let begun = form(&server, train, &cookie(&admin), body);
    assert_eq!(begun.status, 303, "{begun:?}");
    let active = || server.get("/v1/models").ok()["active"].clone();
    let is_running = || server.get("/v1/models/train").ok()["state"] == "running";
    until("training ends", || (!is_running()).then_some(()));
    assert_eq!(active(), 2);
    let page = server.send("GET", "/dashboard/model", &cookie(&admin), b"");
    assert!(page.body.contains("Training is done: model 2"), "{page:?}");
    let back = form(&server, "/dashboard/model/roll-back", &cookie(&admin), "");
    assert_eq!((back.status, active()), (303, json!(1)));
    let again = form(&server, "/dashboard/model/activate", OWN, "version=2");
    assert_eq!((again.status, active()), (303, json!(2)));
    let wrong = form(&server, "/dashboard/model/activate", OWN, "version=99");
    assert_eq!(wrong.status, 404, "{wrong:?}");
}

#[test]
fn readers_from_elsewhere_log_in_with_a_key_that_stays_in_a_cookie() {
    let (_folder, path) = trained();
    let read = run(&path, "serve --folder data --new-key read -q");
    let read = read.trim();
    let server = Server::start(&path, "m.absentia");
    let host = "shop.example.com";
    let from = |method: &str, path: &str, headers: &str, body: &str| {
        let text = format!(
            "{method} {path} HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\n{headers}content-length: {}\r\n\r\n{body}",
            body.len()
        );
        crate::client::parsed(&server.raw(text.as_bytes()))
    };
    for page in PAGES {
        let asked = from("GET", page, "", "");
        assert_eq!(asked.status, 401, "{page}");
        assert!(asked.body.contains("action=\"/dashboard/login\""));
        assert!(!asked.body.contains("u1"), "{page} tells something");
    }
    let own = format!("origin: https://{host}\r\n");
    let wrong = from("POST", "/dashboard/login", &own, "key=absk_0_0");
    assert!(
        wrong.status == 401 && wrong.body.contains("not known"),
        "{wrong:?}"
    );
    let login = from("POST", "/dashboard/login", &own, &format!("key={read}"));
    assert_eq!(login.status, 303, "{login:?}");
    for part in [
        "absentia_key=",
        "path=/dashboard",
        "httponly",
        "samesite=strict",
        "; secure",
    ] {
        assert!(login.head.contains(part), "{part}: {login:?}");
    }
    assert!(login.head.contains("location: /dashboard\r\n"), "{login:?}");
    let cookie = format!("cookie: a=b; absentia_key={read}\r\n");
    for page in PAGES {
        assert_eq!(from("GET", page, &cookie, "").status, 200, "{page}");
    }
    // The cookie is for pages alone.
    let api = "/v1/users/u1/recommendations";
    from("GET", api, &cookie, "").refused(401, "key_needed");
    let out = from("POST", "/dashboard/logout", &format!("{own}{cookie}"), "");
    assert!(
        out.status == 303 && out.head.contains("max-age=0"),
        "{out:?}"
    );
}

/// Opens a page and fails if the browser complains, or if a phone would have to move it sideways.
fn opened(browser: &mut Browser, base: &str, page: &str) -> String {
    browser.open(&format!("{base}{page}"));
    let text = browser.text();
    assert!(
        text.contains("Overview") && text.contains("absentia"),
        "{text}"
    );
    assert_eq!(browser.complaints, Vec::<String>::new(), "{page}");
    assert!(
        browser.overflow_on_a_phone() < 1.0,
        "{page} is too wide for a phone"
    );
    text
}

#[test]
fn pages_in_a_browser_show_events_and_models_are_changed_by_clicks() {
    let (_folder, path) = trained();
    let Some(mut browser) = Browser::start(&path) else {
        absentia_testing::skipped("no Chromium; install it or set ABSENTIA_CHROMIUM");
        return;
    };
    let server = with_hostile_texts(&path);
    let base = format!("http://{}", server.address);
    for (page, shown) in PAGES.iter().zip(SHOWN) {
        let text = opened(&mut browser, &base, page);
        for part in shown {
            assert!(text.contains(part), "{page} lacks {part}: {text}");
        }
    }
    let look_up = "/dashboard/look-up?kind=user&id=u5";
    assert!(!opened(&mut browser, &base, look_up).contains("brand-new"));
    let sent = json!([{"user": "u5", "item": "brand-new", "kind": "purchase"}]);
    server.post("/v1/events", &sent).ok();
    let text = opened(&mut browser, &base, look_up);
    assert!(
        text.contains("brand-new") && text.contains("purchase"),
        "{text}"
    );
    // The form of the page finds it too.
    browser.open(&format!("{base}/dashboard/look-up"));
    browser.type_into("#id", "u5");
    browser.click("form.line button");
    assert!(browser.text().contains("brand-new"));
    // Training with progress, activating, going back.
    opened(&mut browser, &base, "/dashboard/model");
    browser.type_into("#sweeps", "1000");
    browser.click("form[action$=train] button");
    until("the page says that training is done", || {
        let is_done = browser.text().contains("Training is done: model 2");
        if !is_done {
            browser.open(&format!("{base}/dashboard/model"));
        }
        is_done.then_some(())
    });
    assert!(browser.text().contains("Model 1 is active"));
    browser.click("form[action$=activate] button");
    assert!(browser.text().contains("Model 2 is active"));
    browser.click("form[action$=roll-back] button");
    assert!(browser.text().contains("Model 1 is active"));
    assert_eq!(server.get("/v1/models").ok()["active"], 1);
    assert_eq!(browser.complaints, Vec::<String>::new());
}

#[test]
fn a_reader_logs_in_in_a_browser_and_may_do_what_the_key_allows() {
    let (_folder, path) = trained();
    let Some(mut browser) = Browser::start(&path) else {
        absentia_testing::skipped("no Chromium; install it or set ABSENTIA_CHROMIUM");
        return;
    };
    let key = |scope: &str| {
        let words = format!("serve --folder data --new-key {scope} -q");
        run(&path, &words).trim().to_owned()
    };
    let (read, admin) = (key("read"), key("admin"));
    let server = Server::start(&path, "m.absentia");
    let base = format!("http://shop.example:{}", server.address.port());
    let model = format!("{base}/dashboard/model");
    browser.open(&model);
    assert!(browser.text().contains("Log in") && browser.count("nav") == 0);
    for wrong in ["absk_0_0", &read[..40]] {
        browser.type_into("#key", wrong);
        browser.click("form button");
        assert!(browser.text().contains("This key is not known"));
    }
    browser.type_into("#key", &read);
    browser.click("form button");
    assert!(
        browser.text().contains("Log out (read)"),
        "{}",
        browser.text()
    );
    browser.open(&model);
    assert!(browser.text().contains("need a key with the scope admin"));
    assert_eq!(browser.count("main button"), 0);
    browser.click("nav button");
    assert!(browser.text().contains("Log in"));
    browser.type_into("#key", &admin);
    browser.click("form button");
    browser.open(&model);
    browser.type_into("#sweeps", "2");
    browser.click("form[action$=train] button");
    until("training is done", || {
        (server.get("/v1/models/train").ok()["state"] == "done").then_some(())
    });
    browser.open(&model);
    browser.click("form[action$=activate] button");
    assert!(
        browser.text().contains("Model 2 is active"),
        "{}",
        browser.text()
    );
}

/// Pictures for people to look at, of the demo after some events: set `ABSENTIA_SCREENSHOTS` to a folder.
#[test]
#[ignore = "for people who look at the pictures"]
fn pictures_of_the_demo() {
    let folder = tempfile::tempdir().unwrap();
    let mut browser = Browser::start(folder.path()).unwrap();
    let server = Server::start(folder.path(), "--demo");
    let names = server.get("/v1/items?limit=400").ok();
    let names = names["entries"].as_array().unwrap();
    let users = [
        "ada", "ben", "chloe", "dario", "emma", "felix", "greta", "hugo",
    ];
    for at in 0..900_usize {
        let (user, kind) = (users[at * 7 % 8], ["view", "click", "purchase"][at % 3]);
        let item = &names[(at * at * 31 + at * 17) % 160 * 5 % 400]["id"];
        let event = json!([{"user": user, "item": item, "kind": kind}]);
        server.post("/v1/events", &event).ok();
        if at % 3 == 0 {
            server
                .get(&format!("/v1/users/{user}/recommendations"))
                .ok();
        }
    }
    server.get("/v1/users/ada/explanations/nothing");
    crate::models::trained_here(&server, &json!({"sweeps": 3}));
    let base = format!("http://{}", server.address);
    for (name, page) in [
        ("overview", "/dashboard"),
        ("look-up", "/dashboard/look-up"),
        (
            "user",
            "/dashboard/look-up?kind=user&id=ada&item=silent-river",
        ),
        ("item", "/dashboard/look-up?kind=item&id=silent-river"),
        ("model", "/dashboard/model"),
        ("data", "/dashboard/data"),
        ("quality", "/dashboard/quality"),
        ("docs", "/docs"),
    ] {
        browser.open(&format!("{base}{page}"));
        browser.pictures(name);
    }
}
