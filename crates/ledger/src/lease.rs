//! Leasing: the right to process an event for a while.
//!
//! A lease is one commit of its own, before anything is done, so that a crash, a panic, an out-of-memory kill and a timeout all
//! count as an attempt. Its token fences everything after it.

use hookledger_core::{Event, EventRef, Status};
use tokio_postgres::Row;
use tokio_postgres::types::Type;

use crate::error::LedgerError;
use crate::ledger::Ledger;
use crate::rows::{Keys, event_of, key_of};

/// Seconds. Longer than the worker's function timeout, so that no living worker loses its lease; shorter than the queue's
/// visibility timeout, so that a message that comes back after a crash finds the lease expired.
pub const LEASE_TERM_S: f64 = 45.0;

/// The right to settle one attempt at one event. Not `Clone`: settling spends it.
#[derive(Debug)]
pub struct Lease {
    pub key: EventRef,
    /// Counts from 1.
    pub attempt: u32,
    /// `None` where retention has dropped the payload.
    pub event: Option<Event>,
    pub(crate) token: i64,
}

/// What asking for a lease gives.
#[expect(clippy::large_enum_variant, reason = "nearly every grant is a lease, so a box would cost an allocation each")]
#[derive(Debug)]
pub enum Grant {
    Leased(Lease),
    /// It was tried before, so it has to be leased alone: it may be what killed the process.
    RetryAlone,
    /// Nothing to do any more: settled, or a dead letter.
    Settled,
    /// Another worker has it for so many seconds at most.
    HeldElsewhere {
        for_s: u32,
    },
    /// It failed, and is due again in so many seconds.
    NotDue {
        in_s: u32,
    },
    /// The last attempt ended without a word: the process died with it.
    Exhausted,
    /// No such row: the message is not ours, or the row was pruned.
    Unknown,
}

pub(crate) const LEASE: &str = "
WITH asked AS (
    SELECT source, event_id, place FROM unnest($1::text[], $2::text[]) WITH ORDINALITY AS a (source, event_id, place)
),
-- Nobody holds it and it is due. SKIP LOCKED: a row that is locked is being leased or settled by somebody else.
free AS (
    SELECT e.source, e.event_id
    FROM webhook_event e JOIN asked USING (source, event_id)
    WHERE CASE e.status
            WHEN 'claimed' THEN true
            WHEN 'failed' THEN e.next_attempt_at <= clock_timestamp()
            WHEN 'processing' THEN e.lease_until <= clock_timestamp()
            ELSE false END
      AND e.attempts < $4 AND (e.attempts = 0 OR $5)
    ORDER BY e.source, e.event_id
    FOR UPDATE OF e SKIP LOCKED
),
leased AS (
    UPDATE webhook_event e
    SET status = 'processing', attempts = e.attempts + 1, lease_token = e.lease_token + 1,
        lease_until = clock_timestamp() + make_interval(secs => $3), next_attempt_at = NULL
    FROM free f
    WHERE e.source = f.source AND e.event_id = f.event_id
    RETURNING e.source, e.event_id, e.received_at, e.attempts, e.lease_token
)
SELECT a.source, a.event_id, e.event_type, e.account, e.object_kind, e.object_id, e.version, e.lifecycle, e.via, e.status,
       (extract(epoch FROM e.received_at) * 1000000)::int8 AS received_at_us,
       e.attempts AS attempts_before,
       ceil(extract(epoch FROM coalesce(e.lease_until, e.next_attempt_at) - clock_timestamp()))::int4 AS wait_s,
       l.attempts, l.lease_token, p.headers::text AS headers, p.body
FROM asked a
LEFT JOIN webhook_event e USING (source, event_id)
LEFT JOIN leased l USING (source, event_id)
LEFT JOIN webhook_payload p ON p.source = l.source AND p.event_id = l.event_id AND p.received_at = l.received_at
ORDER BY a.place";

impl Ledger {
    /// Leases the first attempts among `keys`, in one commit. The grants stand in the order of `keys`, which must differ.
    pub async fn lease_first_attempts(&mut self, keys: &[EventRef]) -> Result<Vec<Grant>, LedgerError> {
        self.lease(keys, 1, false).await
    }

    /// Leases one event, whatever its attempt up to `attempts_max`.
    pub async fn lease_alone(&mut self, key: &EventRef, attempts_max: u32) -> Result<Grant, LedgerError> {
        let grants = self.lease(std::slice::from_ref(key), attempts_max, true).await?;
        Ok(grants.into_iter().next().unwrap_or(Grant::Unknown))
    }

    async fn lease(&mut self, keys: &[EventRef], attempts_max: u32, retries: bool) -> Result<Vec<Grant>, LedgerError> {
        let columns = Keys::of(keys.iter().map(|k| (&k.source, &k.event_id)));
        let attempts_max = i32::try_from(attempts_max).unwrap_or(i32::MAX);
        let params = [
            (&columns.sources as _, Type::TEXT_ARRAY),
            (&columns.event_ids as _, Type::TEXT_ARRAY),
            (&LEASE_TERM_S as _, Type::FLOAT8),
            (&attempts_max as _, Type::INT4),
            (&retries as _, Type::BOOL),
        ];
        let answer = self.query("lease events", LEASE, &params).await?;
        answer.rows.iter().map(|row| grant(row, attempts_max, retries)).collect()
    }
}

fn grant(row: &Row, attempts_max: i32, retries: bool) -> Result<Grant, LedgerError> {
    if let Some(token) = row.get::<_, Option<i64>>("lease_token") {
        let attempt = u32::try_from(row.get::<_, i32>("attempts")).unwrap_or(u32::MAX);
        return Ok(Grant::Leased(Lease { key: key_of(row)?, attempt, event: event_of(row)?, token }));
    }
    let Some(status) = row.get::<_, Option<&str>>("status") else { return Ok(Grant::Unknown) };
    let wait_s = row.get::<_, Option<i32>>("wait_s").unwrap_or(0);
    let attempts: i32 = row.get("attempts_before");
    let wait = u32::try_from(wait_s).unwrap_or(0);
    Ok(match status.parse()? {
        Status::Settled | Status::DeadLetter => Grant::Settled,
        Status::Processing if wait_s > 0 => Grant::HeldElsewhere { for_s: wait },
        Status::Failed if wait_s > 0 => Grant::NotDue { in_s: wait },
        Status::Claimed | Status::Processing | Status::Failed if attempts > 0 && !retries => Grant::RetryAlone,
        Status::Processing | Status::Failed if attempts >= attempts_max => Grant::Exhausted,
        // It was free by this statement's snapshot and is not any more: somebody is at it right now.
        Status::Claimed | Status::Processing | Status::Failed => Grant::HeldElsewhere { for_s: 1 },
    })
}
