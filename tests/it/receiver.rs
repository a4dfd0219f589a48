//! The receiver at its boundary: the JSON that AWS hands over in, the response and the rows out.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod answers;
mod delivery;
mod forms;
mod outages;
mod shapes;
mod signatures;
mod storm;

pub(crate) use delivery::{post, receiver, stripe_signature, subscription_event};
