//! `hookledger events`.

mod duplicates;
mod list;
mod purge;
pub(crate) mod retry;
mod show;
mod stats;
mod tail;

use anyhow::Result;
use clap::Subcommand;
use hookledger_core::{EventId, Outcome, Status};
use hookledger_ledger::EventRow;

use crate::ended::Ended;
use crate::session::Session;
use crate::table::{Cell, Table};
use crate::terminal::Paint;
use crate::when;

#[derive(Debug, Subcommand)]
pub(crate) enum EventsCommand {
    List(list::List),
    Show(show::Show),
    Retry(retry::Retry),
    Tail(tail::Tail),
    Stats(stats::Stats),
    Purge(purge::Purge),
}

pub(crate) async fn run(command: EventsCommand, session: &mut Session) -> Result<Ended> {
    match command {
        EventsCommand::List(arguments) => list::run(arguments, session).await,
        EventsCommand::Show(arguments) => show::run(arguments, session).await,
        EventsCommand::Retry(arguments) => retry::run(arguments, session).await,
        EventsCommand::Tail(arguments) => tail::run(arguments, session).await,
        EventsCommand::Stats(arguments) => stats::run(arguments, session).await,
        EventsCommand::Purge(arguments) => purge::run(arguments, session).await,
    }
}

pub(crate) const HEAD: [&str; 9] =
    ["RECEIVED", "SOURCE", "EVENT", "TYPE", "STATUS", "OUTCOME", "TRIES", "OBJECT", "LAST ERROR"];

pub(crate) fn cells(event: &EventRow) -> Vec<Cell> {
    let object = event.object_kind.as_deref().zip(event.object_id.as_deref());
    vec![
        Cell::new(when::short(&event.received_at)),
        Cell::new(event.source.as_str()),
        Cell::new(event.event_id.as_str()),
        Cell::new(&event.event_type),
        Cell::new(event.status.as_str()).painted(colour(event.status)),
        Cell::new(event.outcome.map_or("", Outcome::as_str)),
        Cell::number(event.attempts),
        Cell::new(object.map(|(kind, id)| format!("{kind}/{id}")).unwrap_or_default()),
        Cell::new(event.last_error.as_deref().unwrap_or_default()),
    ]
}

pub(crate) fn table(events: &[EventRow]) -> Table {
    let mut table = Table::new(&HEAD);
    for event in events {
        table.row(cells(event));
    }
    table
}

pub(crate) fn colour(status: Status) -> fn(Paint, &str) -> String {
    match status {
        Status::Settled => Paint::green,
        Status::DeadLetter => Paint::red,
        Status::Failed => Paint::yellow,
        Status::Claimed | Status::Processing => Paint::dim,
    }
}

pub(crate) fn event_id(text: &str) -> Result<EventId, String> {
    EventId::new(text).map_err(|error| error.to_string())
}
