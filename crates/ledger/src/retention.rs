//! How long things are kept. Payloads go by whole partitions; ledger rows, which are the deduplication keys, stay for ever
//! unless asked otherwise.

use tokio_postgres::types::Type;

use crate::error::LedgerError;
use crate::ledger::Ledger;

/// Days. The longest that a provider can still replay an event by itself: Chargebee lists events for 90 days
/// (its API's events page); Stripe resends for 30. A key pruned before that would let the replay be processed again.
pub const LEDGER_RETENTION_DAYS_MIN: u32 = 90;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RetentionPolicy {
    payload_days: u32,
    ledger_days: Option<u32>,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum UnsafeRetention {
    #[error("payloads must be kept for at least one day")]
    Payload,
    #[error("ledger rows must be kept for at least {LEDGER_RETENTION_DAYS_MIN} days: providers replay events that old")]
    Ledger,
}

impl RetentionPolicy {
    /// `ledger_days: None` keeps ledger rows for ever.
    pub fn new(payload_days: u32, ledger_days: Option<u32>) -> Result<Self, UnsafeRetention> {
        if payload_days == 0 {
            return Err(UnsafeRetention::Payload);
        }
        match ledger_days {
            Some(days) if days < LEDGER_RETENTION_DAYS_MIN => Err(UnsafeRetention::Ledger),
            _ => Ok(Self { payload_days, ledger_days }),
        }
    }
}

#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Pruned {
    pub partitions_dropped: Vec<String>,
    /// Past their time, and kept because a row in them is not settled.
    pub partitions_held: Vec<String>,
    pub rows: u64,
}

const ADD_MONTHS: &str = "
SELECT webhook_payload_add_month((now() AT TIME ZONE 'UTC' + make_interval(months => m))::date) FROM generate_series(0, 2) AS m";

const DROP_PAYLOADS: &str = "SELECT part, dropped FROM webhook_payload_drop_before(now() - make_interval(days => $1))";

/// Settled rows only, in small batches, oldest blocks first; what is locked waits for the next run.
const PRUNE: &str = "
WITH old AS (
    SELECT source, event_id FROM webhook_event
    WHERE received_at < now() - make_interval(days => $1) AND status = 'settled'
      AND settled_at < now() - make_interval(days => $1)
    LIMIT $2
    FOR UPDATE SKIP LOCKED
)
DELETE FROM webhook_event e USING old o WHERE e.source = o.source AND e.event_id = o.event_id
RETURNING e.source";

impl Ledger {
    /// Makes the payload partitions of this month and the next two.
    pub async fn add_payload_partitions(&mut self) -> Result<(), LedgerError> {
        self.query("add payload partitions", ADD_MONTHS, &[]).await.map(|_| ())
    }

    /// Drops payloads past their time, and up to `rows_max` ledger rows.
    pub async fn prune(&mut self, policy: RetentionPolicy, rows_max: u32) -> Result<Pruned, LedgerError> {
        let mut pruned = Pruned::default();
        let days = |n: u32| i32::try_from(n).unwrap_or(i32::MAX);
        let payload_days = days(policy.payload_days);
        for row in self.query("drop payload partitions", DROP_PAYLOADS, &[(&payload_days as _, Type::INT4)]).await?.rows {
            let part = row.get("part");
            if row.get("dropped") {
                pruned.partitions_dropped.push(part);
            } else {
                pruned.partitions_held.push(part);
            }
        }
        if let Some(ledger_days) = policy.ledger_days {
            let params = [(&days(ledger_days) as _, Type::INT4), (&i64::from(rows_max) as _, Type::INT8)];
            pruned.rows = self.query("prune ledger rows", PRUNE, &params).await?.rows.len() as u64;
        }
        Ok(pruned)
    }
}
