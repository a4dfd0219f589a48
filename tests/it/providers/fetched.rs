//! Keys that a provider publishes: fetched from its own host and from nowhere else, within limits, and remembered.

use std::time::{Duration, Instant};

use hookledger_runtime::{CALL_WITHIN, FETCHES_PER_MINUTE_MAX};
use serde_json::json;
use sha2::{Digest, Sha256};

use super::host::{Hosts, Reply};
use super::keys::{P256, Published};
use super::scene::{Answer, REPLAY_TOKEN, Scene};
use super::sns::{HOST, SOURCES, certificate_url, notification, signed};
use crate::tls::certificate::Validity;

#[tokio::test]
async fn a_key_is_fetched_once_and_then_remembered() {
    let key = Published::new();
    let hosts = Hosts::start(&[HOST], Reply::Body(key.certificate())).await;
    let mut scene = Scene::with("fetched_once", SOURCES, "", hosts.https()).await;
    let url = certificate_url("a");
    scene.post("sns", &[], &notification(&key, "m1", &url)).await.check_outcome("accepted", 1);
    assert_eq!(hosts.asked(), [format!("CONNECT {HOST}:443"), format!("GET {HOST}/SimpleNotificationService-a.pem")]);
    scene.post("sns", &[], &notification(&key, "m1", &url)).await.check_outcome("duplicate", 1);
    let old = signed(&key, json!({ "Type": "Notification", "MessageId": "m2", "Message": "hi", "Subject": "s" }), "1", &url);
    scene.post("sns", &[], &old).await.check_outcome("accepted", 1);
    let forged = notification(&Published::new(), "m3", &url);
    assert_eq!(scene.post("sns", &[], &forged).await.status, 401);
    assert_eq!(hosts.asked(), [""; 0], "the certificate is known");
    scene.check_rows("(sns,Notification,2)").await;
}

#[tokio::test]
async fn no_sender_can_make_us_call_an_address_of_its_choice() {
    let key = Published::new();
    let hosts = Hosts::start(&[HOST, "evil.test"], Reply::Body(key.certificate())).await;
    let mut scene = Scene::with("fetched_ssrf", SOURCES, "", hosts.https()).await;
    let path = "/SimpleNotificationService-a.pem";
    for address in [
        format!("http://{HOST}{path}"),
        format!("https://{HOST}:8443{path}"),
        format!("https://{HOST}:443{path}"),
        format!("https://evil.test{path}"),
        format!("https://evil.test/{HOST}{path}"),
        format!("https://{HOST}@evil.test{path}"),
        format!("https://user:pass@{HOST}{path}"),
        format!("https://{HOST}.evil.test{path}"),
        format!("https://evil.test#.{HOST}{path}"),
        format!("https://evil.test?.{HOST}{path}"),
        format!("https://evil.test\\.amazonaws.com{path}"),
        format!("https://sns.us-west-2.evilamazonaws.com{path}"),
        format!("https://xsns.us-west-2.amazonaws.com{path}"),
        format!("https://sns.us-west-2.amazonaws.com.{path}"),
        format!("https://s3.us-west-2.amazonaws.com{path}"),
        format!("https://{HOST}/other.pem"),
        format!("https://{HOST}/SimpleNotificationService-/../other.pem"),
        format!("https://{HOST}{path}?x=.pem"),
        format!("https://169.254.169.254{path}"),
        format!("https://2852039166{path}"),
        format!("https://[::1]{path}"),
        format!("https://localhost{path}"),
        "file:///SimpleNotificationService-a.pem".to_owned(),
        String::new(),
    ] {
        let answer = scene.post("sns", &[], &notification(&key, "m1", &address)).await;
        assert_eq!(answer.status, 401, "{address}: {answer:?}");
    }
    assert_eq!(hosts.asked(), [""; 0]);
    scene.check_rows("").await;
}

