//! The version guard: whether an event is the newest of its object. It runs in the transaction that applies the event, under
//! the object's row lock, so that two workers with two events of one object take turns.

use hookledger_core::{Candidate, Event, EventId, Lifecycle, ObjectKey, newest};
use tokio_postgres::types::Type;

use crate::error::LedgerError;
use crate::ledger::Param;
use crate::rows::event_of;
use crate::work::Work;

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

/// One statement where there is no tie. Deleted is for ever, so it counts before the version. Where the row is not updated it
/// is locked all the same.
pub(crate) const ADVANCE: &str = "
INSERT INTO webhook_object AS stored (source, account, kind, object_id, version, deleted, event_id, tied_event_ids)
VALUES ($1, $2, $3, $4, $5, $6, $7, ARRAY[$7])
ON CONFLICT (source, account, kind, object_id) DO UPDATE
SET version = excluded.version, deleted = excluded.deleted, event_id = excluded.event_id, tied_event_ids = excluded.tied_event_ids
WHERE (stored.deleted, stored.version) < (excluded.deleted, excluded.version)
RETURNING event_id";

const READ_TIE: &str = "
SELECT o.event_id AS in_force, (o.deleted, o.version) = ($5, $6) AS tied, t.event_id AS tied_event_id,
       e.source, e.event_id, e.event_type, e.account, e.object_kind, e.object_id, e.version, e.lifecycle, e.via,
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

impl Work<'_> {
    /// `candidate` reads the object and its previous values out of an event's body; it is called only in a tie.
    ///
    /// An event that names no object, or carries no version, cannot be compared and counts as the newest.
    pub async fn guard(
        &self,
        event: &Event,
        candidate: &(dyn Fn(&Event) -> Candidate + Sync),
    ) -> Result<Guard, LedgerError> {
        let (Some(object), Some(version)) = (&event.object, event.guard_version()) else {
            return Ok(Guard::Newest { tie: Tie::None });
        };
        if self.advance(event, object, version).await? {
            return Ok(Guard::Newest { tie: Tie::None });
        }
        let rows = self.read_tie(event, object, version).await?;
        match rows.first() {
            Some(row) if row.get::<_, bool>("tied") => self.decide_tie(event, object, &rows, candidate).await,
            _ => Ok(Guard::Stale),
        }
    }

    async fn advance(&self, event: &Event, object: &ObjectKey, version: i64) -> Result<bool, LedgerError> {
        let deleted = event.lifecycle == Lifecycle::Deleted;
        let source = event.source.as_str();
        let [source, account, kind, id] = object_params(&source, object);
        let params = [
            source,
            account,
            kind,
            id,
            (&version as _, Type::INT8),
            (&deleted as _, Type::BOOL),
            (&event.event_id.as_str() as _, Type::TEXT),
        ];
        Ok(!self.query("advance an object's version", ADVANCE, &params).await?.is_empty())
    }

    async fn read_tie(
        &self,
        event: &Event,
        object: &ObjectKey,
        version: i64,
    ) -> Result<Vec<tokio_postgres::Row>, LedgerError> {
        let deleted = event.lifecycle == Lifecycle::Deleted;
        let source = event.source.as_str();
        let [source, account, kind, id] = object_params(&source, object);
        let params = [source, account, kind, id, (&deleted as _, Type::BOOL), (&version as _, Type::INT8)];
        self.query("read a tie", READ_TIE, &params).await
    }

    async fn decide_tie(
        &self,
        event: &Event,
        object: &ObjectKey,
        rows: &[tokio_postgres::Row],
        candidate: &(dyn Fn(&Event) -> Candidate + Sync),
    ) -> Result<Guard, LedgerError> {
        let mut tied = Vec::with_capacity(rows.len() + 1);
        for row in rows {
            // One whose row or payload is gone has lost its say: it is as old as the retention time.
            if row.get::<_, Option<&str>>("event_id").is_some() {
                tied.extend(event_of(row)?.filter(|other| other.event_id != event.event_id));
            }
        }
        tied.push(event.clone());
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
