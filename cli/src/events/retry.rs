//! `hookledger events retry`, and the way that it shares with `hookledger replay ledger`.

use anyhow::Result;
use clap::Args;
use hookledger_commands as commands;
use hookledger_commands::Rearmed;
use hookledger_core::{EventId, SourceName, Status};
use hookledger_ledger::{EventFilter, Tally};
use serde_json::json;

use crate::ended::{BadInput, Ended};
use crate::events::event_id;
use crate::events::show::key;
use crate::filter::Filter;
use crate::reach::Reach;
use crate::session::Session;
use crate::table::{Cell, Table};

/// Have failed events and dead letters processed again
///
/// Their attempts begin anew, and each gets an audit row. A settled event is not retried: see `replay ledger --force`.
#[derive(Debug, Args)]
pub(crate) struct Retry {
    /// The provider's id of the event
    #[arg(value_parser = event_id, required_unless_present = "all", conflicts_with = "all")]
    id: Option<EventId>,
    /// Every failed event and dead letter that the filters choose
    #[arg(long)]
    all: bool,
    #[command(flatten)]
    filter: Filter,
    /// Count them, and change nothing
    #[arg(long)]
    dry_run: bool,
}

pub(crate) async fn run(arguments: Retry, session: &mut Session) -> Result<Ended> {
    let mut reach = session.reach().await?;
    let filter = match arguments.id {
        Some(id) => match key(&mut reach, id, arguments.filter.source.clone()).await? {
            Some(key) => {
                EventFilter { source: Some(key.source), event_id: Some(key.event_id), ..EventFilter::from(arguments.filter) }
            }
            None => {
                session.terminal.note("no such event");
                return Ok(Ended::NotFound);
            }
        },
        None => arguments.filter.into(),
    };
    rearm(&mut reach, session, filter, false, arguments.dry_run).await
}

/// Says what it would do, asks, does it batch by batch, and says what it did.
pub(crate) async fn rearm(
    reach: &mut Reach,
    session: &Session,
    mut filter: EventFilter,
    settled_too: bool,
    dry_run: bool,
) -> Result<Ended> {
    if filter.status.is_empty() {
        // None else is retried, and these have indexes.
        filter.status = vec![Status::Failed, Status::DeadLetter];
    }
    if filter.status.contains(&Status::Settled) && !settled_too {
        let why = "settled events are done: `hookledger replay ledger --status settled --force` processes them again";
        return Err(BadInput(why.to_owned()).into());
    }
    let tallies = reach.ask(commands::CountToRearm { filter: filter.clone(), settled_too }).await?;
    let (events, lost): (u64, u64) = tallies.iter().fold((0, 0), |sum, t| (sum.0 + t.events, sum.1 + t.without_payload));
    let to_do = events - lost;
    if session.terminal.json && dry_run {
        session.terminal.json(&json!({ "would_retry": to_do, "without_payload": lost, "by_kind": tallies }))?;
        return Ok(if events == 0 { Ended::NotFound } else { Ended::Done });
    }
    if events == 0 {
        session.terminal.note("nothing to retry: no such event has failed");
        return Ok(Ended::NotFound);
    }
    if !session.terminal.json {
        table(&tallies).lines(session.terminal.paint).iter().try_for_each(|line| session.terminal.line(line))?;
    }
    if lost > 0 {
        session.terminal.warn(&format!("{lost} of them cannot be retried: their payload is past retention, or purged"));
    }
    if to_do == 0 {
        return Ok(Ended::NotFound);
    }
    if dry_run {
        session.terminal.note(&format!("dry run: {to_do} would be processed again"));
        return Ok(Ended::Done);
    }
    if !session.terminal.confirm(&format!("{to_do} {} will be processed again", plural(to_do)))? {
        return Ok(Ended::Declined);
    }
    let done = in_batches(reach, session, filter, settled_too).await?;
    tell(&done, reach, session)
}

async fn in_batches(reach: &mut Reach, session: &Session, filter: EventFilter, settled_too: bool) -> Result<Rearmed> {
    let mut all = Rearmed::default();
    let mut progress = session.terminal.progress();
    loop {
        let batch = commands::Rearm { filter: filter.clone(), settled_too, by: session.who(), after: all.next.take() };
        let done = reach.ask(batch).await?;
        all.rearmed += done.rearmed;
        all.sent += done.sent;
        all.without_payload += done.without_payload;
        all.queue_error = all.queue_error.or(done.queue_error);
        all.next = done.next;
        progress.show(&format!("{} re-armed", all.rearmed));
        if all.next.is_none() {
            return Ok(all);
        }
    }
}

fn tell(done: &Rearmed, reach: &Reach, session: &Session) -> Result<Ended> {
    if session.terminal.json {
        session.terminal.json(&json!({
            "retried": done.rearmed, "sent": done.sent, "without_payload": done.without_payload,
            "queue_error": done.queue_error,
        }))?;
        return Ok(Ended::Done);
    }
    session.terminal.line(&format!(
        "{} {} re-armed, {} sent to the queue",
        done.rearmed,
        plural(done.rearmed),
        done.sent
    ))?;
    if !reach.sends() && done.rearmed > 0 {
        session.terminal.note("no queue is configured here (QUEUE_URL): the sweeper will send them within a minute");
    } else if done.sent < done.rearmed {
        let why = done.queue_error.as_deref().unwrap_or("the function has no queue");
        session.terminal.warn(&format!("the sweeper will send the others within a minute: {}", crate::terminal::safe(why)));
    }
    Ok(Ended::Done)
}

fn table(tallies: &[Tally]) -> Table {
    let mut table = Table::new(&["EVENTS", "SOURCE", "TYPE", "STATUS"]);
    for tally in tallies {
        table.row([
            Cell::number(tally.events),
            Cell::new(&tally.source),
            Cell::new(&tally.event_type),
            Cell::new(&tally.status),
        ]);
    }
    table
}

pub(crate) fn plural(events: u64) -> &'static str {
    if events == 1 { "event" } else { "events" }
}

/// For messages that name a source.
pub(crate) fn name(source: Option<&SourceName>) -> &str {
    source.map_or("every source", SourceName::as_str)
}
