//! Lists that are looked up in shortlists are those that ranking gives.

use std::path::Path;

use serde_json::{Value, json};

use crate::client::{Server, trained, trained_of, until};

/// Paths of lists.
fn lists() -> Vec<String> {
    let users = ["u1", "u2", "u9", "late", "nobody"];
    let queries = [
        "",
        "&offset=3",
        "&seen=show",
        "&seen=purchase,view",
        "&category=drama",
        "&exclude=i1,i2",
    ];
    let paths = users.into_iter().flat_map(|user| {
        queries.map(|query| format!("/v1/users/{user}/recommendations?n=7{query}"))
    });
    paths.collect()
}

fn counter(server: &Server, name: &str) -> u64 {
    let metrics = server.get("/metrics").body;
    let (_, rest) = metrics.split_once(&format!("\n{name} ")).unwrap();
    rest.lines().next().unwrap().parse().unwrap()
}

fn looked_up(server: &Server) -> u64 {
    counter(server, "absentia_lists_looked_up_total")
}

/// Waits until shortlists have been made, or made again.
fn wait_for_shortlists(server: &Server, before: u64) {
    until("shortlists", || {
        (counter(server, "absentia_indexes_total") > before).then_some(())
    });
}

/// Waits until a list is looked up, which may take twenty times as long as the last shortlists took.
fn wait_until_looked_up(server: &Server, path: &str) {
    until(path, || {
        let before = looked_up(server);
        server.get(path).ok();
        (looked_up(server) > before).then_some(())
    });
}

/// The same model twice: with shortlists, and without any, so that every list is ranked.
struct Pair {
    with: Server,
    without: Server,
}

impl Pair {
    fn start((with, without): (&Path, &Path)) -> Self {
        std::fs::write(without.join("s.toml"), "[limits]\nshortlist_mib = 0\n").unwrap();
        let servers = Self {
            with: Server::start(with, "m.absentia"),
            without: Server::start(without, "m.absentia --settings s.toml"),
        };
        wait_for_shortlists(&servers.with, 0);
        servers
    }

    fn post(&self, path: &str, body: &Value) {
        for server in [&self.with, &self.without] {
            let reply = server.post(path, body);
            assert!([200, 201].contains(&reply.status), "{path}: {reply:?}");
        }
    }

    fn event(&self, id: &str, user: &str, item: &str, kind: &str) {
        let event = json!([{"id": id, "user": user, "item": item, "kind": kind}]);
        self.post("/v1/events", &event);
    }

    fn delete(&self, path: &str) {
        self.with.delete(path).ok();
        self.without.delete(path).ok();
    }

    fn compare(&self, after: &str) {
        self.compare_lists(lists(), after);
    }

    fn compare_lists(&self, paths: Vec<String>, after: &str) {
        for path in paths {
            let (list, ranked) = (self.with.get(&path).ok(), self.without.get(&path).ok());
            assert_eq!(list, ranked, "{path} after {after}");
        }
    }
}

#[test]
fn lists_that_are_looked_up_are_those_of_ranking() {
    let (_folder, path) = trained();
    let (_other_folder, other) = trained();
    let servers = Pair::start((&path, &other));
    servers.compare("the start");
    let before = looked_up(&servers.with);
    assert!(before > 0);
    for at in 0..12 {
        let (user, item) = (format!("u{}", at % 3), format!("i{}", at * 7 % 41));
        servers.event(&format!("e{at}"), &user, &item, "view");
        servers.compare("an event");
    }
    servers.event("new", "late", "brand-new", "purchase");
    servers.compare("a new user and item");
    servers.event("shown", "u1", "i5", "impression");
    servers.compare("an impression");
    servers.delete("/v1/events/e4");
    servers.compare("a removed event");
    for entry in [
        json!({"id": "i3", "title": "A title", "category": "drama"}),
        json!({"id": "i3", "title": "Another", "category": "drama", "hidden": true}),
        json!({"id": "i3", "category": "comedy"}),
    ] {
        servers.post("/v1/items", &json!({"entries": [entry]}));
        servers.compare("a catalogue entry");
    }
    // So many events that the shortlists are made again, while events go on.
    let made = counter(&servers.with, "absentia_indexes_total");
    for at in 0..150 {
        // Fewer new items than old ones, or the model could not be rolled back.
        let item = match at % 4 {
            0 => format!("x{at}"),
            _ => format!("i{}", at % 41),
        };
        servers.event(&format!("f{at}"), &format!("u{}", at % 5), &item, "view");
    }
    servers.compare("many events");
    wait_for_shortlists(&servers.with, made);
    servers.compare("new shortlists");
    let options = json!({"sweeps": 2, "activate": true});
    crate::models::trained_here(&servers.with, &options);
    crate::models::trained_here(&servers.without, &options);
    servers.compare("an activation");
    servers.post("/v1/models/roll-back", &json!({}));
    servers.compare("going back");
    servers.delete("/v1/users/u2");
    servers.compare("an erased user");
    assert!(looked_up(&servers.with) > before);
    assert_eq!(looked_up(&servers.without), 0);
}

