//! `cargo xtask dev`, as somebody who watches it does.

mod running;

use std::fs;
use std::io::{BufRead, BufReader};
use std::net::TcpStream;
use std::process::Command;

use hookledger_harness::block_on;
use running::Running;

const SOURCES: &str = "[stripe]\nprovider = \"stripe\"\nsecrets = [\"env:STRIPE_WEBHOOK_SECRET\"]\nbody_bytes_max = 7\n";

/// That a saved file is built anew is `cargo lambda watch`'s doing; a test that edits this repository would disturb the others.
#[test]
fn what_the_functions_say_is_shown_readably_until_an_interrupt_stops_everything() {
    let folder = tempfile::tempdir().unwrap();
    // The repository's own may name secrets that are not here.
    let sources = folder.path().join("sources.toml");
    fs::write(&sources, SOURCES).unwrap();
    let mut dev = Running::start(Command::new(env!("CARGO_BIN_EXE_xtask")).arg("dev").env("SOURCES_FILE", &sources));
    let mut said = BufReader::new(dev.0.stderr.take().unwrap()).lines().map_while(Result::ok);
    let mut before = Vec::new();
    let url = said.find_map(|line| {
        let url = line.strip_prefix("  webhooks   ").and_then(|rest| rest.split(' ').next()).map(str::to_owned);
        before.push(line);
        url
    });
    let url = url.unwrap_or_else(|| panic!("no address, but: {}", before.join("\n")));
    let status = block_on(async { Ok(reqwest::Client::new().post(&url).body("8 bytes!").send().await?.status()) });
    assert_eq!(status.unwrap(), 413);

    let mut shown = BufReader::new(dev.0.stdout.take().unwrap()).lines().map_while(Result::ok);
    let record = shown.find(|line| line.contains("answer.status=413")).expect("the receiver's record");
    assert!(record.contains("event.source=stripe") && !record.contains(['{', '"']), "{record}");

    let address = url.trim_start_matches("http://").split('/').next().unwrap();
    assert_eq!(dev.interrupt(), Some(130));
    assert!(TcpStream::connect(address).is_err(), "{address}");
}
