//! Runs one reader over the bytes the fuzzer made up.

mod job;
mod model;

use std::io::Write;
use std::panic;
use std::sync::Once;

pub use job::{configure, set};
pub use model::load;

use absentia_io::{Dataset, Format, NoProgress, ReadOptions, read};

/// Lets panics of the Arrow and Parquet decoders pass, which the readers catch; others still end the run.
fn expect_decoder_panics() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let abort = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            let place = info
                .location()
                .map(|place| place.file().to_owned())
                .unwrap_or_default();
            if !place.contains("/arrow-") && !place.contains("/parquet-") {
                abort(info);
            }
        }));
    });
}

/// Reads `bytes` as a file of `format`; whatever comes out must be consistent.
pub fn read_as(format: Format, bytes: &[u8]) {
    expect_decoder_panics();
    let Ok(mut file) = tempfile::NamedTempFile::new() else {
        return;
    };
    if file.write_all(bytes).is_err() {
        return;
    }
    let options = ReadOptions {
        format: Some(format),
        skip_bad: 100,
        ..ReadOptions::default()
    };
    if let Ok(data) = read(&[file.path().to_owned()], &options, &NoProgress) {
        check(&data);
    }
}

fn check(data: &Dataset) {
    assert_eq!(data.user.len(), data.item.len());
    assert!(data.user.iter().all(|&u| (u as usize) < data.users.len()));
    assert!(data.item.iter().all(|&i| (i as usize) < data.items.len()));
    assert!(
        data.value
            .as_ref()
            .is_none_or(|v| v.len() == data.len() && v.iter().all(|x| x.is_finite()))
    );
}
