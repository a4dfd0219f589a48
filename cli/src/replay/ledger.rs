//! `hookledger replay ledger`.

use anyhow::Result;
use clap::Args;
use hookledger_core::Status;

use crate::ended::{BadInput, Ended};
use crate::events::retry::rearm;
use crate::filter::Filter;
use crate::session::Session;

/// Process events again from the payloads that are stored here
///
/// Failed events and dead letters as `events retry` does, and with --force settled ones too: their handlers run again. The
/// version guard still holds, so that an older event comes out as stale.
#[derive(Debug, Args)]
pub(crate) struct Ledger {
    #[command(flatten)]
    filter: Filter,
    /// Settled events too
    #[arg(long)]
    force: bool,
    /// Count them, and change nothing
    #[arg(long)]
    dry_run: bool,
}

pub(crate) async fn run(arguments: Ledger, session: &mut Session) -> Result<Ended> {
    let Ledger { filter, force, dry_run } = arguments;
    if filter.status.is_empty() {
        let why = "say which with --status: dead_letter, failed, or settled together with --force";
        return Err(BadInput(why.to_owned()).into());
    }
    let settled = filter.status.contains(&Status::Settled);
    if settled && !dry_run && force {
        session.terminal.warn("settled events will be processed a second time, with every effect of their handlers outside");
    }
    let mut reach = session.reach().await?;
    rearm(&mut reach, session, filter.into(), settled && (force || dry_run), dry_run).await
}
