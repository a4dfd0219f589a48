//! `hookledger object`.

use anyhow::Result;
use clap::{Args, Subcommand};
use hookledger_commands as commands;
use hookledger_core::{Micros, ObjectKey, Outcome, SourceName};
use hookledger_runtime::now;

use crate::ended::Ended;
use crate::events::colour;
use crate::filter::{LOOK_BACK_DAYS, source_name};
use crate::session::Session;
use crate::table::{Cell, Table};
use crate::terminal::Paint;
use crate::when;

#[derive(Debug, Subcommand)]
pub(crate) enum ObjectCommand {
    History(History),
}

/// Show every event of an object in the order of its versions, and what decided about each
#[derive(Debug, Args)]
pub(crate) struct History {
    #[arg(value_parser = source_name)]
    source: SourceName,
    /// The provider's word for the sort of object: subscription
    kind: String,
    /// The provider's id of it
    id: String,
    /// The account or shop it belongs to, where it is not your own
    #[arg(long, default_value = "", hide_default_value = true)]
    account: String,
    /// Received since, instead of in the last 30 days: 2026-07-01T14:10Z, 2026-07-01, or 24h for a day ago
    #[arg(long, value_name = "TIME", value_parser = when::parse)]
    since: Option<Micros>,
}

pub(crate) async fn run(command: ObjectCommand, session: &mut Session) -> Result<Ended> {
    let ObjectCommand::History(History { source, kind, id, account, since }) = command;
    let mut reach = session.reach().await?;
    let object = ObjectKey { account, kind, id };
    let from = since.unwrap_or_else(|| now() - LOOK_BACK_DAYS * 86_400_000_000);
    let history = reach.ask(commands::History { source, object, since: Some(from) }).await?;
    let terminal = &session.terminal;
    if terminal.json {
        terminal.json(&history)?;
    } else if history.events.is_empty() {
        terminal.note("no events of this object");
    } else {
        let mut table = Table::new(&["VERSION", "EVENT", "TYPE", "RECEIVED", "STATUS", "OUTCOME", "", "WHY"]);
        for event in &history.events {
            let row = &event.row;
            table.row([
                Cell::new(event.version.map(when::show).unwrap_or_default()),
                Cell::new(row.event_id.as_str()),
                Cell::new(&row.event_type),
                Cell::new(when::short(&row.received_at)),
                Cell::new(row.status.as_str()).painted(colour(row.status)),
                Cell::new(row.outcome.map_or("", Outcome::as_str)),
                Cell::new(if event.in_force { "◀" } else { "" }).painted(Paint::bold),
                Cell::new(&event.why),
            ]);
        }
        table.lines(terminal.paint).iter().try_for_each(|line| terminal.line(line))?;
    }
    if since.is_none() {
        terminal.note(&format!("of the last {LOOK_BACK_DAYS} days; --since looks further back"));
    }
    Ok(if history.events.is_empty() { Ended::NotFound } else { Ended::Done })
}
