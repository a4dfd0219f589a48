//! Claiming: the first of all deliveries of an event makes its row, every other one finds it there.
//!
//! Never `DO UPDATE`: it would wait for the row lock of a worker that is busy with the event. And the row is read in a
//! second statement, because a `UNION` in the first would not see a row that a concurrent claim has just committed.

use std::collections::HashSet;

use hookledger_core::{Claim, ClaimMode, EventRef, Status, VerifiedEvent};
use tokio_postgres::types::Type;

use crate::error::LedgerError;
use crate::ledger::Ledger;
use crate::rows::{Keys, key_of};

/// How long a row may wait for the queue, or in it, before a duplicate sends its id again.
const QUEUE_PATIENCE_S: f64 = 30.0;

pub(crate) const CLAIM: &str = "
WITH incoming AS (
    -- DISTINCT: one delivery may carry one event twice. Sorted, so that two deliveries of the same events cannot deadlock.
    SELECT DISTINCT ON (source, event_id) *
    FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::int8[], $8::text[], $9::text[],
                $10::int8[], $11::text[], $12::bytea[])
      AS i (source, event_id, event_type, account, object_kind, object_id, version, lifecycle, via, received_at, headers, body)
    ORDER BY source, event_id
),
claimed AS (
    INSERT INTO webhook_event
        (source, event_id, event_type, account, object_kind, object_id, version, lifecycle, via, received_at)
    SELECT source, event_id, event_type, account, object_kind, object_id, version, lifecycle, via,
           coalesce('epoch'::timestamptz + received_at * interval '1 microsecond', clock_timestamp())
    FROM incoming
    ON CONFLICT DO NOTHING
    RETURNING source, event_id, received_at
),
-- Only for rows that are new: the payload that is kept is the one that was claimed.
kept AS (
    INSERT INTO webhook_payload (source, event_id, received_at, headers, body)
    SELECT c.source, c.event_id, c.received_at, i.headers::jsonb, i.body
    FROM claimed c JOIN incoming i USING (source, event_id)
)
SELECT source, event_id FROM claimed";

const READ_DUPLICATES: &str = "
WITH asked AS (
    SELECT source, event_id FROM unnest($1::text[], $2::text[]) AS a (source, event_id)
),
-- What should have been processed by now. SKIP LOCKED: a row that a worker holds is in flight, and a duplicate never waits.
waiting AS (
    SELECT e.source, e.event_id, e.status
    FROM webhook_event e JOIN asked USING (source, event_id)
    WHERE $4::bool OR (
        coalesce(e.requeued_at, e.received_at) < clock_timestamp() - make_interval(secs => $3)
        AND CASE e.status
            WHEN 'claimed' THEN true
            WHEN 'failed' THEN e.next_attempt_at <= clock_timestamp()
            WHEN 'processing' THEN e.lease_until <= clock_timestamp()
            ELSE false END)
        -- Asking the provider to deliver again is how people retry.
        OR e.status = 'dead_letter'
    ORDER BY e.source, e.event_id
    FOR UPDATE OF e SKIP LOCKED
),
requeued AS (
    UPDATE webhook_event e
    SET requeued_at = clock_timestamp(),
        status = CASE WHEN w.status IN ('settled', 'dead_letter') THEN 'claimed' ELSE e.status END,
        attempts = CASE WHEN w.status IN ('settled', 'dead_letter') THEN 0 ELSE e.attempts END,
        settled_at = NULL,
        outcome = NULL,
        would_skip = e.would_skip + CASE WHEN $4::bool THEN 1 ELSE 0 END
    FROM waiting w
    WHERE e.source = w.source AND e.event_id = w.event_id
    RETURNING e.source, e.event_id
),
audited AS (
    INSERT INTO webhook_audit (action, source, event_id, detail)
    SELECT 'rearmed', source, event_id, 'delivered again' FROM waiting WHERE status = 'dead_letter'
)
SELECT e.source, e.event_id, e.status, r.event_id IS NOT NULL AS requeue
FROM webhook_event e JOIN asked USING (source, event_id) LEFT JOIN requeued r USING (source, event_id)";

const IS_SETTLED: &str = "SELECT FROM webhook_event WHERE source = $1 AND event_id = $2 AND status = 'settled'";

impl Ledger {
    /// One look by the primary key, for when a duplicate is expected: cheaper than a claim that comes to nothing.
    pub async fn is_settled(&mut self, key: &EventRef) -> Result<bool, LedgerError> {
        let params = [(&key.source.as_str() as _, Type::TEXT), (&key.event_id.as_str() as _, Type::TEXT)];
        Ok(!self.query("look an event up", IS_SETTLED, &params).await?.rows.is_empty())
    }

