//! libFuzzer over [`hookledger_fuzz::identity`].

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| hookledger_fuzz::identity(data));