/// One delivery while the host answers with `reply`, and again at once.
async fn twice(name: &str, reply: Reply) -> (Vec<String>, Answer) {
    let hosts = Hosts::start(&[HOST, "evil.test"], reply).await;
    let mut scene = Scene::with(name, SOURCES, "", hosts.https()).await;
    let body = notification(&Published::new(), "m1", &certificate_url("a"));
    let start = Instant::now();
    let answer = scene.post("sns", &[], &body).await;
    assert!(start.elapsed() < CALL_WITHIN + Duration::from_secs(2), "{:?}", start.elapsed());
    let asked = hosts.asked();
    assert_eq!(scene.post("sns", &[], &body).await.status, answer.status);
    assert_eq!(hosts.asked(), [""; 0], "a failure is remembered");
    scene.check_rows("").await;
    (asked, answer)
}

#[tokio::test]
async fn what_is_no_key_is_a_401_like_any_other() {
    for (n, reply) in [
        Reply::Status(404),
        Reply::Body(b"<html>".to_vec()),
        Reply::Endless,
        Reply::Redirect("https://evil.test/SimpleNotificationService-a.pem"),
    ]
    .into_iter()
    .enumerate()
    {
        let (asked, answer) = twice(&format!("fetched_refused_{n}"), reply).await;
        assert_eq!(asked.len(), 2, "one connection, one request: {asked:?}");
        assert!(answer.status == 401 && !answer.headers.contains_key("retry-after"), "{answer:?}");
    }
}

#[tokio::test]
async fn while_a_host_is_not_available_deliveries_are_asked_to_come_again() {
    for (n, reply) in [Reply::Status(503), Reply::Status(429), Reply::Silence, Reply::Drip].into_iter().enumerate() {
        let (_, answer) = twice(&format!("fetched_away_{n}"), reply).await;
        assert_eq!((answer.status, &answer.headers["retry-after"]), (503, &"30".parse().unwrap()));
    }
}

#[tokio::test]
async fn a_host_that_cannot_prove_its_name_is_not_believed() {
    let key = Published::new();
    let body = notification(&key, "m1", &certificate_url("a"));
    let expired = Hosts::with(&[HOST], Reply::Body(key.certificate()), Validity::Expired).await;
    let unknown = Hosts::start(&[HOST], Reply::Body(key.certificate())).await;
    for (name, https) in [("fetched_expired", expired.https()), ("fetched_unknown", unknown.https_of_a_stranger())] {
        let mut scene = Scene::with(name, SOURCES, "", https).await;
        assert_eq!(scene.post("sns", &[], &body).await.status, 503);
        scene.check_rows("").await;
    }
}

#[tokio::test]
async fn senders_cannot_make_us_fetch_without_end_nor_forget_what_we_know() {
    let key = Published::new();
    let hosts = Hosts::start(&[HOST], Reply::Body(key.certificate())).await;
    let mut scene = Scene::with("fetched_flood", SOURCES, "", hosts.https()).await;
    let known = certificate_url("known");
    scene.post("sns", &[], &notification(&key, "m1", &known)).await.check_outcome("accepted", 1);
    hosts.reply(Reply::Status(404));
    let mut statuses = Vec::new();
    for n in 0..FETCHES_PER_MINUTE_MAX + 5 {
        let forged = notification(&key, "x", &certificate_url(&n.to_string()));
        statuses.push(scene.post("sns", &[], &forged).await.status);
    }
    let fetches = hosts.asked().iter().filter(|asked| asked.starts_with("GET")).count();
    assert_eq!(fetches, FETCHES_PER_MINUTE_MAX as usize);
    assert_eq!((statuses[0], statuses.last()), (401, Some(&503)));
    scene.post("sns", &[], &notification(&key, "m2", &known)).await.check_outcome("accepted", 1);
}

#[tokio::test]
async fn a_replay_needs_no_key() {
    let hosts = Hosts::start(&[HOST], Reply::Status(404)).await;
    let mut scene = Scene::with("fetched_replay", SOURCES, "", hosts.https()).await;
    let body = notification(&Published::new(), "m1", &certificate_url("gone"));
    scene.post("sns", &[("x-replay-token", REPLAY_TOKEN)], &body).await.check_outcome("accepted", 1);
    let wrong = "another-token-of-at-least-thirty-two-bytes";
    assert_eq!(scene.post("sns", &[("x-replay-token", wrong)], &body).await.status, 401);
    assert_eq!(scene.get("sns", "").await.status, 405);
    assert_eq!(hosts.asked(), [""; 0]);
}

