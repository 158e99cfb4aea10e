//! Models that are folders, as a cluster writes them.

use std::path::Path;
use std::process::Command;

use absentia::{Axis, Sides};
use absentia_io::model::{
    FactorFile, FactorFiles, ModelHead, load_model, save_factor_file, save_head,
};
use serde_json::json;

use crate::client::{PROGRAM, Server, run, trained};

/// Writes a model as a folder, its factors in files of ten rows.
fn write_as_folder(file: &Path, folder: &Path) {
    let loaded = load_model(file).unwrap();
    let parts = loaded.model.parts();
    let files = |axis: Axis| -> Vec<FactorFile> {
        let factors = match axis {
            Axis::User => &parts.user_factors,
            Axis::Item => &parts.item_factors,
        };
        let firsts = (0..factors.rows()).step_by(10);
        let file = |first: usize| {
            let rows = first..(first + 10).min(factors.rows());
            let numbers: Vec<f32> = rows.flat_map(|row| factors.row(row)).copied().collect();
            save_factor_file(folder, axis, first, (&numbers, parts.params.factors)).unwrap()
        };
        firsts.map(file).collect()
    };
    let sides = Sides::from_fn(files);
    let factors = parts.params.factors;
    let head = ModelHead {
        weights: &parts.weights,
        transform: &parts.transform,
        counts: &Sides {
            users: parts.user_counts.clone(),
            items: parts.item_counts.clone(),
        },
        params: &parts.params,
        history: &parts.history,
        ids: &loaded.ids,
        config: loaded.config.as_deref(),
    };
    save_head(folder, &head, &FactorFiles { factors, sides }).unwrap();
}

#[test]
fn a_folder_is_served_and_registered_like_a_file() {
    let (_folder, path) = trained();
    write_as_folder(&path.join("m.absentia"), &path.join("m"));
    let list = "/v1/users/u1/recommendations?n=41";
    let of_file = {
        let server = Server::start(&path, "m.absentia");
        server.get(list).ok()["items"].clone()
    };
    std::fs::rename(path.join("data"), path.join("data-of-file")).unwrap();
    let server = Server::start(&path, "m");
    assert_eq!(server.get(list).ok()["items"], of_file);
    let event = json!([{"user": "u1", "item": "i2", "kind": "view"}]);
    server.post("/v1/events", &event).ok();
    // The same folder is the same model, and its events are kept.
    drop(server);
    let server = Server::start(&path, "m");
    assert_eq!(server.replayed, 1);
    let models = || server.get("/v1/models").ok()["models"].clone();
    assert_eq!(models().as_array().unwrap().len(), 1);
    write_as_folder(&path.join("m.absentia"), &path.join("data/incoming/m"));
    let registered = server.post("/v1/models", &json!({"file": "m"}));
    assert_eq!(registered.status, 201, "{registered:?}");
    std::fs::create_dir(path.join("data/incoming/empty")).unwrap();
    let empty = server.post("/v1/models", &json!({"file": "empty"}));
    empty.refused(404, "file_not_found");
}

#[test]
fn a_folder_learns_from_a_stream_and_is_not_written_over() {
    let (_folder, path) = trained();
    write_as_folder(&path.join("m.absentia"), &path.join("m"));
    std::fs::write(path.join("events.csv"), "user,item\nu1,i3\nu2,i5\nnew,i5\n").unwrap();
    for (model, out) in [("m", "of-folder"), ("m.absentia", "of-file")] {
        run(&path, &format!("stream {model} events.csv --out {out} -q"));
    }
    let lists = |model: &str| {
        run(
            &path,
            &format!("recommend {model} --all --allow-seen --json"),
        )
    };
    assert_eq!(lists("of-folder"), lists("of-file"));
    let words = "inspect m --card m/model.absentia";
    let mut command = Command::new(PROGRAM);
    let output = command.args(words.split(' ')).current_dir(&path).output();
    let message = String::from_utf8(output.unwrap().stderr).unwrap();
    assert!(message.contains("is read as MODEL"), "{message}");
}
