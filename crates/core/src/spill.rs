//! A verified event as bytes, for the spill queue while the database cannot be reached.
//!
//! Reading one back is a second door to [`VerifiedEvent`] beside [`Proof`](crate::Proof): only the receiver may send to
//! the spill queue (its IAM role), and it sends what it has verified.

use bytes::Bytes;
use serde::{Deserialize, Serialize};

use crate::key::{SourceName, Via};
use crate::verified::{Identity, VerifiedEvent};
use crate::version::Micros;

#[derive(Debug, thiserror::Error)]
#[error("not a spilled event")]
pub struct NotASpilledEvent(#[from] serde_json::Error);

#[derive(Serialize, Deserialize)]
struct Head {
    source: SourceName,
    identity: Identity,
    headers: Vec<(String, String)>,
    received_at: Micros,
}

/// `received_at` is when the receiver took the event in.
pub fn to_spill(event: &VerifiedEvent, received_at: Micros) -> Result<Vec<u8>, NotASpilledEvent> {
    // The body follows the JSON as it is: as a JSON array of numbers it would be three times as long.
    let head =
        Head { source: event.source.clone(), identity: event.identity.clone(), headers: event.headers.clone(), received_at };
    let mut bytes = serde_json::to_vec(&head)?;
    bytes.push(b'\n');
    bytes.extend_from_slice(&event.body);
    Ok(bytes)
}

pub fn from_spill(bytes: &[u8]) -> Result<VerifiedEvent, NotASpilledEvent> {
    let end = bytes.iter().position(|b| *b == b'\n').unwrap_or(bytes.len());
    let (head, body) = bytes.split_at(end);
    let head: Head = serde_json::from_slice(head)?;
    Ok(VerifiedEvent {
        source: head.source,
        identity: head.identity,
        headers: head.headers,
        body: Bytes::copy_from_slice(body.get(1..).unwrap_or_default()),
        via: Via::Spill,
        received_at: Some(head.received_at),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{EventId, Lifecycle, ObjectKey, Proof, Secret};

    #[test]
    fn an_event_survives_the_spill_byte_for_byte() {
        let token = "t".repeat(32);
        let proof = Proof::replay_token(&Secret::new(token.clone()).unwrap(), token.as_bytes()).unwrap();
        let identity = Identity {
            event_id: EventId::new("evt_1").unwrap(),
            event_type: "a.b".into(),
            object: Some(ObjectKey { account: String::new(), kind: "k".into(), id: "o".into() }),
            version: Some(7),
            lifecycle: Lifecycle::Created,
        };
        let body = Bytes::from_static(b"\n\xff\0{}\n");
        let headers = vec![("content-type".to_owned(), "application/json".to_owned())];
        let event = VerifiedEvent::new(&proof, SourceName::new("stripe").unwrap(), identity, headers, body);
        let back = from_spill(&to_spill(&event, 99).unwrap()).unwrap();
        assert_eq!(back, VerifiedEvent { via: Via::Spill, received_at: Some(99), ..event });
    }

    #[test]
    fn other_bytes_are_refused() {
        for bytes in [&b""[..], b"{}", b"\n{}", b"{\"source\":\"NO\"}\n"] {
            assert!(from_spill(bytes).is_err());
        }
    }
}
