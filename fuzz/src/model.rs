//! Model files, checkpoints and models that learn from events.

use std::io::Write;

use absentia::online::{Event, Online, Operation};
use absentia::ranking::RankRequest;
use absentia_io::model;
use xxhash_rust::xxh3::xxh3_64;

/// Reads `bytes` as a model file, after its checksum was made to hold; damage that it finds is tested
/// elsewhere.
pub fn load(bytes: &[u8]) {
    let mut bytes = bytes.to_vec();
    if let Some(end) = bytes.len().checked_sub(8) {
        let checksum = xxh3_64(&bytes[..end]).to_le_bytes();
        bytes[end..].copy_from_slice(&checksum);
    }
    let Ok(mut file) = tempfile::NamedTempFile::new() else {
        return;
    };
    if file.write_all(&bytes).is_err() {
        return;
    }
    let path = file.path();
    let _ = model::verify(path);
    let _ = model::inspect(path);
    let _ = model::load_checkpoint(path);
    if let Ok(Some(stored)) = model::load_online(path)
        && let Ok(mut online) = Online::restore(&stored.loaded.model, None, stored.parts)
    {
        let _ = online.apply(&Operation::Insert(Event::new(0, 0)));
        let _ = online.apply(&Operation::Erase { user: 0 });
    }
    if let Ok(loaded) = model::load_model(path) {
        let (users, items) = (loaded.model.n_users(), loaded.model.n_items());
        assert_eq!(loaded.ids.users.len(), users);
        assert_eq!(loaded.ids.items.len(), items);
        if users > 0 && items > 0 && items < 100_000 {
            let _ = loaded.model.recommend(&RankRequest {
                users: &[0],
                top: 3,
                ..RankRequest::default()
            });
        }
    }
}
