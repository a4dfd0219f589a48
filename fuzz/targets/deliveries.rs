//! libFuzzer over [`hookledger_fuzz::deliveries`].

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| hookledger_fuzz::deliveries(data));
