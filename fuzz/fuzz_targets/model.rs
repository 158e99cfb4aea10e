//! Fuzzes the reader of model files and checkpoints, with a checksum that holds.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| absentia_fuzz::load(bytes));
