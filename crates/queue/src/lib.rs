//! SQS: keys of events out, messages in, partial failures. It would change if the queue were not SQS.
//!
//! Invariants: this is the one way onto the queues; a failed send is a value, never an error of the whole; what travels
//! on the event queue is the key of a ledger row, and what travels on the spill queue is a whole verified event.

mod client;
mod message;
mod queue;
mod send;
mod sign;
mod spill;
mod visibility;

pub use client::Client;
pub use message::{Message, read_message};
pub use queue::{DepthError, Enqueued, Queue, QueueSettings};
pub use spill::{SPILL_BYTES_MAX, SpillError, SpillQueue};
pub use visibility::{VISIBILITY_S_MAX, VisibilityError};
