//! `hookledger events show`.

use anyhow::Result;
use clap::Args;
use hookledger_commands as commands;
use hookledger_core::{EventId, EventRef, Outcome, SourceName};
use hookledger_ledger::EventDetail;

use crate::ended::{BadInput, Ended};
use crate::events::{colour, event_id};
use crate::filter::source_name;
use crate::json_text::indented;
use crate::reach::Reach;
use crate::session::Session;
use crate::terminal::{Terminal, safe};
use crate::when;

/// Show one event: its row, headers and payload, and what was done to it
#[derive(Debug, Args)]
pub(crate) struct Show {
    /// The provider's id of the event
    #[arg(value_parser = event_id)]
    id: EventId,
    /// Its source; needed where the sources are several
    #[arg(long, value_parser = source_name)]
    source: Option<SourceName>,
    /// The payload alone, byte for byte as far as it is text
    #[arg(long, conflicts_with = "json")]
    payload: bool,
}

pub(crate) async fn run(arguments: Show, session: &mut Session) -> Result<Ended> {
    let mut reach = session.reach().await?;
    let key = key(&mut reach, arguments.id, arguments.source).await?;
    let found = match key {
        Some(key) => reach.ask(commands::Show { key }).await?,
        None => None,
    };
    let Some(event) = found else {
        session.terminal.note("no such event");
        return Ok(Ended::NotFound);
    };
    if arguments.payload {
        return match &event.body {
            Some(body) => session.terminal.raw(body.as_bytes()).map(|()| Ended::Done),
            None => {
                session.terminal.note("its payload is gone: past retention, or purged");
                Ok(Ended::NotFound)
            }
        };
    }
    if session.terminal.json {
        session.terminal.json(&event)?
    } else {
        print(&event, &session.terminal)?
    }
    Ok(Ended::Done)
}

/// Without a source, the one that has an event of this id. Two may have one: providers do not ask one another.
pub(crate) async fn key(reach: &mut Reach, event_id: EventId, source: Option<SourceName>) -> Result<Option<EventRef>> {
    if let Some(source) = source {
        return Ok(Some(EventRef { source, event_id }));
    }
    let mut sources: Vec<SourceName> = Vec::new();
    for row in reach.ask(commands::Stats { source: None, since: None, until: None, by_type: false }).await? {
        let source = SourceName::new(row.source)?;
        let known = commands::Known { source: source.clone(), event_ids: vec![event_id.clone()] };
        if !reach.ask(known).await?.is_empty() {
            sources.push(source);
        }
    }
    match sources.as_slice() {
        [] => Ok(None),
        [source] => Ok(Some(EventRef { source: source.clone(), event_id })),
        several => {
            let names: Vec<&str> = several.iter().map(SourceName::as_str).collect();
            Err(BadInput(format!("several sources have an event of this id: say --source {}", names.join(" or "))).into())
        }
    }
}

fn print(event: &EventDetail, terminal: &Terminal) -> Result<()> {
    let (row, paint) = (&event.row, terminal.paint);
    let heading = format!("{} {}", row.source, safe(row.event_id.as_str()));
    terminal.line(&paint.bold(&heading))?;
    let status = colour(row.status)(paint, row.status.as_str());
    let outcome = row.outcome.map(|outcome| format!(", {}", Outcome::as_str(outcome))).unwrap_or_default();
    let object = row.object_kind.as_deref().zip(row.object_id.as_deref()).map(|(kind, id)| {
        let account = row.account.as_deref().filter(|account| !account.is_empty());
        let of = account.map(|account| format!(" of {account}")).unwrap_or_default();
        format!("{kind}/{id}{of}")
    });
    let fields: [(&str, Option<String>); 12] = [
        ("type", Some(row.event_type.clone())),
        ("object", object),
        ("version", event.version.map(|version| format!("{} ({})", when::show(version), event.lifecycle))),
        ("received", Some(format!("{} by {}", when::short(&row.received_at), row.via.as_str()))),
        ("attempts", Some(row.attempts.to_string())),
        ("requeued", event.requeued_at.as_deref().map(when::short)),
        ("lease until", event.lease_until.as_deref().map(when::short)),
        ("next attempt", row.next_attempt_at.as_deref().map(when::short)),
        ("settled", row.settled_at.as_deref().map(when::short)),
        ("would skip", (event.would_skip > 0).then(|| format!("{} duplicates", event.would_skip))),
        ("last error", row.last_error.clone()),
        ("body", Some(event.body_bytes.map_or("gone: past retention, or purged".into(), |n| format!("{n} bytes")))),
    ];
    terminal.line(&format!("  {:<13} {status}{outcome}", "status"))?;
    for (name, value) in fields {
        if let Some(value) = value {
            terminal.line(&format!("  {name:<13} {}", safe(&value)))?;
        }
    }
    for done in &event.audit {
        terminal.line(&format!("  {:<13} {} {}", safe(&done.action), when::short(&done.at), safe(&done.detail)))?;
    }
    for (name, value) in &event.headers {
        let value = value.as_str().unwrap_or_default();
        terminal.line(&paint.dim(&format!("  {}: {}", safe(name), safe(value))))?;
    }
    if let Some(body) = &event.body {
        terminal.line("")?;
        for line in indented(body).lines() {
            terminal.line(&safe(line))?;
        }
        if event.body_bytes.is_some_and(|whole| whole > body.len() as u64) {
            terminal.note("the rest of the body is not shown");
        }
    }
    Ok(())
}
