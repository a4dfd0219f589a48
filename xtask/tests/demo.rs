//! `cargo xtask demo`, as a person and as a program would use it.

mod running;

use std::io::{BufRead, BufReader};
use std::net::TcpStream;
use std::process::Command;

use running::Running;
use serde_json::{Deserializer, Value};

/// `--keep` leaves it running, so what it started can be looked at before and after the interrupt.
#[test]
fn each_event_has_its_one_effect_and_an_interrupt_stops_everything() {
    let mut demo = Running::start(Command::new(env!("CARGO_BIN_EXE_xtask")).args(["demo", "--json", "--keep"]));
    let errors = BufReader::new(demo.0.stderr.take().unwrap());
    let said: Vec<_> =
        errors.lines().map_while(Result::ok).take_while(|line| !line.contains("Ctrl-C stops it all")).collect();
    let mut output = Deserializer::from_reader(demo.0.stdout.take().unwrap()).into_iter::<Value>();
    let report = output.next().unwrap_or_else(|| panic!("no report, but: {}", said.join("\n"))).unwrap();

    assert_eq!(report["complaints"], Value::Array(Vec::new()));
    let delivery = |name: &str| report["deliveries"].as_array().unwrap().iter().find(|one| one["name"] == name).unwrap();
    assert_eq!(delivery("updated v2, late")["row"]["outcome"], "stale");
    assert_eq!(delivery("50 copies at once")["effects"], 1);
    assert_eq!(delivery("bad signature")["answers"][0]["status"], 401);
    assert_eq!(report["subscriptions"][0]["plan"], "team");

    let addresses = ["webhooks", "queue", "database"].map(|name| address(report["urls"][name].as_str().unwrap()));
    assert!(addresses.iter().all(|address| TcpStream::connect(address).is_ok()), "{addresses:?}");
    assert_eq!(demo.interrupt(), Some(130));
    assert!(addresses.iter().all(|address| TcpStream::connect(address).is_err()), "{addresses:?}");
}

/// `host:port` of a URL.
fn address(url: &str) -> String {
    let (_, rest) = url.split_once("://").unwrap_or_default();
    let authority = rest.split('/').next().unwrap_or_default();
    authority.rsplit('@').next().unwrap_or_default().to_owned()
}
