//! A provider that a user defines, without Rust.

use bytes::Bytes;
use hookledger_core::{HmacAlgorithm, Secret, hmac};
use hookledger_providers::{SignedRequest, Sources, verify};
use http::{HeaderMap, HeaderValue, Method};

use crate::told::told;

const ACME: &str = r#"
[acme]
secrets = ["env:ACME_SECRET"]

[acme.provider.signature]
algorithm = "hmac-sha256"
at = "header:x-acme-signature"
prefix = "sha256="

[acme.provider.event]
id = "body:/id"
type = "body:/kind"
"#;

const EVERYTHING: &str = r#"
[acme]
secrets = ["secretsmanager:hooks#acme"]
tolerance_s = 60

[acme.provider]
keep_headers = ["x-acme-attempt"]
redact = ["body:/token"]
secret = { decode = "base64", strip = ["key_"], refuse = { "pk_" = "a public key" } }

[acme.provider.signature]
algorithm = "hmac-sha512"
at = "header:x-acme-signature"
separator = ","
prefix = "v2="
encoding = "base64"
signed = "{header:x-acme-id}.{timestamp}.{body}"

[acme.provider.timestamp]
at = "header:x-acme-signature"
separator = ","
prefix = "t="
unit = "ms"
tolerance_s = 300
future_s = 10

[[acme.provider.handshake]]
when = [{ at = "body:/kind", is = "hello" }]
answer = { echo = "body:/challenge" }

[acme.provider.event]
events = "root:/events"
id = ["body:/id", { hash = ["body:/kind", "body:/at"], with = ["body:/thing/id"] }]
type = ["root:/kind", "body:/kind"]
account = "root:/account"
version = "body:/at"
version_unit = "ms"
created = ["*.new"]
deleted_when = { at = "body:/gone", is = "true" }

[[acme.provider.event.object]]
on = ["thing.*"]
kind = "text:thing"
id = ["body:/thing/region", "body:/thing/id"]
"#;

#[track_caller]
fn outcome(toml: &str, headers: &[(&'static str, String)], body: &'static str) -> String {
    let sources = Sources::parse(toml).unwrap();
    let mut map = HeaderMap::new();
    for (name, value) in headers {
        map.append(*name, HeaderValue::from_str(value).unwrap());
    }
    let request = SignedRequest {
        method: Method::POST,
        path: String::new(),
        query: None,
        headers: map,
        body: Bytes::from_static(body.as_bytes()),
    };
    told(&verify(sources.get("acme").unwrap(), &request, &[Secret::new("k").unwrap()], None, 1_700_000_000))
}

#[test]
fn a_few_lines_are_enough() {
    let body = r#"{"id":"e1","kind":"thing.made"}"#;
    let mac = hex::encode(hmac(HmacAlgorithm::Sha256, &Secret::new("k").unwrap(), &[body.as_bytes()]));
    assert_eq!(outcome(ACME, &[("x-acme-signature", format!("sha256={mac}"))], body), "e1 thing.made updated");
    assert_eq!(outcome(ACME, &[("x-acme-signature", mac)], body), "rejected bad_signature");
    assert_eq!(outcome(ACME, &[], body), "rejected no_signature");
}

#[test]
fn everything_can_be_said() {
    let body = r#"{"kind":"thing","account":"a1","events":[
        {"kind":"new","at":1700000000123,"thing":{"id":7,"region":"eu"}},
        {"id":"e2","kind":"changed","at":1700000000124,"thing":{"id":7,"region":"eu"},"gone":true}]}"#;
    let signed = |body: &str, time: &str| {
        use base64::Engine as _;
        let mac = hmac(HmacAlgorithm::Sha512, &Secret::new("k").unwrap(), &[format!("d1.{time}.{body}").as_bytes()]);
        let mac = base64::engine::general_purpose::STANDARD.encode(mac);
        [("x-acme-id", "d1".to_owned()), ("x-acme-signature", format!("v1=00,t={time},v2=AA==,v2={mac}"))]
    };
    let told = outcome(EVERYTHING, &signed(body, "1700000000000"), body);
    let (first, second) = told.split_once("; ").unwrap();
    assert!(first.starts_with("h_") && first.ends_with(" thing.new a1/thing/eu:7 @1700000000123000 created"), "{first}");
    assert_eq!(second, "e2 thing.changed a1/thing/eu:7 @1700000000124000 deleted");
    // The source's own tolerance counts, in both directions.
    assert_eq!(outcome(EVERYTHING, &signed(body, "1699999939999"), body), "rejected stale_timestamp");
    assert_eq!(outcome(EVERYTHING, &signed(body, "1700000061000"), body), "rejected stale_timestamp");
    let empty = r#"{"events":[]}"#;
    assert_eq!(outcome(EVERYTHING, &signed(empty, "1700000000000"), empty), "ignored no_events");
}

#[track_caller]
fn refused(from: &str, to: &str, message: &str) {
    let toml = ACME.replace(from, to);
    assert_ne!(toml, ACME, "nothing was replaced");
    let told = Sources::parse(&toml).unwrap_err().to_string();
    assert!(told.starts_with("source acme: key provider: ") && told.contains(message), "{told}");
}

#[test]
fn a_definition_that_cannot_work_is_refused() {
    refused("prefix", "prefiks", "prefiks");
    refused("id = \"body:/id\"", "id = \"body:id\"", "an id is a place");
    refused("id = \"body:/id\"", "id = []", "event.id is empty");
    refused("id = \"body:/id\"", "id = { hash = [] }", "a hash of nothing");
    refused("id = \"body:/id\"", "id = { hash = [\"body:/id\"], wiht = [] }", "an id is a place");
    refused("id = \"body:/id\"", "id = \"body:/id | text:none\"", "a constant is the id of no event");
    refused("type = \"body:/kind\"", "typ = \"body:/kind\"", "typ");
    refused("at = \"header:x-acme-signature\"", "at = \"header:x acme\"", "names no header");
    refused("hmac-sha256", "hmac-md5", "hmac-md5");
    refused("prefix = \"sha256=\"", "signed = \"{timestamp}{body}\"", "there is no [timestamp]");
    refused(
        "[acme.provider.event]",
        "[acme.provider.timestamp]\nat = \"header:x-acme-time\"\n[acme.provider.event]",
        "is not signed",
    );
    refused("prefix = \"sha256=\"", "signed = \"{body\"", "a brace that is not closed");
    refused("prefix = \"sha256=\"", "signed = \"{id}.{body}\"", "is no place");
    refused("prefix = \"sha256=\"", "signed = []", "nothing would be signed");
    refused(
        "[acme.provider.signature]",
        "[acme.provider]\nkeep_headers = [\"x-acme-signature\"]\n[acme.provider.signature]",
        "may carry",
    );
    refused(
        "[acme.provider.event]",
        "[[acme.provider.handshake]]\nsigned = false\nwhen = [{ at = \"body:/ping\" }]\nanswer = { status = 200 }\n[acme.provider.event]",
        "not by the body's JSON",
    );
}

#[test]
fn a_signature_that_covers_no_body_has_to_say_so() {
    refused("prefix = \"sha256=\"", "signed = \"{header:x-acme-id}\"", "does not cover the body");
}
