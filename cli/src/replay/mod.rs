//! `hookledger replay`: what was missed is fetched where it still is, and goes the way of every event, through the claim. So a
//! replay may be repeated, broken off and begun anew, and whatever is there already is left as it is.

mod buckets;
mod dry_run;
mod engine;
mod feed;
mod journal;
mod ledger;
mod pace;
mod page;
mod receiver;
mod report;
mod run;
mod stripe;
mod tally;

use anyhow::Result;
use clap::Subcommand;

use crate::ended::Ended;
use crate::session::Session;

#[derive(Debug, Subcommand)]
pub(crate) enum ReplayCommand {
    /// Fetch Stripe's events and post those that are missing
    Stripe(stripe::Stripe),
    /// Process events again from the payloads that are stored here
    Ledger(ledger::Ledger),
}

pub(crate) async fn run(command: ReplayCommand, session: &mut Session) -> Result<Ended> {
    match command {
        ReplayCommand::Stripe(arguments) => stripe::run(arguments, session).await,
        ReplayCommand::Ledger(arguments) => ledger::run(arguments, session).await,
    }
}
