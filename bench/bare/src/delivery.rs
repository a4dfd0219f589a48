//! One of Stripe's deliveries, out of the event that API Gateway makes of it. Invariant: a [`Delivery`] has a signature that fits.
//!
//! Nothing is copied but the body, whose escapes have to be undone. An id is taken as it stands in the JSON, so that one with an
//! escape in it is an error, and every other can be written into JSON as it is.

use std::borrow::Cow;

use anyhow::Context;
use hmac::{Hmac, KeyInit, Mac};
use serde::Deserialize;
use sha2::Sha256;

pub(crate) struct Verifier(Hmac<Sha256>);

#[derive(Deserialize)]
pub(crate) struct Delivery<'a> {
    #[serde(borrow)]
    headers: Headers<'a>,
    #[serde(borrow)]
    pub(crate) body: Cow<'a, str>,
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
struct Headers<'a> {
    content_type: &'a str,
    stripe_signature: &'a str,
}

#[derive(Deserialize)]
pub(crate) struct Event<'a> {
    pub(crate) id: &'a str,
    #[serde(rename = "type")]
    pub(crate) event_type: &'a str,
    /// In seconds.
    pub(crate) created: i64,
    #[serde(borrow)]
    data: Data<'a>,
}

#[derive(Deserialize)]
struct Data<'a> {
    #[serde(borrow)]
    object: Object<'a>,
}

#[derive(Deserialize)]
pub(crate) struct Object<'a> {
    pub(crate) id: &'a str,
    #[serde(rename = "object")]
    pub(crate) kind: &'a str,
}

impl Verifier {
    /// The key is hashed once.
    pub(crate) fn new(secret: &str) -> anyhow::Result<Self> {
        Ok(Self(Hmac::new_from_slice(secret.as_bytes())?))
    }

    pub(crate) fn verify<'a>(&self, invocation: &'a [u8]) -> anyhow::Result<Delivery<'a>> {
        let delivery: Delivery = serde_json::from_slice(invocation).context("not a delivery by API Gateway")?;
        let signed = delivery.headers.stripe_signature.strip_prefix("t=").and_then(|rest| rest.split_once(",v1="));
        let (time, signature) = signed.context("a signature has another form")?;
        let mut expected = [0; 32];
        hex::decode_to_slice(signature, &mut expected)?;
        let mut mac = self.0.clone();
        for part in [time, ".", &delivery.body] {
            mac.update(part.as_bytes());
        }
        mac.verify_slice(&expected)?;
        Ok(delivery)
    }
}

impl Delivery<'_> {
    pub(crate) fn event(&self) -> anyhow::Result<Event<'_>> {
        serde_json::from_str(&self.body).context("not an event of Stripe's about an object")
    }

    /// What of the headers is kept with the event.
    pub(crate) fn kept_headers(&self) -> String {
        format!(r#"{{"content-type":"{}"}}"#, self.headers.content_type)
    }
}

impl Event<'_> {
    pub(crate) fn object(&self) -> &Object<'_> {
        &self.data.object
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BODY: &str =
        r#"{"id":"evt_1","type":"a.updated","created":2,"data":{"object":{"id":"sub_1","object":"subscription"}}}"#;

    fn invocation(secret: &str) -> String {
        let mut mac: Hmac<Sha256> = Hmac::new_from_slice(secret.as_bytes()).unwrap();
        mac.update(format!("1.{BODY}").as_bytes());
        let signature = format!("t=1,v1={}", hex::encode(mac.finalize().into_bytes()));
        let headers = serde_json::json!({ "content-type": "application/json", "stripe-signature": signature });
        serde_json::json!({ "headers": headers, "body": BODY }).to_string()
    }

    #[test]
    fn a_delivery_is_read_where_its_signature_fits_and_nowhere_else() {
        let verifier = Verifier::new("whsec_1").unwrap();
        assert!(verifier.verify(invocation("whsec_2").as_bytes()).is_err());
        let invocation = invocation("whsec_1");
        let delivery = verifier.verify(invocation.as_bytes()).unwrap();
        let event = delivery.event().unwrap();
        assert_eq!((event.id, event.object().kind, event.object().id), ("evt_1", "subscription", "sub_1"));
        assert_eq!(delivery.kept_headers(), r#"{"content-type":"application/json"}"#);
    }
}
