//! Fuzzes the npz reader.
#![no_main]

use absentia_io::Format;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| absentia_fuzz::read_as(Format::Npz, bytes));
