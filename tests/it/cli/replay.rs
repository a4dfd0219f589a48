//! Replays from a provider's API, which is the only thing that is made up here, to the built receiver and a real database.

mod fake_stripe;
mod front;
mod interrupted;
mod outage;
mod stripe;
