//! `hookledger prune`.

use anyhow::Result;
use clap::Args;
use hookledger_commands as commands;
use hookledger_commands::PrunedBatch;

use crate::ended::Ended;
use crate::session::Session;

/// Drop what is past retention, as the sweeper does
///
/// The sweeper does the same once a day, with PAYLOAD_RETENTION_DAYS and LEDGER_RETENTION_DAYS. Payloads go by whole months;
/// a month with an unsettled event or a dead letter in it stays.
#[derive(Debug, Args)]
pub(crate) struct Prune {
    /// Drop payloads of months that ended so many days ago
    #[arg(long, default_value_t = 90, value_name = "DAYS")]
    payload_days: u32,
    /// Delete settled rows older than this, at least 90; without it, rows stay for ever
    #[arg(long, value_name = "DAYS")]
    ledger_days: Option<u32>,
}

pub(crate) async fn run(arguments: &Prune, session: &mut Session) -> Result<Ended> {
    let (payload_days, ledger_days) = (arguments.payload_days, arguments.ledger_days);
    // Before anybody is asked, so that an unsafe period is refused first.
    hookledger_ledger::RetentionPolicy::new(payload_days, ledger_days)
        .map_err(|unsafe_| crate::ended::BadInput(unsafe_.to_string()))?;
    let mut reach = session.reach().await?;
    let rows = ledger_days.map_or_else(String::new, |days| format!(", and ledger rows after {days}"));
    if !session.terminal.confirm(&format!("payloads will be dropped after {payload_days} days{rows}"))? {
        return Ok(Ended::Declined);
    }
    let mut all = PrunedBatch::default();
    let mut progress = session.terminal.progress();
    loop {
        let batch = reach.ask(commands::Prune { payload_days, ledger_days, by: session.who() }).await?;
        all.rows += batch.rows;
        all.partitions_dropped.extend(batch.partitions_dropped);
        all.partitions_held = batch.partitions_held;
        progress.show(&format!("{} rows deleted", all.rows));
        if !batch.more {
            break;
        }
    }
    progress.clear();
    if session.terminal.json {
        session.terminal.json(&all)?;
        return Ok(Ended::Done);
    }
    let terminal = &session.terminal;
    terminal.line(&format!("{} partitions of payloads dropped, {} rows deleted", all.partitions_dropped.len(), all.rows))?;
    for part in &all.partitions_held {
        terminal.note(&format!("{part} stays: an event in it is not settled, or a dead letter"));
    }
    Ok(Ended::Done)
}
