//! `hookledger backfill-versions table`.

use anyhow::Result;
use clap::{Args, ValueEnum};
use hookledger_commands as commands;
use hookledger_core::SourceName;
use hookledger_ledger::{BackfillBatch, BackfillFrom, VersionUnit};

use super::{add, confirm, tell};
use crate::ended::Ended;
use crate::filter::source_name;
use crate::reach::Reach;
use crate::session::Session;

/// From a table of yours that says when its objects changed
#[derive(Debug, Args)]
pub(crate) struct Table {
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

pub(super) async fn run(arguments: Table, session: &mut Session) -> Result<Ended> {
    let Table { source, kind, account, table, id_column, version_column, unit, dry_run } = arguments;
    let unit = match unit {
        Unit::Timestamp => VersionUnit::Timestamp,
        Unit::Seconds => VersionUnit::Seconds,
        Unit::Milliseconds => VersionUnit::Milliseconds,
        Unit::Microseconds => VersionUnit::Microseconds,
    };
    let from = BackfillFrom { source, account, kind, table, id_column, version_column, unit };
    let mut reach = session.reach().await?;
    let found = in_batches(&mut reach, session, &from, false).await?;
    if dry_run || found.unguarded + found.behind == 0 {
        return tell(&found, false, session);
    }
    if !confirm(&found, session)? {
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
        add(&mut all, reach.ask(backfill).await?);
        progress.show(&format!("{} objects", all.objects));
        if all.next.is_none() {
            return Ok(all);
        }
    }
}
