//! The story: which webhooks are sent, in which order. Data only; what must become of them is in `check`.

use std::time::{SystemTime, UNIX_EPOCH};

use hookledger_harness::sign;
use serde_json::json;

pub(super) const STRIPE_SECRET: &str = "whsec_demo_of_hookledger";
pub(super) const GITHUB_SECRET: &str = "the demo's secret at GitHub";

/// One entry of the story. It is sent when the one before it is settled, as often as `copies` says, all at once.
pub(super) struct Scene {
    /// Unique; `check` refers to it.
    pub(super) name: &'static str,
    pub(super) says: &'static str,
    pub(super) event_id: &'static str,
    pub(super) copies: usize,
    pub(super) signed: Signed,
    pub(super) message: Message,
}

#[derive(Clone, Copy)]
pub(super) enum Signed {
    Well,
    WithAnotherSecret,
}

pub(super) enum Message {
    /// A `customer.subscription.…` event of Stripe, of an age in seconds.
    Subscription { event: &'static str, subscription: &'static str, plan: &'static str, age_s: i64 },
    /// A push to a repository at GitHub.
    Push { branch: &'static str },
}

use Message::{Push, Subscription};

pub(super) const STORY: &[Scene] = &[
    Scene {
        name: "created v1",
        says: "a subscription starts on plan starter",
        event_id: "evt_demo_v1",
        copies: 1,
        signed: Signed::Well,
        message: Subscription { event: "created", subscription: "sub_ada", plan: "starter", age_s: 90 },
    },
    Scene {
        name: "updated v3",
        says: "it moves to plan team",
        event_id: "evt_demo_v3",
        copies: 1,
        signed: Signed::Well,
        message: Subscription { event: "updated", subscription: "sub_ada", plan: "team", age_s: 30 },
    },
    Scene {
        name: "updated v2, late",
        says: "older news (plan plus) arrives after it",
        event_id: "evt_demo_v2",
        copies: 1,
        signed: Signed::Well,
        message: Subscription { event: "updated", subscription: "sub_ada", plan: "plus", age_s: 60 },
    },
    Scene {
        name: "updated v3, again",
        says: "the provider sends v3 a second time",
        event_id: "evt_demo_v3",
        copies: 1,
        signed: Signed::Well,
        message: Subscription { event: "updated", subscription: "sub_ada", plan: "team", age_s: 30 },
    },
    Scene {
        name: "50 copies at once",
        says: "one event of another subscription, fifty times",
        event_id: "evt_demo_fifty",
        copies: 50,
        signed: Signed::Well,
        message: Subscription { event: "created", subscription: "sub_grace", plan: "starter", age_s: 20 },
    },
    Scene {
        name: "bad signature",
        says: "somebody without the secret cancels it",
        event_id: "evt_demo_forged",
        copies: 1,
        signed: Signed::WithAnotherSecret,
        message: Subscription { event: "deleted", subscription: "sub_ada", plan: "team", age_s: 10 },
    },
    Scene {
        name: "push at GitHub",
        says: "another provider; no handler takes it",
        event_id: "0b989ba4-242f-11e5-81e1-c7b6966d2516",
        copies: 1,
        signed: Signed::Well,
        message: Push { branch: "main" },
    },
];

/// A request as the provider sends it.
pub(super) struct Request {
    pub(super) source: &'static str,
    pub(super) headers: Vec<(&'static str, String)>,
    pub(super) body: String,
}

impl Scene {
    pub(super) fn source(&self) -> &'static str {
        match self.message {
            Subscription { .. } => "stripe",
            Push { .. } => "github",
        }
    }

    /// Written and signed at `now_s`, seconds since 1970; the ages count back from `story_s`.
    pub(super) fn request(&self, story_s: i64, now_s: i64) -> Request {
        let source = self.source();
        let (body, header) = match self.message {
            Subscription { event, subscription, plan, age_s } => {
                let body = stripe_event(self.event_id, event, subscription, plan, story_s - age_s);
                let signature = sign::stripe(self.secret(STRIPE_SECRET), now_s, body.as_bytes());
                (body, ("stripe-signature", signature))
            }
            Push { branch } => {
                let body = github_push(branch);
                let signature = sign::github(self.secret(GITHUB_SECRET), body.as_bytes());
                (body, ("x-hub-signature-256", signature))
            }
        };
        let mut headers = vec![("content-type", "application/json".to_owned()), header];
        if source == "github" {
            headers.push(("x-github-event", "push".to_owned()));
            headers.push(("x-github-delivery", self.event_id.to_owned()));
            headers.push(("x-github-hook-id", "1".to_owned()));
        }
        Request { source, headers, body }
    }

    fn secret(&self, real: &'static str) -> &'static str {
        match self.signed {
            Signed::Well => real,
            Signed::WithAnotherSecret => "whsec_of_somebody_else",
        }
    }
}

#[expect(clippy::disallowed_methods, reason = "providers sign with their own clock, and here we are the provider")]
pub(super) fn now_s() -> i64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs() as i64)
}

/// The fields of Stripe's event object that a receiver reads (docs.stripe.com/api/events/object).
fn stripe_event(id: &str, event: &str, subscription: &str, plan: &str, created_s: i64) -> String {
    let status = if event == "deleted" { "canceled" } else { "active" };
    json!({
        "id": id, "object": "event", "type": format!("customer.subscription.{event}"), "created": created_s,
        "livemode": false, "api_version": "2025-03-31.basil",
        "data": { "object": {
            "id": subscription, "object": "subscription", "status": status, "customer": "cus_demo",
            "items": { "object": "list", "data": [{ "object": "subscription_item", "price": { "id": plan, "object": "price" } }] },
        } },
    })
    .to_string()
}

/// The fields of GitHub's push event that a receiver reads.
fn github_push(branch: &str) -> String {
    json!({
        "ref": format!("refs/heads/{branch}"), "before": "0".repeat(40), "after": "1".repeat(40),
        "repository": { "id": 1, "full_name": "demo/demo", "pushed_at": 1_700_000_000 },
    })
    .to_string()
}
