//! Deliveries of one event: the providers that most people have, those that want an answer of their own, and one of a user's.

use hookledger_harness::sign;
use hookledger_runtime::now;

use super::scene::{SECRET, Scene};

const FORM: (&str, &str) = ("content-type", "application/x-www-form-urlencoded");

#[tokio::test]
async fn the_five_are_accepted_once_by_signatures_made_elsewhere() {
    let sources: String = ["stripe", "github", "shopify", "paddle", "slack"]
        .iter()
        .map(|provider| format!("[{provider}]\nprovider = \"{provider}\"\nsecrets = [\"env:S\"]\n"))
        .collect();
    let secret = "whsec_a_secret_of_all_five";
    let mut scene = Scene::with("single_five", &sources, secret, Default::default()).await;
    let t = now() / 1_000_000;
    let time = t.to_string();
    let stripe = r#"{"id":"evt_1","object":"event","type":"invoice.paid","created":1773342000,"data":{"object":{"id":"in_1","object":"invoice"}}}"#;
    let github = r#"{"action":"opened","issue":{"id":1,"updated_at":"2026-03-12T19:03:58Z"},"repository":{"id":7}}"#;
    let shopify = r#"{"id":820982911946154508,"updated_at":"2026-03-12T15:03:58-04:00"}"#;
    let paddle = r#"{"event_id":"evt_01","event_type":"subscription.updated","occurred_at":"2026-03-12T19:03:58.298717Z","data":{"id":"sub_01"}}"#;
    let slack = r#"{"token":"old","team_id":"T1","type":"event_callback","event_id":"Ev1","event_time":1773342000,"event":{"type":"app_mention","channel":"C1","ts":"1773342000.000100","user":"U1"}}"#;
    let signed = |f: fn(&str, i64, &[u8]) -> String, body: &str| f(secret, t, body.as_bytes());
    let (of_stripe, of_paddle, of_slack) =
        (signed(sign::stripe, stripe), signed(sign::paddle, paddle), signed(sign::slack, slack));
    let (of_github, of_shopify) = (sign::github(secret, github.as_bytes()), sign::shopify(secret, shopify.as_bytes()));
    let github_headers =
        [("x-hub-signature-256", of_github.as_str()), ("x-github-event", "issues"), ("x-github-delivery", "72d3162e")];
    let shopify_headers = [
        ("x-shopify-hmac-sha256", of_shopify.as_str()),
        ("x-shopify-topic", "orders/updated"),
        ("x-shopify-shop-domain", "a.myshopify.com"),
        ("x-shopify-event-id", "98880550"),
        ("x-shopify-webhook-id", "b54557e4"),
    ];
    let slack_headers = [("x-slack-signature", of_slack.as_str()), ("x-slack-request-timestamp", &time)];
    for (source, headers, body) in [
        ("stripe", &[("stripe-signature", of_stripe.as_str())][..], stripe),
        ("github", &github_headers, github),
        ("shopify", &shopify_headers, shopify),
        ("paddle", &[("paddle-signature", of_paddle.as_str())], paddle),
    ] {
        scene.post(source, headers, body).await.check_outcome("accepted", 1);
        scene.post(source, headers, body).await.check_outcome("duplicate", 1);
        assert_eq!(scene.post(source, headers, &format!("{body} ")).await.status, 401, "{source}");
    }
    for _ in 0..2 {
        scene.post("slack", &slack_headers, slack).await.check(200, "");
    }
    let rows = "(github,issues.opened,1) (paddle,subscription.updated,1) (shopify,orders/updated,1) (slack,app_mention,1) (stripe,invoice.paid,1)";
    scene.check_rows(rows).await;
    let kept = "SELECT convert_from(body, 'UTF8') AS b FROM webhook_payload WHERE source = 'slack'";
    assert!(!scene.ground.read(kept).await.contains("old"), "Slack's token is not kept");
}

