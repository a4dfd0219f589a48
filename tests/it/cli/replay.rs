//! Replays from a provider's API, which is the only thing that is made up here, to the built receiver and a real database.

mod browser;
mod canned;
mod fake_stripe;
pub(crate) mod front;
mod interrupted;
mod others;
mod outage;
mod stripe;
