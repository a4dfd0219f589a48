//! A delivery of each of five providers, signed as they sign.

use hookledger_harness::sign;
use serde_json::{Value, json};

/// The sources of the deployment, and the secret that they refer to.
pub(crate) const SOURCES: &str = r#"
[stripe]
provider = "stripe"
secrets = ["secretsmanager:hookledger/webhooks#stripe"]

[github]
provider = "github"
secrets = ["secretsmanager:hookledger/webhooks#github"]

[shopify]
provider = "shopify"
secrets = ["secretsmanager:hookledger/webhooks#shopify"]

[paddle]
provider = "paddle"
secrets = ["secretsmanager:hookledger/webhooks#paddle"]

[slack]
provider = "slack"
secrets = ["secretsmanager:hookledger/webhooks#slack"]
"#;
pub(crate) const SECRETS: &str = r#"{
    "stripe": "whsec_of_the_deployment", "github": "of the deployment", "shopify": "shpss_of_the_deployment",
    "paddle": "pdl_ntfset_of_the_deployment", "slack": "0123456789abcdef0123456789abcdef"
}"#;

pub(crate) struct Delivery {
    pub(crate) source: &'static str,
    pub(crate) body: String,
    headers: &'static [(&'static str, &'static str)],
    /// What is to become of it: only Stripe's subscriptions have a handler.
    pub(crate) outcome: &'static str,
}

impl Delivery {
    /// Signed now.
    pub(crate) fn headers(&self) -> Vec<(&'static str, String)> {
        let secrets: Value = serde_json::from_str(SECRETS).unwrap_or_default();
        let secret = secrets[self.source].as_str().unwrap_or_default();
        let (t, body) = (hookledger_runtime::now() / 1_000_000, self.body.as_bytes());
        let mut headers: Vec<_> = self.headers.iter().map(|(name, value)| (*name, (*value).to_owned())).collect();
        headers.push(("content-type", "application/json".to_owned()));
        match self.source {
            "stripe" => headers.push(("stripe-signature", sign::stripe(secret, t, body))),
            "github" => headers.push(("x-hub-signature-256", sign::github(secret, body))),
            "shopify" => headers.push(("x-shopify-hmac-sha256", sign::shopify(secret, body))),
            "paddle" => headers.push(("paddle-signature", sign::paddle(secret, t, body))),
            "slack" => {
                headers.push(("x-slack-request-timestamp", t.to_string()));
                headers.push(("x-slack-signature", sign::slack(secret, t, body)));
            }
            other => unreachable!("no provider {other}"),
        }
        headers
    }
}

/// Each about a subscription of its own.
pub(crate) fn stripe(event_id: &str) -> Delivery {
    let object = json!({
        "id": format!("sub_of_{event_id}"), "object": "subscription", "status": "active", "created": 1_700_000_000,
        "items": {"object": "list", "data": [{"id": "si_1", "price": {"id": "price_gold"}}]},
    });
    let body = json!({
        "id": event_id, "object": "event", "type": "customer.subscription.updated", "created": 1_700_000_100, "livemode": false,
        "data": {"object": object},
    });
    Delivery { source: "stripe", body: body.to_string(), headers: &[], outcome: "applied" }
}

pub(crate) fn five() -> [Delivery; 5] {
    let github =
        json!({"ref": "refs/heads/main", "before": "a", "after": "b", "repository": {"id": 1, "pushed_at": 1_700_000_000}});
    let shopify = json!({"id": 450_789_469, "updated_at": "2025-01-10T11:00:00-05:00", "total_price": "9.00"});
    let paddle = json!({
        "event_id": "evt_01hv8x2acma2gz7he8kg2s0hna", "event_type": "subscription.created", "occurred_at": "2025-01-10T11:00:00.000000Z",
        "data": {"id": "sub_01hv8x29kz0t586xy6zn1a62ny", "status": "active"},
    });
    let slack = json!({
        "type": "event_callback", "event_id": "Ev08MFMKH6", "event_time": 1_700_000_000, "team_id": "T1", "api_app_id": "A1",
        "event": {"type": "app_mention", "channel": "C1", "ts": "1700000000.000100", "text": "hello"},
    });
    let shopify_headers = &[
        ("x-shopify-topic", "orders/updated"),
        ("x-shopify-shop-domain", "one.myshopify.com"),
        ("x-shopify-event-id", "e-1"),
    ];
    [
        stripe("evt_deployed"),
        Delivery {
            source: "github",
            body: github.to_string(),
            headers: &[("x-github-event", "push"), ("x-github-delivery", "72d3162e-cc78-11e3-81ab-4c9367dc0958")],
            outcome: "ignored",
        },
        Delivery { source: "shopify", body: shopify.to_string(), headers: shopify_headers, outcome: "ignored" },
        Delivery { source: "paddle", body: paddle.to_string(), headers: &[], outcome: "ignored" },
        Delivery { source: "slack", body: slack.to_string(), headers: &[], outcome: "ignored" },
    ]
}
