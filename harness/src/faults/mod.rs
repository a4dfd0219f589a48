//! What can go wrong between the functions and what they call, on command: a proxy before Postgres and one before the queue.
//!
//! Invariants: nothing goes wrong unless it is asked for, and what was asked for ends when it is told to; loopback only.

mod postgres;
mod sqs;

pub use postgres::{PostgresFault, PostgresProxy};
pub use sqs::{SqsFault, SqsProxy};
