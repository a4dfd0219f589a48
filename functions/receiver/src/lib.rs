//! The receiver: verifies a delivery, claims its events in the ledger and answers; meanwhile it enqueues their ids.
//!
//! Invariant: 200 is answered only when the event is committed in the ledger or accepted by the spill queue.

mod answer;
mod gateway;
mod receive;
mod report;
mod request;
mod start;
mod unfinished;

pub use gateway::{Form, GatewayAnswer, GatewayEvent, NotARequest};
pub use receive::{ANSWER_WITHIN, Receiver};
pub use unfinished::Unfinished;
