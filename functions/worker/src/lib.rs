//! The worker: takes batches of event ids from SQS, leases the events, applies them and settles them.
//!
//! Invariant: an event's business rows, the version guard and its ledger row commit together or not at all. Your business
//! logic lives in [`handlers`].

mod apply;
mod attempt;
mod batch;
mod confirm;
pub mod handlers;
mod process;
mod report;
mod route;
mod start;

pub use batch::Worker;
pub use route::{Apply, Route};

/// Seconds that Lambda gives an invocation; the template says the same. Shorter than a lease's term.
pub const FUNCTION_TIMEOUT_S: u64 = 30;