    /// One round trip and one commit where every event is new; one more where some are known. The answers stand in the order
    /// of `events`.
    pub async fn claim(&mut self, events: &[VerifiedEvent], mode: ClaimMode) -> Result<Vec<Claim>, LedgerError> {
        let mut new = HashSet::with_capacity(events.len());
        let answer = self.insert(events).await?;
        for row in &answer.rows {
            new.insert(key_of(row)?);
        }
        let known: Vec<EventRef> = events.iter().map(VerifiedEvent::key).filter(|key| !new.contains(key)).collect();
        let mut found = Vec::with_capacity(known.len());
        if !known.is_empty() {
            found = self.read_duplicates(&known, mode).await?;
        }
        events
            .iter()
            .map(|event| {
                let key = event.key();
                // The first of two equal ids in one delivery took the row; so did this claim's own first try.
                if new.remove(&key) {
                    return Ok(Claim::New);
                }
                match found.iter().find(|(known, _)| *known == key) {
                    Some((_, Claim::Duplicate { status: Status::Claimed, .. })) if answer.second_try => Ok(Claim::New),
                    Some((_, claim)) => Ok(*claim),
                    None => Ok(Claim::Duplicate { status: Status::Claimed, requeue: false }),
                }
            })
            .collect()
    }

    async fn insert(&mut self, events: &[VerifiedEvent]) -> Result<crate::ledger::Answer, LedgerError> {
        let keys = Keys::of(events.iter().map(|e| (e.source(), &e.identity().event_id)));
        let event_types: Vec<&str> = events.iter().map(|e| e.identity().event_type.as_str()).collect();
        let objects = || events.iter().map(|e| e.identity().object.as_ref());
        let accounts: Vec<Option<&str>> = objects().map(|o| o.map(|o| o.account.as_str())).collect();
        let kinds: Vec<Option<&str>> = objects().map(|o| o.map(|o| o.kind.as_str())).collect();
        let ids: Vec<Option<&str>> = objects().map(|o| o.map(|o| o.id.as_str())).collect();
        let versions: Vec<Option<i64>> = events.iter().map(|e| e.identity().version).collect();
        let lifecycles: Vec<&str> = events.iter().map(|e| e.identity().lifecycle.as_str()).collect();
        let vias: Vec<&str> = events.iter().map(|e| e.via().as_str()).collect();
        let received: Vec<Option<i64>> = events.iter().map(VerifiedEvent::received_at).collect();
        let headers: Vec<String> = events.iter().map(|e| headers_as_json(e.headers())).collect();
        let bodies: Vec<&[u8]> = events.iter().map(|e| &e.body()[..]).collect();
        let params = [
            (&keys.sources as _, Type::TEXT_ARRAY),
            (&keys.event_ids as _, Type::TEXT_ARRAY),
            (&event_types as _, Type::TEXT_ARRAY),
            (&accounts as _, Type::TEXT_ARRAY),
            (&kinds as _, Type::TEXT_ARRAY),
            (&ids as _, Type::TEXT_ARRAY),
            (&versions as _, Type::INT8_ARRAY),
            (&lifecycles as _, Type::TEXT_ARRAY),
            (&vias as _, Type::TEXT_ARRAY),
            (&received as _, Type::INT8_ARRAY),
            (&headers as _, Type::TEXT_ARRAY),
            (&bodies as _, Type::BYTEA_ARRAY),
        ];
        self.query("claim an event", CLAIM, &params).await
    }

    async fn read_duplicates(&mut self, keys: &[EventRef], mode: ClaimMode) -> Result<Vec<(EventRef, Claim)>, LedgerError> {
        let columns = Keys::of(keys.iter().map(|k| (&k.source, &k.event_id)));
        let observe = match mode {
            ClaimMode::Enforce => false,
            ClaimMode::Observe => true,
        };
        let params = [
            (&columns.sources as _, Type::TEXT_ARRAY),
            (&columns.event_ids as _, Type::TEXT_ARRAY),
            (&QUEUE_PATIENCE_S as _, Type::FLOAT8),
            (&observe as _, Type::BOOL),
        ];
        let answer = self.query("read a duplicate", READ_DUPLICATES, &params).await?;
        answer
            .rows
            .iter()
            .map(|row| {
                let status = row.get::<_, &str>("status").parse()?;
                // A first try that took effect has asked already, and its answer was lost.
                let requeue = row.get::<_, bool>("requeue") || answer.second_try;
                Ok((key_of(row)?, Claim::Duplicate { status, requeue }))
            })
            .collect()
    }
}

fn headers_as_json(headers: &[(String, String)]) -> String {
    let map: serde_json::Map<String, serde_json::Value> =
        headers.iter().map(|(name, value)| (name.clone(), value.clone().into())).collect();
    serde_json::Value::Object(map).to_string()
}
