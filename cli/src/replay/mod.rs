//! `hookledger replay`: what was missed is fetched where it still is, and goes the way of every event, through the claim. So a
//! replay may be repeated, broken off and begun anew, and whatever is there already is left as it is.

mod ledger;

use anyhow::Result;
use clap::Subcommand;

use crate::ended::Ended;
use crate::session::Session;

#[derive(Debug, Subcommand)]
pub(crate) enum ReplayCommand {
    /// Process events again from the payloads that are stored here
    Ledger(ledger::Ledger),
}

pub(crate) async fn run(command: ReplayCommand, session: &mut Session) -> Result<Ended> {
    match command {
        ReplayCommand::Ledger(arguments) => ledger::run(arguments, session).await,
    }
}
