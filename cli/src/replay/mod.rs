//! `hookledger replay`: what was missed is fetched where it still is, and goes the way of every event, through the claim. So a
//! replay may be repeated, broken off and begun anew, and whatever is there already is left as it is.

mod again;
pub(crate) mod api;
mod buckets;
mod dry_run;
mod engine;
pub(crate) mod feed;
mod file;
mod github;
mod journal;
mod ledger;
pub(crate) mod pace;
pub(crate) mod paddle;
mod page;
pub(crate) mod reading;
pub(crate) mod receiver;
pub(crate) mod report;
pub(crate) mod run;
pub(crate) mod shopify;
pub(crate) mod stripe;
mod tally;

use anyhow::Result;
use clap::Subcommand;

use crate::ended::Ended;
use crate::session::Session;

#[derive(Debug, Subcommand)]
pub(crate) enum ReplayCommand {
    Stripe(stripe::Stripe),
    Github(github::Github),
    Paddle(paddle::Paddle),
    Shopify(shopify::Shopify),
    File(file::File),
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
