//! The fault sheet: the built functions as Lambda runs them, and one thing after another that goes wrong around them.
//!
//! What may be held against hookledger is the same in each test: what was answered with 200 takes effect, and once.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod queue;
mod receiver;
mod scene;
mod silence;
mod worker;

pub(crate) use scene::Scene;
