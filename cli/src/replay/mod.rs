//! `hookledger replay`: what was missed is fetched where it still is, and goes the way of every event, through the claim. So a
//! replay may be repeated, broken off and begun anew, and whatever is there already is left as it is.

mod again;
mod api;
mod buckets;
mod dry_run;
mod engine;
mod feed;
mod file;
mod github;
mod journal;
mod ledger;
pub(crate) mod pace;
mod paddle;
mod page;
pub(crate) mod receiver;
mod report;
mod run;
mod shopify;
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
    /// Have GitHub deliver again what failed, or fetch it and post it
    Github(github::Github),
    /// Fetch Paddle's notifications and post those that are missing, or have Paddle send them again
    Paddle(paddle::Paddle),
    /// Post the present state of what changed at Shopify, which keeps no events
    Shopify(shopify::Shopify),
    /// Post events from a file
    File(file::File),
    /// Process events again from the payloads that are stored here
    Ledger(ledger::Ledger),
}

pub(crate) async fn run(command: ReplayCommand, session: &mut Session) -> Result<Ended> {
    match command {
        ReplayCommand::Stripe(arguments) => stripe::run(arguments, session).await,
        ReplayCommand::Github(arguments) => github::run(arguments, session).await,
        ReplayCommand::Paddle(arguments) => paddle::run(arguments, session).await,
        ReplayCommand::Shopify(arguments) => shopify::run(arguments, session).await,
        ReplayCommand::File(arguments) => file::run(arguments, session).await,
        ReplayCommand::Ledger(arguments) => ledger::run(arguments, session).await,
    }
}
