//! An event as a handler sees it: what was verified and claimed, read back from the ledger.

use bytes::Bytes;
use serde::de::DeserializeOwned;

use crate::handler::HandlerError;
use crate::key::{EventId, EventRef, ObjectKey, SourceName, Via};
use crate::version::{FUTURE_TOLERANCE_S, Lifecycle, Micros};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Event {
    pub source: SourceName,
    pub event_id: EventId,
    /// The provider's own word, such as `customer.subscription.updated`.
    pub event_type: String,
    pub object: Option<ObjectKey>,
    pub version: Option<Micros>,
    pub lifecycle: Lifecycle,
    pub via: Via,
    pub received_at: Micros,
    /// The request headers that were kept, names in lower case.
    pub headers: Vec<(String, String)>,
    /// The bytes that were signed, or the part of them that is this event where a delivery carries several or wraps it in a form.
    pub body: Bytes,
}

impl Event {
    pub fn key(&self) -> EventRef {
        EventRef { source: self.source.clone(), event_id: self.event_id.clone() }
    }

    /// The body as `T`. A body that does not fit will not fit next time either, so the error is permanent. It says where, but
    /// not what stands there: the text may end in a log.
    pub fn json<T: DeserializeOwned>(&self) -> Result<T, HandlerError> {
        // As text where it is one, which is then looked at once and not string by string.
        let read = match std::str::from_utf8(&self.body) {
            Ok(text) => serde_json::from_str(text),
            Err(_) => serde_json::from_slice(&self.body),
        };
        read.map_err(|error| {
            let (kind, line, column) = (error.classify(), error.line(), error.column());
            HandlerError::permanent(format!(
                "the event's body does not fit the handler ({kind:?}, line {line} column {column})"
            ))
        })
    }

    /// The version to compare by. One further in the future than any clock error explains is capped, because it would
    /// freeze the object until then; a deletion without one counts from its arrival.
    pub fn guard_version(&self) -> Option<Micros> {
        let latest_credible = self.received_at.saturating_add(FUTURE_TOLERANCE_S * 1_000_000);
        match (self.version, self.lifecycle) {
            (Some(version), _) => Some(version.min(latest_credible)),
            (None, Lifecycle::Deleted) => Some(self.received_at),
            (None, Lifecycle::Created | Lifecycle::Updated) => None,
        }
    }
}
