//! Which deliveries are missing, without posting any: their ids are read as the receiver reads them, and looked up in the ledger.

use std::collections::HashSet;

use anyhow::{Context, Result};
use hookledger_commands as commands;
use hookledger_core::{EventId, Secret, SourceName};
use hookledger_providers::{SignedRequest, Source, Verified, verify};
use hookledger_runtime::{load_sources, now};
use http::{HeaderMap, HeaderName, HeaderValue, Method};

use crate::ended::BadInput;
use crate::reach::Reach;
use crate::replay::feed::{Delivery, Feed};
use crate::replay::journal::Entry;
use crate::replay::receiver::Answered;
use crate::replay::report::thousands;
use crate::replay::tally::Tally;
use crate::session::Session;

pub(crate) async fn count<F: Feed>(name: &SourceName, feeds: &[F], session: &Session) -> Result<Tally> {
    let sources = load_sources(&session.env)?;
    let unknown = || BadInput(format!("no source of the name {name} in sources.toml (SOURCES_FILE names another)"));
    let source = sources.get(name.as_str()).ok_or_else(unknown)?;
    let mut reach = session.reach().await?;
    let mut progress = session.terminal.progress();
    let (mut tally, mut seen) = (Tally::default(), HashSet::new());
    for feed in feeds {
        let mut cursor = None;
        loop {
            let mut page = feed.page(cursor.as_deref()).await?;
            page.deliveries.retain(|delivery| seen.insert(delivery.id.clone()));
            look_up(source, page.deliveries, &mut reach, &mut tally).await?;
            progress.show(&format!("{} looked up, {} missing", thousands(tally.fetched()), thousands(tally.new)));
            cursor = page.next;
            if cursor.is_none() {
                break;
            }
        }
    }
    Ok(tally)
}

async fn look_up(source: &Source, deliveries: Vec<Delivery>, reach: &mut Reach, tally: &mut Tally) -> Result<()> {
    let read: Vec<(Delivery, Read)> = deliveries
        .into_iter()
        .map(|delivery| {
            let read = read(source, &delivery)?;
            Ok((delivery, read))
        })
        .collect::<Result<_>>()?;
    let event_ids = read.iter().flat_map(|(_, read)| match read {
        Read::Events(ids) => ids.clone(),
        Read::Not(_) => Vec::new(),
    });
    let asked = commands::Known { source: source.name().clone(), event_ids: event_ids.collect() };
    let known = if asked.event_ids.is_empty() { Vec::new() } else { reach.ask(asked).await? };
    for (delivery, read) in read {
        let answer = match read {
            Read::Events(ids) if ids.iter().all(|id| known.contains(id)) => Answered::Known,
            Read::Events(_) => Answered::New,
            Read::Not(answer) => answer,
        };
        tally.add(Entry { id: delivery.id, at: delivery.at, event_type: delivery.event_type, answer });
    }
    Ok(())
}

enum Read {
    Events(Vec<EventId>),
    Not(Answered),
}

fn read(source: &Source, delivery: &Delivery) -> Result<Read> {
    // Stands in for the signature on this side only.
    let token = Secret::new("-".repeat(64))?;
    let mut headers = HeaderMap::new();
    headers.insert("x-replay-token", HeaderValue::from_bytes(token.expose())?);
    for (name, value) in &delivery.headers {
        let name: HeaderName = name.parse().with_context(|| format!("a header of {}", delivery.id))?;
        headers.insert(name, value.parse().with_context(|| format!("a header of {}", delivery.id))?);
    }
    let path = format!("/webhooks/{}", source.name());
    let request = SignedRequest { method: Method::POST, path, query: None, headers, body: delivery.body.clone() };
    Ok(match verify(source, &request, &[], Some(&token), now() / 1_000_000) {
        Ok(Verified::Events(events)) => Read::Events(events.iter().map(|event| event.identity().event_id.clone()).collect()),
        Ok(Verified::Handshake(_) | Verified::Ignored { .. }) => Read::Not(Answered::Ignored),
        Err(rejection) => Read::Not(Answered::Rejected(rejection.message().to_owned())),
    })
}
