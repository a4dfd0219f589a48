//! What verifying a delivery and finding its events costs, beside HMAC-SHA256 of the same bytes, below which nothing that
//! verifies can go: `cargo bench -p bench-verify`.

use std::hint::black_box;

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use hookledger_core::{HmacAlgorithm, Secret, hmac};
use hookledger_providers::{SignedRequest, Source, Sources, Verified, sign, verify};
use http::{HeaderMap, HeaderName, HeaderValue, Method};

const NOW_S: i64 = 1_700_000_000;

struct Subject {
    name: &'static str,
    source: Source,
    secret: Secret,
    request: SignedRequest,
    /// How many events it carries.
    events: usize,
}

impl Subject {
    fn new(provider: &'static str, headers: &[(&'static str, &'static str)], body: String, events: usize) -> Self {
        let sources = Sources::parse(&format!("[s]\nprovider = {provider:?}\nsecrets = [\"env:S\"]"));
        let source = sources.ok().and_then(|sources| sources.get("s").cloned()).unwrap_or_else(|| panic!("{provider}"));
        let secret = source.secret("d2hzZWNfYmVuY2htYXJr").unwrap_or_else(|error| panic!("{provider}: {error}"));
        let headers = headers.iter().map(|(name, value)| (HeaderName::from_static(name), HeaderValue::from_static(value)));
        let headers: HeaderMap =
            headers.chain([(http::header::CONTENT_TYPE, HeaderValue::from_static("application/json"))]).collect();
        let mut request =
            SignedRequest { method: Method::POST, path: "/webhooks/s".to_owned(), query: None, headers, body: body.into() };
        sign(&source, &mut request, &secret, NOW_S).unwrap_or_else(|error| panic!("{provider}: {error}"));
        Self { name: provider, source, secret, request, events }
    }

    fn verify(&self) -> usize {
        match verify(&self.source, &self.request, std::slice::from_ref(&self.secret), None, NOW_S) {
            Ok(Verified::Events(events)) => events.len(),
            other => panic!("{}: {other:?}", self.name),
        }
    }
}

fn subjects() -> Vec<Subject> {
    let stripe =
        include_str!("../../src/stripe_event.json").replace("EVENT_ID", "evt_1").replace("SUBSCRIPTION_ID", "sub_1");
    let issue = r#"{"action":"edited","issue":{"id":444500041,"number":1,"title":"Spelling error in the README","updated_at":"2019-05-15T15:20:18Z","body":"BODY"},"repository":{"id":186853002,"full_name":"acme/hello"}}"#;
    let message = r#"{"token":"t","team_id":"T1","type":"event_callback","event_id":"Ev1","event_time":1595926230,"event":{"type":"message","channel":"C1","user":"U1","text":"BODY","ts":"1595926230.009600","event_ts":"1595926230.009600"}}"#;
    let contact = r#"{"resourceId":"RESOURCE","eventDateUtc":"2017-06-21T01:15:39.902","eventType":"Update","eventCategory":"CONTACT","tenantId":"c2cc9b6e-9458-4c7d-93cc-f02b81b0594f","resourceUrl":"https://api.xero.com/api.xro/2.0/Contacts/RESOURCE"}"#;
    let contacts: Vec<String> =
        (0..100).map(|n| contact.replace("RESOURCE", &format!("717f2bfc-c6d4-41fd-b238-{n:012}"))).collect();
    let batch = format!(r#"{{"events":[{}],"firstEventSequence":1,"lastEventSequence":100}}"#, contacts.join(","));
    vec![
        Subject::new("stripe", &[], stripe, 1),
        Subject::new(
            "github",
            &[("x-github-event", "issues"), ("x-github-delivery", "72d3162e-cc78-11e3-81ab-4c9367dc0958")],
            issue.replace("BODY", &"All the words of an issue. ".repeat(900)),
            1,
        ),
        Subject::new("slack", &[], message.replace("BODY", &"hello, world ".repeat(60)), 1),
        Subject::new("standard-webhooks", &[("webhook-id", "msg_1")], r#"{"type":"a.b","data":{"id":"1"}}"#.to_owned(), 1),
        Subject::new("xero", &[], batch, 100),
    ]
}

fn verification(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("verification");
    for subject in subjects() {
        let body = &subject.request.body;
        assert_eq!(subject.verify(), subject.events);
        group.throughput(Throughput::Bytes(body.len() as u64));
        let name = format!("{} ({} B, {} events)", subject.name, body.len(), subject.events);
        group.bench_function(BenchmarkId::new("hmac alone", &name), |bencher| {
            bencher
                .iter(|| hmac(HmacAlgorithm::Sha256, black_box(&subject.secret), &[b"1700000000", b".", black_box(body)]));
        });
        group.bench_function(BenchmarkId::new("verify and identify", &name), |bencher| {
            bencher.iter(|| black_box(&subject).verify());
        });
    }
    group.finish();
}

criterion_group!(benches, verification);
criterion_main!(benches);
