//! Webhook providers: who signed a delivery, and which events it carries.
//!
//! Knows the providers' documents and nothing else: no I/O, no clock, no AWS, no SQL. It changes when a provider does.
//! Invariant: nothing of a body is read before its signature, or the operator's replay token, was proven.

mod candidate;
mod rejection;
mod request;
mod secret_ref;
mod sources;
mod verify;

pub use candidate::candidate;
pub use rejection::Rejection;
pub use request::SignedRequest;
pub use secret_ref::{InvalidSecretRef, SecretRef};
pub use sources::{Source, Sources, SourcesError, UnusableSecret};
pub use verify::{Answer, Verified, verify};
