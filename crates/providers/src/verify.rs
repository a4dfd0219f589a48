//! From a delivery to the events it carries.

use hookledger_core::{Secret, VerifiedEvent};

use crate::rejection::Rejection;
use crate::request::SignedRequest;
use crate::sources::Source;

/// What a genuine delivery is.
#[derive(Debug)]
pub enum Verified {
    /// At least one event; some providers send several in one delivery.
    Events(Vec<VerifiedEvent>),
    /// The provider asks whether this endpoint is ours. Answer exactly this; there is nothing to claim.
    Handshake(Answer),
    /// Genuine, but nothing to route: answer 200. Several providers disable an endpoint that fails.
    Ignored { reason: &'static str },
}

/// An answer that a provider insists on. Send it with `X-Content-Type-Options: nosniff`: some of it is an echo.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    pub status: u16,
    pub content_type: &'static str,
    pub body: Vec<u8>,
}

/// `secrets` are all live ones of the source; `now_s` is Unix time in seconds. The replay token stands in for the
/// signature and its time, and for nothing else.
pub fn verify(
    _source: &Source,
    _request: &SignedRequest,
    _secrets: &[Secret],
    _replay_token: Option<&Secret>,
    _now_s: i64,
) -> Result<Verified, Rejection> {
    Err(Rejection::NoSignature)
}
