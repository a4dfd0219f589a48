//! A delivery's event after its signature was checked. Invariant: none exists without a [`Proof`].

use bytes::Bytes;
use serde::{Deserialize, Serialize};

use crate::key::{EventId, EventRef, ObjectKey, SourceName, Via};
use crate::proof::Proof;
use crate::version::{Lifecycle, Micros};

/// What the provider's envelope says about an event.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Identity {
    pub event_id: EventId,
    pub event_type: String,
    pub object: Option<ObjectKey>,
    /// When the event happened by the provider's clock, as far as it says; never when it was sent or received.
    pub version: Option<Micros>,
    pub lifecycle: Lifecycle,
}

/// The only thing that can be claimed. It takes a [`Proof`], and nothing outside of this crate makes one of those by itself:
///
/// ```compile_fail,E0451
/// let forged = hookledger_core::Proof { via: hookledger_core::Via::Webhook };
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VerifiedEvent {
    pub(crate) source: SourceName,
    pub(crate) identity: Identity,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Bytes,
    pub(crate) via: Via,
    pub(crate) received_at: Option<Micros>,
}

impl VerifiedEvent {
    /// `headers` are those worth keeping, names in lower case, without any that carries a secret.
    pub fn new(proof: &Proof, source: SourceName, identity: Identity, headers: Vec<(String, String)>, body: Bytes) -> Self {
        Self { source, identity, headers, body, via: proof.via(), received_at: None }
    }

    pub fn key(&self) -> EventRef {
        EventRef { source: self.source.clone(), event_id: self.identity.event_id.clone() }
    }

    pub fn source(&self) -> &SourceName {
        &self.source
    }

    pub fn identity(&self) -> &Identity {
        &self.identity
    }

    pub fn headers(&self) -> &[(String, String)] {
        &self.headers
    }

    pub fn body(&self) -> &Bytes {
        &self.body
    }

    pub fn via(&self) -> Via {
        self.via
    }

    /// When it was received, if that is not now: a spilled event keeps its first time.
    pub fn received_at(&self) -> Option<Micros> {
        self.received_at
    }
}
