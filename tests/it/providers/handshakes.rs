//! What providers send to see whether an endpoint is ours: answered byte for byte, and never a row.

use base64::Engine;
use base64::prelude::BASE64_STANDARD as BASE64;
use hookledger_harness::sign::hmac_sha256;
use sha2::{Digest, Sha256};

use super::keys::Ed25519;
use super::scene::{SECRET, Scene};

const PLAIN: &str = "text/plain; charset=utf-8";

async fn scene(name: &str, providers: &[(&str, &str)]) -> Scene {
    let source = |(provider, settings): &(&str, &str)| {
        format!("[{provider}]\nprovider = \"{provider}\"\nsecrets = [\"env:S\"]\n{settings}\n")
    };
    Scene::new(name, &providers.iter().map(source).collect::<String>()).await
}

#[tokio::test]
async fn challenges_by_get_are_echoed_as_plain_text() {
    let verify_token = format!("verify_token_sha256 = \"{}\"", hex::encode(Sha256::digest("my token")));
    let mut scene =
        scene("handshake_get", &[("meta", &verify_token), ("dropbox", ""), ("braintree", "public_key = \"pk\"")]).await;
    for (source, query, status, body) in [
        ("meta", "hub.mode=subscribe&hub.challenge=1158201444&hub.verify_token=my%20token", 200, "1158201444"),
        ("dropbox", "challenge=abc%3Cb%3E", 200, "abc<b>"),
    ] {
        let answer = scene.get(source, query).await;
        answer.check(status, body);
        assert_eq!(
            (&answer.headers["content-type"], &answer.headers["x-content-type-options"]),
            (&PLAIN.parse().unwrap(), &"nosniff".parse().unwrap())
        );
    }
    let answer = scene.get("braintree", "bt_challenge=20f9f8ed05f77439fe955c977e4c8a53").await;
    assert!(answer.status == 200 && answer.body.starts_with("pk|"), "{answer:?}");
    let wrong = "hub.mode=subscribe&hub.challenge=1&hub.verify_token=another";
    assert_eq!(scene.get("meta", wrong).await.status, 401);
    assert_eq!(scene.get("dropbox", "").await.status, 405);
    scene.check_rows("").await;
}

#[tokio::test]
async fn signed_challenges_are_answered_only_when_they_are_signed() {
    let mut scene = scene("handshake_signed", &[("slack", ""), ("zoom", ""), ("twitch", ""), ("xero", "")]).await;
    let twitch = [("twitch-eventsub-message-id", "m1"), ("twitch-eventsub-message-type", "webhook_callback_verification")];
    let token = "qgg8vlvZRS6UYooatFL8Aw";
    let zoom = format!(
        r#"{{"encryptedToken":"{}","plainToken":"{token}"}}"#,
        hex::encode(hmac_sha256(SECRET.as_bytes(), token.as_bytes()))
    );
    for (source, headers, body, answer) in [
        ("slack", &[][..], r#"{"token":"old","challenge":"3eZbrw1aB","type":"url_verification"}"#, "3eZbrw1aB"),
        (
            "zoom",
            &[],
            r#"{"payload":{"plainToken":"qgg8vlvZRS6UYooatFL8Aw"},"event_ts":1,"event":"endpoint.url_validation"}"#,
            &zoom,
        ),
        ("twitch", &twitch, r#"{"challenge":"pogchamp-kappa","subscription":{"type":"channel.follow"}}"#, "pogchamp-kappa"),
        ("xero", &[], r#"{"events":[],"firstEventSequence":0,"lastEventSequence":0,"entropy":"S0m3"}"#, ""),
    ] {
        scene.deliver(source, headers, body).await.check(200, answer);
        let forged = scene.post(source, headers, body).await;
        assert_eq!(forged.status, 401, "{source}");
        assert!(answer.is_empty() || !forged.body.contains(answer), "{source}");
    }
    // Xero sends a wrong signature on purpose.
    let wrong = BASE64.encode(hmac_sha256(b"another", b"{}"));
    assert_eq!(scene.post("xero", &[("x-xero-signature", &wrong)], "{}").await.status, 401);
    scene.check_rows("").await;
}

#[tokio::test]
async fn discord_gets_its_pong_and_a_401_for_its_bad_signatures() {
    let key = Ed25519::new();
    let sources = "[discord]\nprovider = \"discord\"\nsecrets = [\"env:S\"]\n";
    let mut scene = Scene::with("handshake_discord", sources, &key.public_hex(), Default::default()).await;
    let time = (hookledger_runtime::now() / 1_000_000).to_string();
    for (body, status, answer) in [
        (r#"{"application_id":"1","id":"2","type":1,"version":1}"#, 200, r#"{"type":1}"#),
        (r#"{"version":1,"application_id":"1","type":0}"#, 204, ""),
    ] {
        let signature = key.sign_hex(format!("{time}{body}").as_bytes());
        let headers = [("x-signature-timestamp", time.as_str()), ("x-signature-ed25519", &signature)];
        scene.post("discord", &headers, body).await.check(status, answer);
        let other = Ed25519::new().sign_hex(format!("{time}{body}").as_bytes());
        let headers = [("x-signature-timestamp", time.as_str()), ("x-signature-ed25519", &other)];
        assert_eq!(scene.post("discord", &headers, body).await.status, 401);
    }
    let event = r#"{"version":1,"application_id":"1","type":1,"event":{"type":"APPLICATION_AUTHORIZED","timestamp":"2024-10-18T14:42:53.064834","data":{"user":{"id":"9"}}}}"#;
    let signature = key.sign_hex(format!("{time}{event}").as_bytes());
    let headers = [("x-signature-timestamp", time.as_str()), ("x-signature-ed25519", &signature)];
    for _ in 0..2 {
        scene.post("discord", &headers, event).await.check(204, "");
    }
    scene.check_rows("(discord,APPLICATION_AUTHORIZED,1)").await;
}

#[tokio::test]
async fn pings_without_a_signature_are_answered_and_kept_nowhere() {
    let mut scene = scene("handshake_unsigned", &[("woocommerce", ""), ("microsoft-graph", ""), ("intercom", "")]).await;
    let form = [("content-type", "application/x-www-form-urlencoded")];
    scene.post("woocommerce", &form, "webhook_id=7").await.check_outcome("ignored", 1);
    assert_eq!(scene.post("woocommerce", &form, "other=7").await.status, 401);
    let headers = lambda_http::http::HeaderMap::new();
    let answer = scene.send("POST", "microsoft-graph", "validationToken=Validation%3A+a%3Cb%3E", &headers, "").await;
    answer.check(200, "Validation: a<b>");
    assert_eq!(answer.headers["content-type"], PLAIN);
    assert_eq!(scene.send("HEAD", "intercom", "", &headers, "").await.status, 200);
    scene.check_rows("").await;
}
