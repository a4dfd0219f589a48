//! The version guard: whether an event is the newest of its object. It runs in the transaction that applies the event, under
//! the object's row lock, so that two workers with two events of one object take turns.
//!
//! A batch is guarded as a whole before any of its events is applied. That comes to the same as guarding each just before it is
//! applied: the guard looks at nothing that a handler writes, and if a handler fails, its transaction undoes the guard too.

use futures_util::future::join;
use hookledger_core::{Candidate, Event, EventId, Lifecycle, ObjectKey, newest};
use tokio::time::Instant;
use tokio_postgres::Row;
use tokio_postgres::types::Type;

use crate::error::LedgerError;
use crate::ledger::{Ledger, Param};
use crate::rows::{event_of, key_of};
use crate::work::{Work, not_begun};

/// What to do with an event.
#[derive(Debug)]
pub enum Guard {
    /// It is the newest: apply it.
    Newest { tie: Tie },
    /// A newer one was there already: write nothing.
    Stale,
    /// It completed the picture of a tie, and shows that this other event of the same version is the newest: apply that one.
    Other { newest: Box<Event>, tie: Tie },
}

/// Whether several events share the version, and how the newest of them was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tie {
    None,
    /// The events themselves tell.
    Resolved,
    /// Nothing tells: the largest event id was taken.
    Unresolved,
}

/// How versions are compared is in `webhook_guard` (`migrations/V1__ledger.sql`).
pub(crate) const GUARD: &str = "
SELECT is_newest, is_tied
FROM webhook_guard($1::text[], $2::text[], $3::text[], $4::text[], $5::int8[], $6::bool[], $7::text[])";

const READ_TIE: &str = "
SELECT o.event_id AS in_force, e.source, e.event_id, e.event_type, e.account, e.object_kind, e.object_id, e.version, e.lifecycle, e.via,
       (extract(epoch FROM e.received_at) * 1000000)::int8 AS received_at_us, p.headers::text AS headers, p.body
FROM webhook_object o
CROSS JOIN LATERAL unnest(o.tied_event_ids) AS t (event_id)
LEFT JOIN webhook_event e ON e.source = o.source AND e.event_id = t.event_id
LEFT JOIN webhook_payload p ON p.source = e.source AND p.event_id = e.event_id AND p.received_at = e.received_at
WHERE o.source = $1 AND o.account = $2 AND o.kind = $3 AND o.object_id = $4";

const JOIN_TIE: &str = "
UPDATE webhook_object
SET event_id = $5, tied_event_ids = CASE WHEN $6 = ANY (tied_event_ids) THEN tied_event_ids ELSE tied_event_ids || $6 END
WHERE source = $1 AND account = $2 AND kind = $3 AND object_id = $4";

/// An event that can be compared.
struct Compared<'a> {
    /// Its place among the events that are guarded.
    at: usize,
    event: &'a Event,
    object: &'a ObjectKey,
    version: i64,
}

