//! Events that were never sent: verified by the operator's token, so that the ledger takes them.

use anyhow::Context;
use bytes::Bytes;
use hookledger_core::{EventId, EventRef, Identity, Lifecycle, Micros, ObjectKey, Proof, Secret, SourceName, VerifiedEvent};

pub(crate) const SOURCE: &str = "stripe";
const BODY_BYTES: usize = 2_000;
const TOKEN: &str = "a replay token of the benchmark's own";

pub(crate) fn key(event_id: &str) -> anyhow::Result<EventRef> {
    Ok(EventRef { source: SourceName::new(SOURCE)?, event_id: EventId::new(event_id)? })
}

/// Two kilobytes about the object of that name.
pub(crate) fn event(event_id: &str, object_id: &str, version: Micros) -> anyhow::Result<VerifiedEvent> {
    event_with_body(event_id, object_id, version, some_body())
}

pub(crate) fn event_with_body(
    event_id: &str,
    object_id: &str,
    version: Micros,
    body: Bytes,
) -> anyhow::Result<VerifiedEvent> {
    let proof = Proof::replay_token(&Secret::new(TOKEN)?, TOKEN.as_bytes()).context("the token is refused")?;
    let identity = Identity {
        event_id: EventId::new(event_id)?,
        event_type: "customer.subscription.updated".into(),
        object: Some(ObjectKey { account: String::new(), kind: "subscription".into(), id: object_id.into() }),
        version: Some(version),
        lifecycle: Lifecycle::Updated,
    };
    let headers = vec![("content-type".to_owned(), "application/json; charset=utf-8".to_owned())];
    Ok(VerifiedEvent::new(&proof, SourceName::new(SOURCE)?, identity, headers, body))
}

/// Of letters that do not compress to nothing, as a body of a provider's does not.
fn some_body() -> Bytes {
    let filling: String = (0..BODY_BYTES - 10).map(|_| fastrand::alphanumeric()).collect();
    format!("{{\"a\":\"{filling}\"}}").into()
}
