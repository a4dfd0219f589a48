//! Asking for events again. Invariants: an event in flight is left alone; nothing without a payload is asked for, because
//! nothing could be done with it; every row that is re-armed has an audit row of the same statement.

use hookledger_core::EventRef;
use serde::{Deserialize, Serialize};
use tokio_postgres::types::Type;

use crate::error::LedgerError;
use crate::events::{EventFilter, MATCHES, Matches, PAGE_ROWS_MAX, Position, position, utc};
use crate::ledger::Ledger;
use crate::rows::key_of;

/// What to re-arm and how.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rearm {
    pub filter: EventFilter,
    /// Settled events too, which are then processed again.
    pub settled_too: bool,
    /// Whether the caller sends the keys to the queue. Otherwise they are due at the sweeper's next run.
    pub sends: bool,
    /// Who asks and why, for the audit.
    pub detail: String,
}

/// What one statement did.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RearmBatch {
    pub rearmed: Vec<EventRef>,
    /// Left as they are: their payload is gone.
    pub without_payload: u64,
    /// Where the next batch begins, if there may be more.
    pub next: Option<Position>,
}

/// How many there are of a kind.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tally {
    pub source: String,
    pub event_type: String,
    pub status: String,
    pub events: u64,
    /// Of these: their payload is gone.
    pub without_payload: u64,
}

const KEPT: &str = "EXISTS (SELECT FROM webhook_payload p
    WHERE p.source = e.source AND p.event_id = e.event_id AND p.received_at = e.received_at)";

const AT_REST: &str = "(e.status IN ('failed', 'dead_letter') OR ($13::bool AND e.status = 'settled'))";

impl Ledger {
    /// How many events [`Ledger::rearm`] would meet.
    pub async fn count_to_rearm(&mut self, filter: &EventFilter, settled_too: bool) -> Result<Vec<Tally>, LedgerError> {
        let sql = format!(
            "SELECT e.source, e.event_type, e.status, count(*) AS events, count(*) FILTER (WHERE NOT {KEPT}) AS without_payload
             FROM webhook_event e WHERE {MATCHES} AND {AT_REST} GROUP BY 1, 2, 3 ORDER BY 4 DESC, 1, 2, 3"
        );
        let matches = Matches::of(filter);
        let mut params = matches.params();
        params.push((&settled_too as _, Type::BOOL));
        let answer = self.query("count events", &sql, &params).await?;
        let count = |n: i64| u64::try_from(n).unwrap_or(0);
        Ok(answer
            .rows
            .iter()
            .map(|row| Tally {
                source: row.get("source"),
                event_type: row.get("event_type"),
                status: row.get("status"),
                events: count(row.get("events")),
                without_payload: count(row.get("without_payload")),
            })
            .collect())
    }

    /// Re-arms a batch that follows `after`: attempts 0, to be processed as if claimed now.
    pub async fn rearm(&mut self, rearm: &Rearm, after: Option<&Position>) -> Result<RearmBatch, LedgerError> {
        let received = utc!("e.received_at");
        let sql = format!(
            "WITH met AS (
                SELECT e.source, e.event_id, e.received_at, e.status, {received} AS received, {KEPT} AS kept
                FROM webhook_event e WHERE {MATCHES} AND {AT_REST}
                AND ($14::text IS NULL OR (e.received_at, e.source, e.event_id) > ($14::timestamptz, $15, $16))
                ORDER BY e.received_at, e.source, e.event_id LIMIT $17
                -- A row that a worker holds is in flight.
                FOR UPDATE OF e SKIP LOCKED
            ),
            rearmed AS (
                UPDATE webhook_event e
                SET status = 'claimed', attempts = 0, next_attempt_at = NULL, settled_at = NULL, outcome = NULL,
                    requeued_at = CASE WHEN $18::bool THEN clock_timestamp() END
                FROM met m WHERE m.kept AND e.source = m.source AND e.event_id = m.event_id
                RETURNING e.source, e.event_id
            ),
            audited AS (
                INSERT INTO webhook_audit (action, source, event_id, detail)
                SELECT 'rearmed', m.source, m.event_id, $19 || ' (was ' || m.status || ')'
                FROM met m JOIN rearmed r USING (source, event_id)
            )
            SELECT m.source, m.event_id, m.received, m.kept FROM met m ORDER BY m.received_at, m.source, m.event_id"
        );
        let matches = Matches::of(&rearm.filter);
        let (at, source, id) = position(after);
        let limit = i64::from(PAGE_ROWS_MAX);
        let mut params = matches.params();
        params.extend([
            (&rearm.settled_too as _, Type::BOOL),
            (&at as _, Type::TEXT),
            (&source as _, Type::TEXT),
            (&id as _, Type::TEXT),
            (&limit as _, Type::INT8),
            (&rearm.sends as _, Type::BOOL),
            (&rearm.detail as _, Type::TEXT),
        ]);
        let answer = self.query("re-arm events", &sql, &params).await?;
        let mut batch = RearmBatch::default();
        for row in &answer.rows {
            let key = key_of(row)?;
            if i64::try_from(answer.rows.len()) == Ok(limit) {
                let EventRef { source, event_id } = key.clone();
                batch.next = Some(Position { received_at: row.get("received"), source, event_id });
            }
            if row.get("kept") {
                batch.rearmed.push(key);
            } else {
                batch.without_payload += 1;
            }
        }
        Ok(batch)
    }
}
