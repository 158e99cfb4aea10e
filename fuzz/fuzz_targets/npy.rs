//! Fuzzes the npy reader.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let path = std::path::Path::new("fuzz.npy");
    if let Ok(array) = absentia_io::npy::read(&mut &bytes[..], bytes.len() as u64, path) {
        assert_eq!(array.shape.iter().product::<usize>(), array.data.len());
    }
});
