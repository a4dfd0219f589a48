//! Stripe's subscription events as a sender makes them, and what the worked example does with them, each effect written down.

use serde_json::json;
use tokio_postgres::Client;

use crate::clock::since_epoch;
use crate::lambda::api_gateway::HttpRequest;
use crate::sign;

/// One `customer.subscription.…` event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SubscriptionEvent {
    pub id: String,
    /// `created`, `updated` or `deleted`.
    pub change: &'static str,
    pub subscription: String,
    pub plan: String,
    /// Seconds since 1970, which order the events of a subscription.
    pub created_s: i64,
}

/// A write to the row of a subscription, in the order in which they were committed for that subscription.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Effect {
    pub subscription: String,
    /// Microseconds since 1970.
    pub version: i64,
}

impl SubscriptionEvent {
    /// Microseconds since 1970.
    pub fn version(&self) -> i64 {
        self.created_s * 1_000_000
    }

    /// The fields of Stripe's event object that a receiver reads (docs.stripe.com/api/events/object).
    pub fn body(&self) -> String {
        let status = if self.change == "deleted" { "canceled" } else { "active" };
        let item = json!({ "object": "subscription_item", "price": { "id": self.plan, "object": "price" } });
        json!({
            "id": self.id, "object": "event", "type": format!("customer.subscription.{}", self.change),
            "created": self.created_s, "livemode": false, "api_version": "2025-03-31.basil",
            "data": { "object": {
                "id": self.subscription, "object": "subscription", "status": status, "customer": "cus_1",
                "items": { "object": "list", "data": [item] },
            } },
        })
        .to_string()
    }

    /// A delivery of it, signed now: Stripe signs each anew.
    pub fn delivery(&self, secret: &str) -> HttpRequest {
        let body = self.body();
        let signature = sign::stripe(secret, since_epoch().as_secs() as i64, body.as_bytes());
        let headers = [("Content-Type", "application/json; charset=utf-8"), ("Stripe-Signature", &signature)];
        HttpRequest::post("/webhooks/stripe", &headers, body)
    }
}

/// The serial number is taken while the writer holds the object's row lock, so it tells the order.
const RECORD: &str = "
CREATE TABLE effect_log (
    place bigserial PRIMARY KEY,
    subscription_id text NOT NULL,
    version bigint NOT NULL,
    xid xid8 NOT NULL DEFAULT pg_current_xact_id()
);
CREATE FUNCTION record_effect() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO effect_log (subscription_id, version) VALUES (new.subscription_id, new.version);
    RETURN NULL;
END $$;
CREATE TRIGGER record_effect AFTER INSERT OR UPDATE ON subscription FOR EACH ROW EXECUTE FUNCTION record_effect();";

/// From now on each write to a subscription's row leaves a trace, which commits or not together with it.
pub async fn record_effects(database: &Client) -> anyhow::Result<()> {
    Ok(database.batch_execute(RECORD).await?)
}

pub async fn effects(database: &Client) -> anyhow::Result<Vec<Effect>> {
    let rows = database.query("SELECT subscription_id, version FROM effect_log ORDER BY place", &[]).await?;
    rows.iter().map(|row| Ok(Effect { subscription: row.try_get(0)?, version: row.try_get(1)? })).collect()
}