impl<'a> Compared<'a> {
    /// `None` for an event that names no object, or carries no version.
    fn of((at, event): (usize, &'a Event)) -> Option<Self> {
        let object = event.object.as_ref()?;
        Some(Self { at, event, object, version: event.guard_version()? })
    }
}

impl Ledger {
    /// Begins work and guards `events` in it, one round trip, and three more for each tie. The guards stand in the order of `events`,
    /// and each event meets what those before it have done. Their objects stay locked until the work ends, and are locked in this
    /// order: where all workers have the same, none waits for one that waits for it.
    ///
    /// `candidate` reads the object and its previous values out of an event's body; it is called only in a tie. An event that cannot be
    /// compared counts as the newest. There is no limit of time.
    pub async fn begin_guarded(
        &mut self,
        events: &[&Event],
        candidate: &(dyn Fn(&Event) -> Candidate + Sync),
    ) -> Result<(Work<'_>, Vec<Guard>), LedgerError> {
        let work = self.unbegun(Instant::now() + self.answer_within()).await?;
        let compared: Vec<Compared<'_>> = events.iter().copied().enumerate().filter_map(Compared::of).collect();
        // Sent in this order, and answered in this order.
        let (begun, rows) = join(work.transaction().begin(), work.compare(&compared)).await;
        begun.map_err(not_begun)?;
        let mut guards: Vec<Guard> = events.iter().map(|_| Guard::Newest { tie: Tie::None }).collect();
        let (mut rest, mut rows) = (&compared[..], rows?);
        loop {
            // Up to the first tie, which what comes after it may depend on.
            let (done, after) = rest.split_at(rows.len().min(rest.len()));
            for (compared, row) in done.iter().zip(&rows) {
                if row.get("is_tied") {
                    guards[compared.at] = work.decide_tie(compared, candidate).await?;
                } else if !row.get::<_, bool>("is_newest") {
                    guards[compared.at] = Guard::Stale;
                }
            }
            if after.is_empty() {
                return Ok((work, guards));
            }
            rest = after;
            rows = work.compare(rest).await?;
        }
    }
}

impl Work<'_> {
    /// Sends nothing where there is nothing to compare.
    async fn compare(&self, events: &[Compared<'_>]) -> Result<Vec<Row>, LedgerError> {
        if events.is_empty() {
            return Ok(Vec::new());
        }
        let sources: Vec<&str> = events.iter().map(|e| e.event.source.as_str()).collect();
        let accounts: Vec<&str> = events.iter().map(|e| e.object.account.as_str()).collect();
        let kinds: Vec<&str> = events.iter().map(|e| e.object.kind.as_str()).collect();
        let object_ids: Vec<&str> = events.iter().map(|e| e.object.id.as_str()).collect();
        let versions: Vec<i64> = events.iter().map(|e| e.version).collect();
        let deletions: Vec<bool> = events.iter().map(|e| e.event.lifecycle == Lifecycle::Deleted).collect();
        let event_ids: Vec<&str> = events.iter().map(|e| e.event.event_id.as_str()).collect();
        let params = [
            (&sources as _, Type::TEXT_ARRAY),
            (&accounts as _, Type::TEXT_ARRAY),
            (&kinds as _, Type::TEXT_ARRAY),
            (&object_ids as _, Type::TEXT_ARRAY),
            (&versions as _, Type::INT8_ARRAY),
            (&deletions as _, Type::BOOL_ARRAY),
            (&event_ids as _, Type::TEXT_ARRAY),
        ];
        self.query("compare versions", GUARD, &params).await
    }

    async fn decide_tie(
        &self,
        Compared { event, object, .. }: &Compared<'_>,
        candidate: &(dyn Fn(&Event) -> Candidate + Sync),
    ) -> Result<Guard, LedgerError> {
        let source = event.source.as_str();
        let rows = self.query("read a tie", READ_TIE, &object_params(&source, object)).await?;
        let mut tied = Vec::with_capacity(rows.len() + 1);
        for row in &rows {
            // One whose row or payload is gone has lost its say: it is as old as the retention time.
            if row.get::<_, Option<&str>>("event_id").is_some() {
                tied.extend(event_of(&key_of(row)?, row)?.filter(|other| other.event_id != event.event_id));
            }
        }
        tied.push((*event).clone());
        let candidates: Vec<Candidate> = tied.iter().map(candidate).collect();
        let in_force: Option<&str> = rows.first().map(|row| row.get("in_force"));
        let Some(newest) = newest(&candidates) else { return Ok(Guard::Stale) };
        let winner = &newest.candidate.event_id;
        let tie = match (candidates.len(), newest.resolved) {
            (1, _) => Tie::None,
            (_, true) => Tie::Resolved,
            (_, false) => Tie::Unresolved,
        };
        self.join_tie(event, object, winner).await?;
        if *winner == event.event_id {
            return Ok(Guard::Newest { tie });
        }
        if in_force == Some(winner.as_str()) {
            return Ok(Guard::Stale);
        }
        let newest = tied.into_iter().find(|other| other.event_id == *winner);
        Ok(newest.map_or(Guard::Stale, |newest| Guard::Other { newest: Box::new(newest), tie }))
    }

    async fn join_tie(&self, event: &Event, object: &ObjectKey, winner: &EventId) -> Result<(), LedgerError> {
        let source = event.source.as_str();
        let [source, account, kind, id] = object_params(&source, object);
        let params =
            [source, account, kind, id, (&winner.as_str() as _, Type::TEXT), (&event.event_id.as_str() as _, Type::TEXT)];
        self.query("join a tie", JOIN_TIE, &params).await.map(|_| ())
    }
}

/// The primary key of `webhook_object`, as the first four parameters of each statement here.
fn object_params<'a>(source: &'a &'a str, object: &'a ObjectKey) -> [Param<'a>; 4] {
    [
        (source as _, Type::TEXT),
        (&object.account as _, Type::TEXT),
        (&object.kind as _, Type::TEXT),
        (&object.id as _, Type::TEXT),
    ]
}
