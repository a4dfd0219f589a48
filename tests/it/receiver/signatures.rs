//! How Stripe and GitHub sign, case by case: what a header may hold, and that nothing but a live secret's signature counts.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use hookledger_harness::{Emulator, sign, since_epoch};
use serde_json::{Value, json};

use super::delivery::{HTTP_API, SECRET, hand_over, post, receiver, shaped, stripe_event};
use crate::ground::Ground;

/// The hexadecimal MAC of Stripe's scheme over a time that is written as `t`.
fn v1(secret: &str, t: &str, body: &str) -> String {
    hex::encode(sign::hmac_sha256(secret.as_bytes(), format!("{t}.{body}").as_bytes()))
}

#[tokio::test]
async fn stripe_s_header_is_read_as_a_list_of_which_only_v1_counts() {
    let emulator = Emulator::start().unwrap();
    let ground = Ground::new("signature_stripe").await;
    let mut receiver = receiver(&ground, &emulator).await;
    let now = since_epoch().as_secs();
    let (t, zeros, far) = (now.to_string(), format!("00{now}"), (now + 400).to_string());
    let mut number = 0;
    for (what, status, header) in [
        ("one signature", 200, "t={t},v1={good}"),
        ("in another order", 200, "v1={good},t={t}"),
        ("a rolled secret's beside it", 200, "t={t},v1={other},v1={good}"),
        ("one that is no hexadecimal beside it", 200, "t={t},v1=nonsense,v1={good}"),
        ("schemes that are unknown or come later", 200, "t={t},v2=1,v1={good},v0=2,later"),
        ("leading zeros, signed as they are written", 200, "t={zeros},v1={good_zeros}"),
        ("leading zeros, signed as the number", 401, "t={zeros},v1={good}"),
        ("the scheme of test events alone, its MAC correct", 401, "t={t},v0={good}"),
        ("another secret's", 401, "t={t},v1={other}"),
        ("a time far ahead", 401, "t={far},v1={good_far}"),
        ("a negative time", 401, "t=-1,v1={good_negative}"),
        ("no time", 401, "v1={good}"),
        ("no signature", 401, "t={t}"),
        ("an empty one", 401, "t={t},v1="),
        ("one that is cut", 401, "t={t},v1={cut}"),
    ] {
        number += 1;
        let body = stripe_event(&format!("evt_{number}"));
        let good = v1(SECRET, &t, &body);
        let header = [
            ("{t}", t.as_str()),
            ("{zeros}", &zeros),
            ("{far}", &far),
            ("{good}", &good),
            ("{cut}", &good[..32]),
            ("{other}", &v1("whsec_other", &t, &body)),
            ("{good_zeros}", &v1(SECRET, &zeros, &body)),
            ("{good_far}", &v1(SECRET, &far, &body)),
            ("{good_negative}", &v1(SECRET, "-1", &body)),
        ]
        .into_iter()
        .fold(header.to_owned(), |header, (name, value)| header.replace(name, value));
        let answer = post(&mut receiver, "/webhooks/stripe", &[("stripe-signature", &header)], &body).await;
        assert_eq!(answer.status, status, "{what}: {}", answer.body);
    }
    ground.check_read("SELECT count(*) FROM webhook_event", "(6)").await;
}

/// API Gateway hands a form over in base64; what GitHub signed is the form, and what is kept is the JSON in it.
#[tokio::test]
async fn github_s_form_is_signed_as_a_form_and_kept_as_json() {
    let emulator = Emulator::start().unwrap();
    let ground = Ground::new("signature_github").await;
    let mut receiver = receiver(&ground, &emulator).await;
    let payload = r#"{"ref":"refs/heads/main","repository":{"id":7,"pushed_at":1557933656}}"#;
    let form = format!("payload={}", payload.replace('"', "%22").replace(':', "%3A").replace('/', "%2F"));
    for (signed, guid, status) in [(payload, "g-1", 401), (form.as_str(), "g-2", 200)] {
        let signature = sign::github("github-secret", signed.as_bytes());
        let headers = [
            ("content-type", "application/x-www-form-urlencoded"),
            ("X-GitHub-Event", "push"),
            ("X-GitHub-Delivery", guid),
            ("X-Hub-Signature-256", &signature),
        ];
        let mut event = shaped(HTTP_API, &headers, &form, Some(STANDARD.encode(&form)));
        event["rawPath"] = json!("/webhooks/github");
        let answer = hand_over(&mut receiver, &event).await;
        assert_eq!(answer.status, status, "{}", answer.body);
    }
    let kept =
        ground.sql.query_typed("SELECT event_id, convert_from(body, 'UTF8') FROM webhook_payload", &[]).await.unwrap();
    assert_eq!((kept.len(), kept[0].get::<_, String>(0).as_str()), (1, "g-2"));
    let body: Value = serde_json::from_str(&kept[0].get::<_, String>(1)).unwrap();
    assert_eq!(body, serde_json::from_str::<Value>(payload).unwrap());
}
