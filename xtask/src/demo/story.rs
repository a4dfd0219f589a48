//! The story: which webhooks are sent, in which order. Data only; what must become of them is in `check`.

use hookledger_harness::subscription::SubscriptionEvent;
use hookledger_harness::{sign, since_epoch};

pub(super) const STRIPE_SECRET: &str = "whsec_demo_of_hookledger";
pub(super) const GITHUB_SECRET: &str = "the demo's secret at GitHub";

/// The fields of GitHub's push event that a receiver reads.
const PUSH: &str = r#"{"ref":"refs/heads/main","before":"1111111111111111111111111111111111111111",
"after":"2222222222222222222222222222222222222222","repository":{"id":1,"full_name":"demo/demo","pushed_at":1700000000}}"#;

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
    Subscription { change: &'static str, subscription: &'static str, plan: &'static str, age_s: i64 },
    /// A push to a repository at GitHub.
    Push,
}

use Message::{Push, Subscription};

pub(super) const STORY: &[Scene] = &[
    Scene {
        name: "created v1",
        says: "a subscription starts on plan starter",
        event_id: "evt_demo_v1",
        copies: 1,
        signed: Signed::Well,
        message: Subscription { change: "created", subscription: "sub_ada", plan: "starter", age_s: 90 },
    },
    Scene {
        name: "updated v3",
        says: "it moves to plan team",
        event_id: "evt_demo_v3",
        copies: 1,
        signed: Signed::Well,
        message: Subscription { change: "updated", subscription: "sub_ada", plan: "team", age_s: 30 },
    },
    Scene {
        name: "updated v2, late",
        says: "older news (plan plus) arrives after it",
        event_id: "evt_demo_v2",
        copies: 1,
        signed: Signed::Well,
        message: Subscription { change: "updated", subscription: "sub_ada", plan: "plus", age_s: 60 },
    },
    Scene {
        name: "updated v3, again",
        says: "the provider sends v3 a second time",
        event_id: "evt_demo_v3",
        copies: 1,
        signed: Signed::Well,
        message: Subscription { change: "updated", subscription: "sub_ada", plan: "team", age_s: 30 },
    },
    Scene {
        name: "50 copies at once",
        says: "one event of another subscription, fifty times",
        event_id: "evt_demo_fifty",
        copies: 50,
        signed: Signed::Well,
        message: Subscription { change: "created", subscription: "sub_grace", plan: "starter", age_s: 20 },
    },
    Scene {
        name: "bad signature",
        says: "somebody without the secret cancels it",
        event_id: "evt_demo_forged",
        copies: 1,
        signed: Signed::WithAnotherSecret,
        message: Subscription { change: "deleted", subscription: "sub_ada", plan: "team", age_s: 10 },
    },
    Scene {
        name: "push at GitHub",
        says: "another provider; no handler takes it",
        event_id: "0b989ba4-242f-11e5-81e1-c7b6966d2516",
        copies: 1,
        signed: Signed::Well,
        message: Push,
    },
];

/// A request as the provider sends it.
pub(super) struct Request {
    pub(super) headers: Vec<(&'static str, String)>,
    pub(super) body: String,
}

impl Scene {
    pub(super) fn source(&self) -> &'static str {
        match self.message {
            Subscription { .. } => "stripe",
            Push => "github",
        }
    }

    /// As sent in a story told at `story_s`, seconds since 1970: the ages count back from then. `None` for other messages.
    pub(super) fn event(&self, story_s: i64) -> Option<SubscriptionEvent> {
        let Subscription { change, subscription, plan, age_s } = self.message else { return None };
        Some(SubscriptionEvent {
            id: self.event_id.to_owned(),
            change,
            subscription: subscription.to_owned(),
            plan: plan.to_owned(),
            created_s: story_s - age_s,
        })
    }

    /// Signed now.
    pub(super) fn request(&self, story_s: i64) -> Request {
        let json = ("content-type", "application/json".to_owned());
        if let Some(event) = self.event(story_s) {
            let body = event.body();
            let signature = sign::stripe(self.secret(STRIPE_SECRET), since_epoch().as_secs() as i64, body.as_bytes());
            return Request { body, headers: vec![json, ("stripe-signature", signature)] };
        }
        let signature = sign::github(self.secret(GITHUB_SECRET), PUSH.as_bytes());
        let headers = vec![
            json,
            ("x-hub-signature-256", signature),
            ("x-github-event", "push".to_owned()),
            ("x-github-delivery", self.event_id.to_owned()),
            ("x-github-hook-id", "1".to_owned()),
        ];
        Request { body: PUSH.to_owned(), headers }
    }

    fn secret(&self, real: &'static str) -> &'static str {
        match self.signed {
            Signed::Well => real,
            Signed::WithAnotherSecret => "whsec_of_somebody_else",
        }
    }
}