#[tokio::test]
async fn one_action_at_shopify_is_an_event_for_each_topic_and_object() {
    let mut scene = Scene::new("single_shopify", "[shopify]\nprovider = \"shopify\"\nsecrets = [\"env:S\"]\n").await;
    let mut outcomes = Vec::new();
    for (topic, webhook_id, id, updated_at) in [
        ("orders/updated", "w1", 1, "2026-03-12T15:03:58-04:00"),
        ("orders/updated", "w1", 1, "2026-03-12T15:03:58-04:00"),
        // The same, for another subscription to it.
        ("orders/updated", "w2", 1, "2026-03-12T15:03:58-04:00"),
        ("orders/paid", "w3", 1, "2026-03-12T15:03:58-04:00"),
        ("orders/updated", "w4", 2, "2026-03-12T15:03:58-04:00"),
        ("orders/updated", "w5", 1, "2026-03-12T15:03:59-04:00"),
    ] {
        let headers = [
            ("x-shopify-topic", topic),
            ("x-shopify-shop-domain", "a.myshopify.com"),
            ("x-shopify-event-id", "98880550"),
            ("x-shopify-webhook-id", webhook_id),
        ];
        let body = format!(r#"{{"id":{id},"updated_at":"{updated_at}"}}"#);
        let answer: serde_json::Value = serde_json::from_str(&scene.deliver("shopify", &headers, &body).await.body).unwrap();
        outcomes.push(answer["outcome"].as_str().unwrap_or_default().to_owned());
    }
    assert_eq!(outcomes, ["accepted", "duplicate", "duplicate", "accepted", "accepted", "accepted"]);
}

#[tokio::test]
async fn slack_and_twilio_read_nothing_into_an_empty_answer() {
    let sources = r#"
[slack]
provider = "slack"
secrets = ["env:S"]

[twilio]
provider = "twilio"
secrets = ["env:S"]
public_url = "https://hooks.example.com/webhooks/twilio"
"#;
    let mut scene = Scene::new("single_empty", sources).await;
    let interaction = "payload=%7B%22type%22%3A%22block_actions%22%2C%22trigger_id%22%3A%2212.34%22%2C%22team%22%3A%7B%22id%22%3A%22T1%22%7D%7D";
    let command = "token=old&team_id=T1&command=%2Fdeploy&text=now&trigger_id=13.37&user_id=U1";
    let message = "AccountSid=AC1&MessageSid=SM1&MessageStatus=delivered";
    for _ in 0..2 {
        scene.deliver("slack", &[FORM], interaction).await.check(200, "");
        scene.deliver("slack", &[FORM], command).await.check(200, "");
        scene.deliver("twilio", &[FORM], message).await.check(204, "");
    }
    // Genuine, and nothing to route.
    scene.deliver("slack", &[FORM], "token=old&ssl_check=1").await.check(200, "");
    scene
        .deliver("slack", &[], r#"{"type":"app_rate_limited","team_id":"T1","minute_rate_limited":1}"#)
        .await
        .check(200, "");
    let forged =
        scene.post("slack", &[FORM, ("x-slack-signature", "v0=00"), ("x-slack-request-timestamp", "1")], command).await;
    assert_eq!(forged.status, 401);
    scene.check_rows("(slack,/deploy,1) (slack,block_actions,1) (twilio,twilio.delivered,1)").await;
}

#[tokio::test]
async fn gitlab_signs_in_two_ways() {
    let sources = r#"
[gitlab]
provider = "gitlab"
secrets = ["env:S"]
"#;
    let body = r#"{"object_kind":"push","ref":"refs/heads/main","before":"1","after":"2","project_id":7}"#;
    let mut scene = Scene::with("single_gitlab", sources, "whsec_c2VjcmV0LXNlY3JldC1zZWNyZXQ=", Default::default()).await;
    let headers = [("x-gitlab-event", "Push Hook"), ("webhook-id", "msg_1")];
    scene.deliver("gitlab", &headers, body).await.check_outcome("accepted", 1);
    scene.deliver("gitlab", &headers, body).await.check_outcome("duplicate", 1);
    // A token proves nothing where signatures are wanted.
    assert_eq!(scene.post("gitlab", &[("x-gitlab-token", "secret"), ("webhook-id", "msg_2")], body).await.status, 401);
    scene.check_rows("(gitlab,push,1)").await;

    let sources = sources.replace("\"gitlab\"", "\"gitlab-token\"");
    let mut scene = Scene::new("single_gitlab_token", &sources).await;
    let headers = |token| [("x-gitlab-event", "Push Hook"), ("x-gitlab-token", token), ("idempotency-key", "k1")];
    scene.post("gitlab", &headers(SECRET), body).await.check_outcome("accepted", 1);
    scene.post("gitlab", &headers(SECRET), body).await.check_outcome("duplicate", 1);
    assert_eq!(scene.post("gitlab", &headers("secre"), body).await.status, 401);
    scene.check_rows("(gitlab,push,1)").await;
    let kept = "SELECT headers FROM webhook_payload WHERE headers::text LIKE '%secret%'";
    scene.ground.check_read(kept, "").await;
}

#[tokio::test]
async fn a_provider_of_a_user_s_own_needs_a_few_lines_and_no_rust() {
    let sources = r#"
[acme]
secrets = ["env:S"]

[acme.provider]
title = "Acme"
docs = "https://acme.example/docs"
accepted_status = 201

[acme.provider.signature]
algorithm = "hmac-sha512"
at = "header:x-acme-signature"
prefix = "sha512="
signed = "{timestamp}.{body}"

[acme.provider.timestamp]
at = "header:x-acme-time"
tolerance_s = 60

[acme.provider.event]
events = "root:/batch"
split = "body:/changes"
id = { hash = ["body:/ticket", "body:/changes/0/at"] }
type = ["text:ticket", "body:/changes/0/kind"]
version = "body:/changes/0/at"

[[acme.provider.event.object]]
kind = "text:ticket"
id = "body:/ticket"
"#;
    let mut scene = Scene::new("single_own", sources).await;
    let body = r#"{"batch":[{"ticket":"T1","changes":[{"kind":"opened","at":1700000001},{"kind":"closed","at":1700000002}]},{"ticket":"T2","changes":[{"kind":"opened","at":1700000001}]}]}"#;
    for _ in 0..2 {
        scene.deliver("acme", &[], body).await.check(201, "");
    }
    assert_eq!(scene.post("acme", &[("x-acme-time", "1700000000")], body).await.status, 401);
    scene.check_rows("(acme,ticket.closed,1) (acme,ticket.opened,2)").await;
    let objects = "SELECT object_id, count(*) AS n FROM webhook_event GROUP BY 1 ORDER BY 1";
    scene.ground.check_read(objects, "(T1,2) (T2,1)").await;
}
