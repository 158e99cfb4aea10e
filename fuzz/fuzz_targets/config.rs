//! Fuzzes configuration files.
#![no_main]

libfuzzer_sys::fuzz_target!(|text: &str| absentia_fuzz::configure(text));
