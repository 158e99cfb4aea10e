//! Jobs: the text of every value, and files of them.

use std::io::Write;

use absentia_io::time::TimeUnit;
use absentia_job::{ConfigFile, Job};
use toml::Value;

/// Reads `text` as a configuration file; the job of it must be written and read back as the same.
pub fn configure(text: &str) {
    let Ok(mut file) = tempfile::NamedTempFile::new() else {
        return;
    };
    if file.write_all(text.as_bytes()).is_err() {
        return;
    }
    if let Ok(job) = ConfigFile::read(file.path()).and_then(|file| file.job()) {
        check(&job);
    }
}

/// Sets the key of the first line to the text of the rest, as every front end does.
pub fn set(text: &str) {
    let (key, value) = text.split_once('\n').unwrap_or(("weights", text));
    let mut job = Job::default();
    if job.set(key, &Value::String(value.to_owned())).is_ok() {
        check(&job);
    }
    // A key that is off by a little has the values of all keys tried on it.
    let keys = Job::keys();
    if !keys.iter().any(|known| known == key) {
        for key in keys {
            let mut job = Job::default();
            if job.set(&key, &Value::String(text.to_owned())).is_ok() {
                check(&job);
            }
        }
    }
}

fn check(job: &Job) {
    let _ = job.check();
    let _ = job.weights();
    let _ = job.params(TimeUnit::default());
    let written = toml::to_string(job).expect("a job can be written");
    let read: Job = toml::from_str(&written).expect("what was written can be read");
    // Compared as text, in which NaN equals itself.
    let again = toml::to_string(&read).expect("a job can be written");
    assert_eq!(written, again);
}
