//! Signed deliveries, ready to be handed to a function: making them is not part of what is measured.

use bytes::Bytes;
use hookledger_harness::deployment::STRIPE_SECRET;
use hookledger_harness::lambda::api_gateway::{HttpRequest, payload};
use hookledger_harness::{sign, since_epoch};

/// A subscription's update, two kilobytes, with the fields that Stripe documents (docs.stripe.com/api/subscriptions/object).
const EVENT: &str = include_str!("stripe_event.json");

/// Stripe's event of that id, about a subscription of its own.
pub(crate) fn body(event_id: &str) -> String {
    // Compact is how Stripe's SDKs show it and pretty is how Stripe sends it; every receiver here gets the same.
    EVENT.replace("EVENT_ID", event_id).replace("SUBSCRIPTION_ID", &event_id.replacen("evt", "sub", 1))
}

/// What API Gateway makes of its delivery, signed now.
pub(crate) fn delivery(event_id: &str) -> Bytes {
    let body = body(event_id);
    let signature = sign::stripe(STRIPE_SECRET, since_epoch().as_secs() as i64, body.as_bytes());
    let headers = [
        ("Content-Type", "application/json; charset=utf-8"),
        ("Stripe-Signature", signature.as_str()),
        ("User-Agent", "Stripe/1.0 (+https://stripe.com/docs/webhooks)"),
        ("Accept", "*/*; q=0.5, application/xml"),
    ];
    payload(&HttpRequest::post("/webhooks/stripe", &headers, body)).into()
}

pub(crate) fn new_id() -> String {
    format!("evt_{:024x}", fastrand::u128(..) >> 32)
}
