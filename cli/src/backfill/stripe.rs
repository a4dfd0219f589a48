//! `hookledger backfill-versions stripe`: Stripe's objects do not say when they changed, its events do.
//!
//! Its list goes back as far as Stripe can deliver anything again, so an object that is not in it needs no version: no event of
//! it will come.

use anyhow::Result;
use clap::Args;
use hookledger_core::Micros;
use hookledger_runtime::now;

use super::learn::{Learning, learn};
use crate::ended::Ended;
use crate::replay::run::tell_horizon;
use crate::replay::stripe::{HORIZON_DAYS, Lists};
use crate::session::Session;
use crate::when;

/// From the newest event of each object at Stripe
///
/// Stripe's objects have no time of change, so the version is the newest event's, as it is for the receiver. STRIPE_API_KEY holds
/// a key that may read events.
#[derive(Debug, Args)]
pub(crate) struct Stripe {
    #[command(flatten)]
    lists: Lists,
    /// Events since, at most of the last 30 days, after which Stripe does not deliver any again
    #[arg(long, value_name = "TIME", value_parser = when::parse, default_value = "30d")]
    since: Micros,
    #[command(flatten)]
    learning: Learning,
}

pub(super) async fn run(arguments: Stripe, session: &mut Session) -> Result<Ended> {
    let Stripe { lists, since, learning } = arguments;
    let api = lists.api(session)?;
    tell_horizon(session, "Stripe", HORIZON_DAYS, since + 60_000_000);
    let feeds = lists.feeds(&api, since, now(), false).await?;
    learn("stripe", &learning, &feeds, "Stripe's events", session).await
}
