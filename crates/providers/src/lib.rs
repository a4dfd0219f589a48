//! Webhook providers: who signed a delivery, and which events it carries.
//!
//! Knows the providers' documents and nothing else: no I/O, no clock, no AWS, no SQL. It changes when a provider does.
//! Invariant: nothing of a body is read before its signature, or the operator's replay token, was proven.

mod at;
mod builtin;
mod candidate;
mod condition;
mod definition;
mod encoding;
mod envelope;
mod explain;
mod facts;
mod fetched_key;
mod handshake;
mod id_rule;
mod instant;
mod jwt;
mod kept;
mod list;
mod members;
mod one_or_many;
mod opened;
mod place;
mod rejection;
mod request;
mod secret_kind;
mod secret_ref;
mod settings;
mod sign;
mod signature;
mod sns;
mod sources;
mod splice;
mod template;
mod timestamp;
mod url;
mod verify;
mod xml;

pub use builtin::{About, about, table};
pub use candidate::candidate;
pub use explain::explain;
pub use fetched_key::{KEY_BYTES_MAX, KeyFetch, UnusableKey, key_fetch};
pub use rejection::Rejection;
pub use request::SignedRequest;
pub use secret_kind::UnusableSecret;
pub use secret_ref::{InvalidSecretRef, SecretRef};
pub use sign::{Unsignable, sign};
pub use sns::sns_confirmation_url;
pub use sources::{Source, Sources, SourcesError};
pub use verify::{Answer, Verified, verify};
