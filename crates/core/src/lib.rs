//! The rules of hookledger: what an event is, which states its ledger row may be in, when it is tried again, and which
//! of several versions of one object is the newest.
//!
//! Nothing here does I/O, reads a clock, or knows AWS or SQL. It would change if the promises to the user changed.

mod event;
mod handler;
mod key;
mod proof;
mod public_key;
mod retry;
mod secret;
mod spill;
mod state;
mod verified;
mod version;

pub use event::Event;
pub use handler::{HandlerError, Ordering, Reason};
pub use key::{EVENT_ID_BYTES_MAX, EventId, EventRef, InvalidName, ObjectKey, SourceName, Via, has_control};
pub use proof::{HmacAlgorithm, Proof, PublicKeyAlgorithm, REPLAY_TOKEN_BYTES_MIN, hmac};
pub use retry::{RetryPolicy, Settlement};
pub use secret::{EmptySecret, Secret};
pub use spill::{NotASpilledEvent, from_spill, to_spill};
pub use state::{Claim, ClaimMode, Outcome, Status, UnknownWord};
pub use verified::{Identity, VerifiedEvent};
pub use version::{Candidate, FUTURE_TOLERANCE_S, Lifecycle, Micros, Newest, newest};
