//! Recovery of what fell through: claimed and never queued, failed and due, leased and abandoned.
//!
//! Invariant: two sweeps at once share the work (`SKIP LOCKED`), and a backlog is not multiplied: the wait before a row is
//! sent again doubles each time, from one minute to one hour.

use std::time::Duration;

use hookledger_core::{EventRef, SourceName};
use tokio_postgres::types::Type;

use crate::error::LedgerError;
use crate::ledger::Ledger;
use crate::rows::{Keys, key_of};

/// First wait, and the largest. Longer than a message takes through a queue that is keeping up.
const RESEND_AFTER_S: f64 = 60.0;
const RESEND_AFTER_S_MAX: f64 = 3600.0;

/// What a sweep is to do about rows that it found.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Swept {
    /// Their ids have to go to the queue.
    pub requeue: Vec<EventRef>,
    pub dead_lettered: Vec<EventRef>,
}

/// The state of the ledger, for metrics and alarms.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Backlog {
    pub unsettled: u64,
    /// Of the oldest unsettled row, since it was received; zero without a backlog.
    pub oldest_age: Duration,
    pub dead_letters: u64,
}

const DEAD_LETTER_EXHAUSTED: &str = "
WITH limits AS (SELECT * FROM unnest($1::text[], $2::int4[]) AS l (source, attempts_max)),
exhausted AS (
    SELECT e.source, e.event_id
    FROM webhook_event e LEFT JOIN limits l USING (source)
    WHERE e.settled_at IS NULL AND e.status = 'processing' AND e.lease_until <= clock_timestamp()
      AND e.attempts >= coalesce(l.attempts_max, $3)
    ORDER BY e.source, e.event_id
    LIMIT $4
    FOR UPDATE OF e SKIP LOCKED
)
UPDATE webhook_event e
SET status = 'dead_letter', settled_at = clock_timestamp(), lease_until = NULL,
    last_error = coalesce(e.last_error || '; ', '') || 'the last attempt ended without a word'
FROM exhausted x
WHERE e.source = x.source AND e.event_id = x.event_id
RETURNING e.source, e.event_id";

const REQUEUE: &str = "
WITH due AS (
    SELECT e.ctid
    FROM webhook_event e
    -- Since when it waits for a message, and when one was sent last. From the row itself and not from a second look at the table:
    -- after waiting for another sweep, only the row's own columns are looked at again.
    CROSS JOIN LATERAL (SELECT CASE e.status WHEN 'claimed' THEN e.received_at
                                             WHEN 'failed' THEN e.next_attempt_at
                                             ELSE e.lease_until END AS since) AS waits
    CROSS JOIN LATERAL (SELECT greatest(e.requeued_at, waits.since) AS sent) AS last
    WHERE e.settled_at IS NULL
      AND extract(epoch FROM clock_timestamp() - last.sent)
          >= greatest($1::float8, least($2::float8, extract(epoch FROM last.sent - waits.since)))
    ORDER BY e.received_at
    LIMIT $3
    FOR UPDATE OF e SKIP LOCKED
)
UPDATE webhook_event e
SET requeued_at = clock_timestamp()
FROM due d
-- Locked, so that it stays where it is; found by its place, not by its key: going down the index again for each row would be half
-- of a sweep, and grow with the ledger.
WHERE e.ctid = d.ctid
RETURNING e.source, e.event_id";

/// A row that was marked and not sent is due again at the next sweep.
const UNMARK: &str = "
WITH unsent AS (SELECT * FROM unnest($1::text[], $2::text[]) AS u (source, event_id))
UPDATE webhook_event e SET requeued_at = NULL FROM unsent u
WHERE e.source = u.source AND e.event_id = u.event_id AND e.settled_at IS NULL
RETURNING e.source";

const BACKLOG: &str = "
SELECT (SELECT count(*) FROM webhook_event WHERE settled_at IS NULL) AS unsettled,
       (SELECT greatest(0, extract(epoch FROM clock_timestamp() - min(received_at)) * 1000)::int8
        FROM webhook_event WHERE settled_at IS NULL) AS oldest_ms,
       (SELECT count(*) FROM webhook_event WHERE settled_at IS NOT NULL AND outcome IS NULL) AS dead_letters";

impl Ledger {
    /// Takes up to `rows_max` rows of each kind. `attempts_max` is per source; a source that is no longer configured has the
    /// default.
    pub async fn sweep(
        &mut self,
        attempts_max: &[(SourceName, u32)],
        attempts_max_default: u32,
        rows_max: u32,
    ) -> Result<Swept, LedgerError> {
        let dead_lettered = self.dead_letter_exhausted(attempts_max, attempts_max_default, rows_max).await?;
        let params = [
            (&RESEND_AFTER_S as _, Type::FLOAT8),
            (&RESEND_AFTER_S_MAX as _, Type::FLOAT8),
            (&i64::from(rows_max) as _, Type::INT8),
        ];
        let requeue = self.query("find rows to requeue", REQUEUE, &params).await?;
        Ok(Swept { requeue: requeue.rows.iter().map(key_of).collect::<Result<_, _>>()?, dead_lettered })
    }

    async fn dead_letter_exhausted(
        &mut self,
        attempts_max: &[(SourceName, u32)],
        attempts_max_default: u32,
        rows_max: u32,
    ) -> Result<Vec<EventRef>, LedgerError> {
        let as_int4 = |n: u32| i32::try_from(n).unwrap_or(i32::MAX);
        let sources: Vec<&str> = attempts_max.iter().map(|(source, _)| source.as_str()).collect();
        let limits: Vec<i32> = attempts_max.iter().map(|(_, n)| as_int4(*n)).collect();
        let params = [
            (&sources as _, Type::TEXT_ARRAY),
            (&limits as _, Type::INT4_ARRAY),
            (&as_int4(attempts_max_default) as _, Type::INT4),
            (&i64::from(rows_max) as _, Type::INT8),
        ];
        let answer = self.query("dead-letter exhausted leases", DEAD_LETTER_EXHAUSTED, &params).await?;
        answer.rows.iter().map(key_of).collect()
    }

    /// For rows that a sweep marked as sent and whose message the queue did not take.
    pub async fn unmark(&mut self, keys: &[EventRef]) -> Result<(), LedgerError> {
        let columns = Keys::of(keys.iter().map(|k| (&k.source, &k.event_id)));
        let params = [(&columns.sources as _, Type::TEXT_ARRAY), (&columns.event_ids as _, Type::TEXT_ARRAY)];
        self.query("unmark unsent rows", UNMARK, &params).await.map(|_| ())
    }

    pub async fn backlog(&mut self) -> Result<Backlog, LedgerError> {
        let answer = self.query("measure the backlog", BACKLOG, &[]).await?;
        let count = |column: &str| {
            let n: Option<i64> = answer.rows.first().and_then(|row| row.get(column));
            n.and_then(|n| u64::try_from(n).ok()).unwrap_or(0)
        };
        Ok(Backlog {
            unsettled: count("unsettled"),
            oldest_age: Duration::from_millis(count("oldest_ms")),
            dead_letters: count("dead_letters"),
        })
    }
}