/// After an event is acknowledged, no list without it is sent, however many wait for the same list meanwhile.
#[test]
fn no_list_from_before_an_event_is_sent_after_it() {
    let (_folder, path) = trained();
    let server = Server::start(&path, "m.absentia");
    wait_for_shortlists(&server, 0);
    let list = "/v1/users/u4/recommendations?n=3";
    std::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                let mut last = 0;
                for _ in 0..300 {
                    let sequence = server.get(list).ok()["sequence"].as_u64().unwrap();
                    assert!(sequence >= last, "{sequence} after {last}");
                    last = sequence;
                }
            });
        }
        for _ in 0..20 {
            let best = server.get(list).ok()["items"][0]["item"].clone();
            let event = json!([{"user": "u4", "item": best, "kind": "view"}]);
            let acknowledged = server.post("/v1/events", &event).ok()["sequence"].as_u64();
            let after = server.get(list).ok();
            assert!(after["sequence"].as_u64() >= acknowledged, "{after}");
            let items = after["items"].as_array().unwrap();
            assert!(items.iter().all(|item| item["item"] != best), "{after}");
        }
    });
}

/// The shortlist of a user who has changed is made again by itself, long before all are.
#[test]
fn lists_of_users_who_have_changed_are_looked_up_again() {
    let (_folder, path) = trained();
    let (_other_folder, other) = trained();
    let servers = Pair::start((&path, &other));
    let made = counter(&servers.with, "absentia_indexes_total");
    for (at, user) in ["u1", "u2", "u1", "late"].into_iter().enumerate() {
        servers.event(&format!("e{at}"), user, &format!("i{}", 3 * at), "view");
        let list = format!("/v1/users/{user}/recommendations?n=7");
        wait_until_looked_up(&servers.with, &list);
        servers.compare("a list that was made again");
    }
    assert_eq!(counter(&servers.with, "absentia_indexes_total"), made);
}

/// More items than a shortlist has, and more of them changed by one request than a preparation bears while it runs.
#[test]
fn shortlists_are_made_again_after_very_many_events() {
    let (_folder, path) = trained_of(6000, 90, 700);
    let (_other_folder, other) = trained_of(6000, 90, 700);
    let servers = Pair::start((&path, &other));
    // Long ones are ranked, because a shortlist is too short for them.
    let of = |queries: [&str; 3]| -> Vec<String> {
        let path = |user, query| format!("/v1/users/u{user}/recommendations?{query}");
        let users = [0, 7, 89].into_iter();
        users
            .flat_map(|user| queries.map(|query| path(user, query)))
            .collect()
    };
    let queries = ["n=20", "n=40&offset=40", "n=20&exclude=i3,i5,i8"];
    servers.compare_lists(of(queries), "the start");
    let event = |item: u32| json!({"user": "u1", "item": format!("i{item}"), "kind": "view"});
    let events: Vec<Value> = (0..650).map(event).collect();
    servers.post("/v1/events", &json!(events));
    servers.compare_lists(of(queries), "many events");
    wait_until_looked_up(&servers.with, &of(queries)[0]);
    let before = looked_up(&servers.with);
    servers.compare_lists(of(queries), "new shortlists");
    // Of each of the three users all but the long one.
    assert_eq!(looked_up(&servers.with) - before, 6);
    servers.delete("/v1/users/u7");
    servers.compare_lists(of(queries), "an erased user");
    wait_until_looked_up(&servers.with, &of(queries)[0]);
}
