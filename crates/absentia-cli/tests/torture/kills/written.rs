//! What a command has written, in a form that is the same in every run.

use std::path::Path;

use super::Case;
use crate::room::Room;
use crate::support::bits;

/// A file of a result in the form that does not change from run to run.
pub(super) type Written = (String, Vec<u8>);

/// Every file that a command has written, which must be whole.
pub(super) fn written(room: &Room, case: &Case) -> Vec<Written> {
    let mut files = Vec::new();
    for (path, bytes) in room.contents() {
        let is_own = case.writes.iter().any(|name| path.starts_with(name));
        if is_own && !is_temporary(&path) {
            let name = path.to_str().expect("UTF-8").to_owned();
            let form = stable(room, &name, bytes);
            files.push((name, form));
        }
    }
    files
}

/// What of a file is the same in every run; fails if the file is not whole.
fn stable(room: &Room, name: &str, bytes: Vec<u8>) -> Vec<u8> {
    let path = room.path(name);
    match path.extension().and_then(|end| end.to_str()) {
        Some("absentia") => match absentia_io::model::load_model(&path) {
            Ok(model) => format!("{:?}", bits(&model)).into_bytes(),
            Err(error) => panic!("not whole: {error}"),
        },
        Some("ckpt") => match absentia_io::model::verify(&path) {
            Ok(()) => b"checkpoint".to_vec(),
            Err(error) => panic!("not whole: {error}"),
        },
        Some("html") => {
            let page = String::from_utf8_lossy(&bytes).into_owned();
            let is_whole =
                page.starts_with("<!doctype html>") && page.trim_end().ends_with("</html>");
            assert!(is_whole, "{name} is not whole");
            b"page".to_vec()
        }
        // Its records are checked by the run that goes on from it.
        Some("log") => b"log".to_vec(),
        Some("jsonl") => {
            let text = String::from_utf8_lossy(&bytes).into_owned();
            // The last line is being added.
            let lines: Vec<&str> = text
                .split_inclusive('\n')
                .filter(|line| line.ends_with('\n'))
                .collect();
            for line in lines {
                let parsed = serde_json::from_str::<serde_json::Value>(line);
                assert!(parsed.is_ok(), "{name}: not whole: {line}");
            }
            b"log".to_vec()
        }
        _ => bytes,
    }
}

/// Whether a file keeps the state of a run, for the next one to go on from.
pub(super) fn holds_state(name: &str) -> bool {
    let extension = Path::new(name).extension().and_then(|end| end.to_str());
    matches!(extension, Some("ckpt" | "jsonl" | "log"))
}

/// Whether a path is, or is in, what a command has not finished writing.
pub(super) fn is_temporary(path: &Path) -> bool {
    let mut names = path.iter().filter_map(|name| name.to_str());
    names.any(|name| name.starts_with(".absentia"))
}
