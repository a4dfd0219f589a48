//! `hookledger events purge`.

use anyhow::Result;
use clap::Args;
use hookledger_commands as commands;
use hookledger_core::{Micros, SourceName};
use hookledger_ledger::{Pointer, PurgeBatch, PurgeFilter};
use serde_json::json;

use crate::ended::Ended;
use crate::events::retry::plural;
use crate::filter::source_name;
use crate::reach::Reach;
use crate::session::Session;
use crate::when;

/// Erase a customer's payloads
///
/// Deletes the payloads in which a value stands at a place, such as a customer's id. The events' rows stay, so that none is
/// processed twice; each gets an audit row. Events that are not settled keep theirs: retry or let them end first.
#[derive(Debug, Args)]
pub(crate) struct Purge {
    #[arg(long, value_parser = source_name)]
    source: SourceName,
    /// Where the value stands in the body: /data/object/customer
    #[arg(long, value_name = "JSON POINTER")]
    pointer: Pointer,
    /// The value
    #[arg(long, value_name = "VALUE")]
    equals: String,
    /// Received since: 2026-07-01T14:10Z, 2026-07-01, or 24h for a day ago
    #[arg(long, value_name = "TIME", value_parser = when::parse)]
    since: Option<Micros>,
    /// Received before
    #[arg(long, value_name = "TIME", value_parser = when::parse)]
    until: Option<Micros>,
    /// Count them, and delete nothing
    #[arg(long)]
    dry_run: bool,
}

pub(crate) async fn run(arguments: Purge, session: &mut Session) -> Result<Ended> {
    let mut reach = session.reach().await?;
    let Purge { source, pointer, equals, since, until, dry_run } = arguments;
    let filter = PurgeFilter { source, pointer, equals, since, until };
    let found = in_batches(&mut reach, session, &filter, false).await?;
    let events = found.purged.len() as u64;
    if dry_run {
        return tell(&found, "would_purge", session);
    }
    if events == 0 {
        return tell(&found, "purged", session);
    }
    let what = format!("the payloads of {events} {} will be deleted for ever", plural(events));
    if !session.terminal.confirm(&what)? {
        return Ok(Ended::Declined);
    }
    let done = in_batches(&mut reach, session, &filter, true).await?;
    tell(&done, "purged", session)
}

async fn in_batches(reach: &mut Reach, session: &Session, filter: &PurgeFilter, deletes: bool) -> Result<PurgeBatch> {
    let mut all = PurgeBatch::default();
    let mut progress = session.terminal.progress();
    loop {
        let purge = commands::Purge { filter: filter.clone(), deletes, by: session.who(), after: all.next.take() };
        let batch = reach.ask(purge).await?;
        all.scanned += batch.scanned;
        all.purged.extend(batch.purged);
        all.held.extend(batch.held);
        all.next = batch.next;
        progress.show(&format!("{} payloads looked at, {} of them meant", all.scanned, all.purged.len()));
        if all.next.is_none() {
            return Ok(all);
        }
    }
}

fn tell(batch: &PurgeBatch, word: &str, session: &Session) -> Result<Ended> {
    let terminal = &session.terminal;
    let ended = if !batch.held.is_empty() { Ended::InPart } else { Ended::Done };
    if terminal.json {
        terminal.json(&json!({ "scanned": batch.scanned, word: batch.purged, "held": batch.held }))?;
        return Ok(ended);
    }
    let payloads = batch.purged.len() as u64;
    let verb = if word == "purged" { "deleted" } else { "would be deleted" };
    terminal.line(&format!("{} payloads looked at, those of {payloads} {} {verb}", batch.scanned, plural(payloads)))?;
    if !batch.held.is_empty() {
        let held = batch.held.len();
        terminal.warn(&format!("{held} kept: the events are not settled, and need their payloads until they are"));
    }
    Ok(ended)
}
