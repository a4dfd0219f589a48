//! The ends of a lease other than success, each in a commit of its own.

use hookledger_core::{EventRef, Settlement};
use tokio_postgres::types::Type;

use crate::error::LedgerError;
use crate::lease::Lease;
use crate::ledger::Ledger;
use crate::rows::Keys;

/// Longest `last_error` in characters: enough to tell what happened, too little to keep a payload in.
const LAST_ERROR_CHARS_MAX: usize = 1000;

/// Whether the lease still was ours.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fenced {
    Recorded,
    LeaseLost,
}

/// Without counting: the attempt was counted when it was leased.
const FAIL: &str = "
UPDATE webhook_event
SET status = CASE WHEN $5::float8 IS NULL THEN 'dead_letter' ELSE 'failed' END,
    next_attempt_at = clock_timestamp() + make_interval(secs => $5),
    settled_at = CASE WHEN $5 IS NULL THEN clock_timestamp() END,
    lease_until = NULL, last_error = $4
WHERE source = $1 AND event_id = $2 AND lease_token = $3 AND status = 'processing'
RETURNING source";

/// An attempt that was never begun does not count.
const RELEASE: &str = "
WITH unused AS (SELECT * FROM unnest($1::text[], $2::text[], $3::int8[]) AS u (source, event_id, lease_token))
UPDATE webhook_event e
SET status = CASE WHEN e.attempts = 1 THEN 'claimed' ELSE 'failed' END,
    next_attempt_at = CASE WHEN e.attempts > 1 THEN clock_timestamp() END,
    attempts = e.attempts - 1, lease_until = NULL
FROM unused u
WHERE e.source = u.source AND e.event_id = u.event_id AND e.lease_token = u.lease_token AND e.status = 'processing'
RETURNING e.source";

const BURY: &str = "
UPDATE webhook_event
SET status = 'dead_letter', settled_at = clock_timestamp(), lease_until = NULL, next_attempt_at = NULL,
    last_error = coalesce(last_error || '; ', '') || 'the last attempt ended without a word'
WHERE source = $1 AND event_id = $2 AND attempts >= $3
  AND CASE status WHEN 'processing' THEN lease_until <= clock_timestamp()
                  WHEN 'failed' THEN next_attempt_at <= clock_timestamp() ELSE false END
RETURNING source";

impl Ledger {
    pub async fn fail(&mut self, lease: Lease, settlement: Settlement, error: &str) -> Result<Fenced, LedgerError> {
        let wait_s: Option<f64> = match settlement {
            Settlement::RetryIn(wait) => Some(wait.as_secs_f64()),
            Settlement::DeadLetter => None,
        };
        let error: String = error.chars().filter(|c| *c != '\0').take(LAST_ERROR_CHARS_MAX).collect();
        let params = [
            (&lease.key.source.as_str() as _, Type::TEXT),
            (&lease.key.event_id.as_str() as _, Type::TEXT),
            (&lease.token as _, Type::INT8),
            (&error as _, Type::TEXT),
            (&wait_s as _, Type::FLOAT8),
        ];
        let answer = self.query("record a failure", FAIL, &params).await?;
        // A first try that took effect is why a second finds nothing.
        if answer.rows.is_empty() && !answer.second_try { Ok(Fenced::LeaseLost) } else { Ok(Fenced::Recorded) }
    }

    /// Gives leases back that were not used, as when the function's time runs out before their turn.
    pub async fn release(&mut self, leases: Vec<Lease>) -> Result<(), LedgerError> {
        let keys = Keys::of(leases.iter().map(|lease| (&lease.key.source, &lease.key.event_id)));
        let tokens: Vec<i64> = leases.iter().map(|lease| lease.token).collect();
        let params = [
            (&keys.sources as _, Type::TEXT_ARRAY),
            (&keys.event_ids as _, Type::TEXT_ARRAY),
            (&tokens as _, Type::INT8_ARRAY),
        ];
        self.query("release leases", RELEASE, &params).await.map(|_| ())
    }

    /// Dead-letters an event whose last attempt was leased and never came back.
    pub async fn bury(&mut self, key: &EventRef, attempts_max: u32) -> Result<Fenced, LedgerError> {
        let attempts_max = i32::try_from(attempts_max).unwrap_or(i32::MAX);
        let params = [
            (&key.source.as_str() as _, Type::TEXT),
            (&key.event_id.as_str() as _, Type::TEXT),
            (&attempts_max as _, Type::INT4),
        ];
        let answer = self.query("dead-letter an event", BURY, &params).await?;
        if answer.rows.is_empty() { Ok(Fenced::LeaseLost) } else { Ok(Fenced::Recorded) }
    }
}
