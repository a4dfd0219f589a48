//! `hookledger backfill-versions`.

use anyhow::Result;
use clap::{Args, ValueEnum};
use hookledger_commands as commands;
use hookledger_core::SourceName;
use hookledger_ledger::{BackfillBatch, BackfillFrom, VersionUnit};

use crate::ended::Ended;
use crate::filter::source_name;
use crate::reach::Reach;
use crate::session::Session;
use crate::terminal::safe;

/// Ids of refused rows that are shown; --json has all.
const SHOWN_MAX: usize = 10;

/// Let the version guard learn from a table of yours
///
/// Before the guard knows an object, its first event counts as the newest, however old it is. So let it learn from the table that
/// your handlers write, before events come in. A version is only ever raised: run it as often as you like. A row without a
/// version is refused: one of 0 would let any event through.
#[derive(Debug, Args)]
pub(crate) struct Backfill {
    #[arg(long, value_parser = source_name)]
    source: SourceName,
    /// The provider's word for the sort of object: subscription
    #[arg(long)]
    kind: String,
    /// The account or shop they belong to, where it is not your own
    #[arg(long, default_value = "", hide_default_value = true)]
    account: String,
    /// The table, with its schema if need be
    #[arg(long)]
    table: String,
    /// Its column with the provider's id of the object
    #[arg(long, value_name = "COLUMN")]
    id_column: String,
    /// Its column that says when the object changed last, by the provider's clock
    #[arg(long, value_name = "COLUMN")]
    version_column: String,
    /// What that column holds
    #[arg(long, value_enum, default_value = "timestamp")]
    unit: Unit,
    /// Say what the guard lacks, and write nothing
    #[arg(long)]
    dry_run: bool,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Unit {
    Timestamp,
    Seconds,
    Milliseconds,
    Microseconds,
}

pub(crate) async fn run(arguments: Backfill, session: &mut Session) -> Result<Ended> {
    let Backfill { source, kind, account, table, id_column, version_column, unit, dry_run } = arguments;
    let unit = match unit {
        Unit::Timestamp => VersionUnit::Timestamp,
        Unit::Seconds => VersionUnit::Seconds,
        Unit::Milliseconds => VersionUnit::Milliseconds,
        Unit::Microseconds => VersionUnit::Microseconds,
    };
    let from = BackfillFrom { source, account, kind, table, id_column, version_column, unit };
    let mut reach = session.reach().await?;
    let found = in_batches(&mut reach, session, &from, false).await?;
    let to_write = found.unguarded + found.behind;
    if dry_run || to_write == 0 {
        return tell(&found, false, session);
    }
    if !session.terminal.confirm(&format!("the guard will learn the versions of {to_write} objects"))? {
        return Ok(Ended::Declined);
    }
    let done = in_batches(&mut reach, session, &from, true).await?;
    tell(&done, true, session)
}

async fn in_batches(reach: &mut Reach, session: &Session, from: &BackfillFrom, writes: bool) -> Result<BackfillBatch> {
    let mut all = BackfillBatch::default();
    let mut progress = session.terminal.progress();
    loop {
        let backfill = commands::Backfill { from: from.clone(), after: all.next.take(), writes, by: session.who() };
        let batch = reach.ask(backfill).await?;
        all.rows += batch.rows;
        all.unguarded += batch.unguarded;
        all.behind += batch.behind;
        all.guarded += batch.guarded;
        all.refused.extend(batch.refused);
        all.next = batch.next;
        progress.show(&format!("{} rows", all.rows));
        if all.next.is_none() {
            return Ok(all);
        }
    }
}

fn tell(batch: &BackfillBatch, written: bool, session: &Session) -> Result<Ended> {
    let terminal = &session.terminal;
    let ended = if batch.refused.is_empty() { Ended::Done } else { Ended::InPart };
    if terminal.json {
        terminal.json(batch)?;
        return Ok(ended);
    }
    let had = if written { "had been" } else { "are" };
    terminal.line(&format!("{} rows read", batch.rows))?;
    terminal.line(&format!(
        "  {:>7}  {had} unknown to the guard: any event would have been taken for the newest",
        batch.unguarded
    ))?;
    terminal.line(&format!("  {:>7}  {had} behind: an event from between would have been taken for newer", batch.behind))?;
    terminal.line(&format!("  {:>7}  were known in this version or a newer one", batch.guarded))?;
    if !batch.refused.is_empty() {
        let ids: Vec<String> = batch.refused.iter().take(SHOWN_MAX).map(|id| safe(id)).collect();
        let (count, ids) = (batch.refused.len(), ids.join(", "));
        terminal.warn(&format!(
            "{count} refused, because they say no version: {ids}{}",
            if count > SHOWN_MAX { ", …" } else { "" }
        ));
    }
    Ok(ended)
}
