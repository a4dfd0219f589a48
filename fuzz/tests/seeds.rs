//! The seeds, through what the fuzzers run.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use hookledger_fuzz::{Input, deliveries, headers, identity, seeds};

fn here() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

#[test]
fn the_seeds_are_made_of_the_vectors() {
    let made: BTreeMap<String, Vec<u8>> =
        seeds(&here().join("../crates/providers/tests/vectors")).unwrap().into_iter().collect();
    let files = fs::read_dir(here().join("seeds")).unwrap().map(|entry| entry.unwrap());
    let kept: BTreeMap<String, Vec<u8>> =
        files.map(|file| (file.file_name().into_string().unwrap(), fs::read(file.path()).unwrap())).collect();
    assert!(made.len() > 100);
    assert!(made == kept, "run `cargo run -p hookledger-fuzz --example seeds`");
}

#[test]
fn a_seed_is_a_delivery_and_no_target_fails_on_it() {
    for entry in fs::read_dir(here().join("seeds")).unwrap() {
        let text = fs::read(entry.unwrap().path()).unwrap();
        assert_eq!(Input::parse(&text).unwrap().print(), text);
        for target in [headers, deliveries, identity] {
            target(&text);
        }
    }
}

#[test]
fn what_is_no_delivery_is_passed_over() {
    for text in ["", "\n", "stripe\n", "stripe 1 k\nPOST\n", "stripe x k\nPOST /\n\n", "stripe 1 k\nPO ST /\n"] {
        for target in [headers, deliveries, identity] {
            target(text.as_bytes());
        }
    }
    assert!(Input::parse(b"stripe 1 k\nPOST /").is_none());
    assert!(Input::parse(b"stripe 1 k\nPOST /\nno header\na: b").is_some());
}

#[test]
fn a_body_s_fields_are_read_as_serde_reads_them() {
    for body in [
        r#"{"type": "a", "data": {"object": {"id": -1.50e3, "x": [{"id": []}]}}}"#,
        r#"{"\u0074ype": "\u0061", "data": {"object": "b"}, "x": "\ud800", "\ud800": 1e999}"#,
        r#"{"type": 1, "type": 2}"#,
        r#"{"type": "\ud800"}"#,
        r#"{"data": {"object": {"id": 1, "id": 1}}}"#,
        r#"{"x": 01}"#,
        r#"{"x": "\x"}"#,
        r#"{"x": [1, 2}}"#,
        "{\"x\": \"\t\"}",
        "{} {}",
        "[1, 2]",
        "",
    ] {
        identity(format!("stripe 1 k\nPOST /\n\n{body}").as_bytes());
    }
}
