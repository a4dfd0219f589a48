//! Replays from a provider's API, which is the only thing that is made up here, to the built receiver and a real database.

mod backfill;
mod browser;
mod canned;
pub(crate) mod fake_stripe;
pub(crate) mod front;
mod github_hooks;
mod interrupted;
mod others;
mod outage;
mod stripe;
