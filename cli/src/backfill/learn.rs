//! From a provider's list to the guard: the newest event of each object, or the object itself.

use std::collections::HashMap;

use anyhow::Result;
use clap::Args;
use hookledger_commands as commands;
use hookledger_core::{Identity, Lifecycle, Micros, ObjectKey, SourceName};
use hookledger_ledger::{BackfillBatch, ObjectVersion};

use super::{add, confirm, tell};
use crate::ended::Ended;
use crate::filter::source_name;
use crate::reach::Reach;
use crate::replay::feed::Feed;
use crate::replay::reading::{Read, read, source};
use crate::session::Session;

/// Objects that are sent to the guard at once.
const BATCH: usize = 1_000;

#[derive(Debug, Args)]
pub(crate) struct Learning {
    /// The source's name, where it is not the provider's
    #[arg(long, value_parser = source_name)]
    source: Option<SourceName>,
    /// Say what the guard lacks, and write nothing
    #[arg(long)]
    dry_run: bool,
}

/// Whether an object was deleted, which counts first and is for ever, and its version.
type Newest = HashMap<ObjectKey, (bool, Micros)>;

/// Reads the feeds to their end, and then tells the guard. `from` says in the audit what they were.
pub(super) async fn learn<F: Feed>(
    provider: &str,
    learning: &Learning,
    feeds: &[F],
    from: &str,
    session: &Session,
) -> Result<Ended> {
    let name = learning.source.clone().map_or_else(|| SourceName::new(provider), Ok)?;
    let newest = newest(&name, feeds, session).await?;
    let objects: Vec<ObjectVersion> =
        newest.into_iter().map(|(object, (deleted, version))| ObjectVersion { object, version, deleted }).collect();
    let mut reach = session.reach().await?;
    let found = in_batches(&mut reach, session, &name, &objects, from, false).await?;
    if learning.dry_run || found.unguarded + found.behind == 0 {
        return tell(&found, false, session);
    }
    if !confirm(&found, session)? {
        return Ok(Ended::Declined);
    }
    let done = in_batches(&mut reach, session, &name, &objects, from, true).await?;
    tell(&done, true, session)
}

async fn newest<F: Feed>(name: &SourceName, feeds: &[F], session: &Session) -> Result<Newest> {
    let source = source(name, session)?;
    let mut progress = session.terminal.progress();
    let (mut newest, mut unread) = (Newest::new(), 0);
    for feed in feeds {
        let mut cursor = None;
        loop {
            let page = feed.page(cursor.as_deref()).await?;
            for delivery in &page.deliveries {
                match read(&source, delivery)? {
                    Read::Events(events) => events.into_iter().for_each(|event| take(&mut newest, event)),
                    Read::Not(_) => unread += 1,
                }
            }
            progress.show(&format!("{} objects found at {}", newest.len(), feed.name()));
            cursor = page.next;
            if cursor.is_none() {
                break;
            }
        }
    }
    progress.clear();
    if unread > 0 {
        session.terminal.warn(&format!("{unread} were left out: {name} would not take them, or ignore them"));
    }
    Ok(newest)
}

/// What has no object or no version is not guarded.
fn take(newest: &mut Newest, event: Identity) {
    if let (Some(object), Some(version)) = (event.object, event.version) {
        let state = (event.lifecycle == Lifecycle::Deleted, version);
        newest.entry(object).and_modify(|known| *known = state.max(*known)).or_insert(state);
    }
}

async fn in_batches(
    reach: &mut Reach,
    session: &Session,
    source: &SourceName,
    objects: &[ObjectVersion],
    from: &str,
    writes: bool,
) -> Result<BackfillBatch> {
    let mut all = BackfillBatch::default();
    let mut progress = session.terminal.progress();
    for batch in objects.chunks(BATCH) {
        let (source, objects, from) = (source.clone(), batch.to_vec(), from.to_owned());
        add(&mut all, reach.ask(commands::Learn { source, objects, writes, from, by: session.who() }).await?);
        progress.show(&format!("{} objects", all.objects));
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use hookledger_core::EventId;

    use super::*;

    fn event(id: &str, version: Option<Micros>, lifecycle: Lifecycle) -> Identity {
        let object = ObjectKey { account: String::new(), kind: "subscription".into(), id: id.into() };
        let event_id = EventId::new("evt").unwrap();
        Identity { event_id, event_type: "t".into(), object: Some(object), version, lifecycle }
    }

    #[test]
    fn the_newest_of_each_object_counts_and_a_deletion_before_all() {
        use Lifecycle::{Deleted, Updated};
        let mut newest = Newest::new();
        for (id, version, lifecycle) in [
            ("a", Some(2), Updated),
            ("a", Some(3), Updated),
            ("a", Some(1), Updated),
            ("b", Some(7), Deleted),
            ("b", Some(9), Updated),
            ("c", None, Updated),
        ] {
            take(&mut newest, event(id, version, lifecycle));
        }
        let mut states: Vec<_> = newest.into_iter().map(|(object, state)| (object.id, state)).collect();
        states.sort();
        assert_eq!(states, [("a".to_owned(), (false, 3)), ("b".to_owned(), (true, 7))]);
    }
}