#[tokio::test]
async fn paypal_s_certificate_is_fetched_from_its_api() {
    let key = Published::new();
    let hosts = Hosts::start(&["api.paypal.com"], Reply::Body(key.certificate())).await;
    let sources = "[paypal]\nprovider = \"paypal\"\nwebhook_id = \"4JH86294D6297924G\"\n";
    let mut scene = Scene::with("fetched_paypal", sources, "", hosts.https()).await;
    let body = r#"{"id":"WH-1","event_type":"PAYMENT.SALE.COMPLETED","create_time":"2026-03-12T19:03:58Z","resource_type":"sale","resource":{"id":"S1"}}"#;
    let (id, time) = ("69cd13f0", "2026-03-12T19:03:59Z");
    let signed = format!("{id}|{time}|4JH86294D6297924G|{}", crc32fast::hash(body.as_bytes()));
    let signature = key.sign_base64(openssl::hash::MessageDigest::sha256(), &signed);
    let mut headers = [
        ("paypal-transmission-id", id),
        ("paypal-transmission-time", time),
        ("paypal-transmission-sig", &signature),
        ("paypal-cert-url", "https://api.paypal.com/v1/notifications/certs/CERT-360caa42"),
    ];
    scene.post("paypal", &headers, body).await.check_outcome("accepted", 1);
    assert_eq!(hosts.asked().last().unwrap(), "GET api.paypal.com/v1/notifications/certs/CERT-360caa42");
    headers[3].1 = "https://api.paypal.com.evil.test/v1/notifications/certs/CERT-360caa42";
    assert_eq!(scene.post("paypal", &headers, body).await.status, 401);
    assert_eq!(hosts.asked(), [""; 0]);
    scene.check_rows("(paypal,PAYMENT.SALE.COMPLETED,1)").await;
}

#[tokio::test]
async fn plaid_s_key_is_asked_for_with_the_source_s_secret() {
    let key = P256::new();
    let (x, y) = key.coordinates();
    let jwk = json!({ "key": { "alg": "ES256", "crv": "P-256", "kid": "k1", "kty": "EC", "use": "sig", "x": x, "y": y, "expired_at": null } });
    let host = "production.plaid.com";
    let hosts = Hosts::start(&[host], Reply::Body(jwk.to_string().into_bytes())).await;
    let sources = "[plaid]\nprovider = \"plaid\"\nsecrets = [\"env:S\"]\nclient_id = \"c1\"\n";
    let mut scene = Scene::with("fetched_plaid", sources, "an API secret", hosts.https()).await;
    let body = r#"{"webhook_type":"TRANSACTIONS","webhook_code":"SYNC_UPDATES_AVAILABLE","item_id":"i1"}"#;
    let issued_at = hookledger_runtime::now() / 1_000_000;
    let claims =
        |body: &str| json!({ "iat": issued_at, "request_body_sha256": hex::encode(Sha256::digest(body)) }).to_string();
    let token = key.token(r#"{"alg":"ES256","kid":"k1","typ":"JWT"}"#, &claims(body));
    scene.post("plaid", &[("plaid-verification", &token)], body).await.check_outcome("accepted", 1);
    let asked = hosts.asked();
    let sent = asked[1].strip_prefix("POST production.plaid.com/webhook_verification_key/get ").unwrap();
    let sent: serde_json::Value = serde_json::from_str(sent).unwrap();
    assert_eq!(sent, json!({ "client_id": "c1", "secret": "an API secret", "key_id": "k1" }));
    let other_body = body.replace("i1", "i2");
    assert_eq!(scene.post("plaid", &[("plaid-verification", &token)], &other_body).await.status, 401);
    // No other algorithm, whatever the token says.
    let none = key.token(r#"{"alg":"none","kid":"k1"}"#, &claims(body));
    assert_eq!(scene.post("plaid", &[("plaid-verification", &none)], body).await.status, 401);
    scene.check_rows("(plaid,TRANSACTIONS.SYNC_UPDATES_AVAILABLE,1)").await;
}
