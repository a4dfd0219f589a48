//! Which deliveries are missing, without posting any: their ids are read as the receiver reads them, and looked up in the ledger.

use std::collections::HashSet;

use anyhow::Result;
use hookledger_commands as commands;
use hookledger_core::{EventId, SourceName};
use hookledger_providers::Source;

use crate::reach::Reach;
use crate::replay::feed::{Delivery, Feed};
use crate::replay::journal::Entry;
use crate::replay::reading::{Read, read, source};
use crate::replay::receiver::Answered;
use crate::replay::report::thousands;
use crate::replay::tally::Tally;
use crate::session::Session;

pub(crate) async fn count<F: Feed>(name: &SourceName, feeds: &[F], session: &Session) -> Result<Tally> {
    let source = source(name, session)?;
    let mut reach = session.reach().await?;
    let mut progress = session.terminal.progress();
    let (mut tally, mut seen) = (Tally::default(), HashSet::new());
    for feed in feeds {
        let mut cursor = None;
        loop {
            let mut page = feed.page(cursor.as_deref()).await?;
            page.deliveries.retain(|delivery| seen.insert(delivery.id.clone()));
            look_up(&source, page.deliveries, &mut reach, &mut tally).await?;
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
    let ids = |read: &Read| -> Vec<EventId> {
        match read {
            Read::Events(events) => events.iter().map(|event| event.event_id.clone()).collect(),
            Read::Not(_) => Vec::new(),
        }
    };
    let event_ids = read.iter().flat_map(|(_, read)| ids(read));
    let asked = commands::Known { source: source.name().clone(), event_ids: event_ids.collect() };
    let known = if asked.event_ids.is_empty() { Vec::new() } else { reach.ask(asked).await? };
    for (delivery, read) in read {
        let answer = match read {
            Read::Events(events) if events.iter().all(|event| known.contains(&event.event_id)) => Answered::Known,
            Read::Events(_) => Answered::New,
            Read::Not(answer) => answer,
        };
        tally.add(Entry { id: delivery.id, at: delivery.at, event_type: delivery.event_type, answer });
    }
    Ok(())
}
