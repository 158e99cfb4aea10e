//! Fuzzes the text of every value of a job: a key, a line break, and its text.
#![no_main]

libfuzzer_sys::fuzz_target!(|text: &str| absentia_fuzz::set(text));
