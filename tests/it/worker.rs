//! The worker's rules, with handlers that misbehave, against a real Postgres.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod batch;
mod contention;
mod exchanges;
mod faults;
mod handlers;
mod order;
mod visibility;

pub(crate) use batch::{batch_of, message};
