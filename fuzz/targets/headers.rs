//! libFuzzer over [`hookledger_fuzz::headers`].

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| hookledger_fuzz::headers(data));
