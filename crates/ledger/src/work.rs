//! The one transaction in which business rows, version guard and ledger rows commit together.

use std::time::Duration;

use hookledger_core::{EventRef, Outcome};
use tokio_postgres::types::Type;
use tokio_postgres::{Row, Transaction};

use crate::connect::begin;
use crate::error::{LedgerError, connection_is_lost};
use crate::lease::Lease;
use crate::ledger::{Ledger, Param};
use crate::rows::Keys;

/// Open work. Dropping it rolls everything back.
pub struct Work<'a> {
    transaction: Transaction<'a>,
}

/// Why nothing was committed, with the leases back.
#[derive(Debug)]
pub struct Unsettled {
    pub leases: Vec<Lease>,
    pub why: NotSettled,
}

#[derive(Debug, thiserror::Error)]
pub enum NotSettled {
    /// At least one lease has run out and another worker has taken the event, or has settled it.
    #[error("a lease was lost")]
    LeaseLost,
    /// Nothing was committed.
    #[error(transparent)]
    Refused(LedgerError),
    /// The connection broke after the commit was sent: the row tells whether it took effect.
    #[error(transparent)]
    CommitUnknown(LedgerError),
}

/// An event that is done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Done {
    pub key: EventRef,
    pub outcome: Outcome,
    /// From its first receipt to its settlement.
    pub lag: Duration,
}

pub(crate) const SETTLE: &str = "
WITH spent AS (
    SELECT * FROM unnest($1::text[], $2::text[], $3::int8[], $4::text[]) AS s (source, event_id, lease_token, outcome)
)
UPDATE webhook_event e
SET status = 'settled', outcome = s.outcome, settled_at = clock_timestamp(), lease_until = NULL, last_error = NULL
FROM spent s
-- The fence: a token that has been passed on settles nothing.
WHERE e.source = s.source AND e.event_id = s.event_id AND e.lease_token = s.lease_token AND e.status = 'processing'
RETURNING e.source, e.event_id, greatest(0, extract(epoch FROM e.settled_at - e.received_at) * 1000)::int8 AS lag_ms";

impl Ledger {
    pub async fn begin(&mut self) -> Result<Work<'_>, LedgerError> {
        let operation = "begin a transaction";
        let deadline = tokio::time::Instant::now() + self.answer_within();
        let client = self.client(operation, deadline).await?;
        match tokio::time::timeout_at(deadline, begin(client)).await {
            Ok(Ok(transaction)) => Ok(Work { transaction }),
            Ok(Err(source)) => Err(LedgerError::Query { operation, source }),
            Err(_) => Err(LedgerError::NoAnswer { operation }),
        }
    }
}

impl<'a> Work<'a> {
    /// For a handler's own statements.
    pub fn transaction(&self) -> &Transaction<'a> {
        &self.transaction
    }

    pub(crate) async fn query(
        &self,
        operation: &'static str,
        sql: &str,
        params: &[Param<'_>],
    ) -> Result<Vec<Row>, LedgerError> {
        self.transaction.query_typed(sql, params).await.map_err(|source| LedgerError::Query { operation, source })
    }

    /// Settles every lease and commits, or does nothing of it.
    pub async fn settle(self, done: Vec<(Lease, Outcome)>) -> Result<Vec<Done>, Unsettled> {
        match self.try_settle(&done).await {
            Ok(lags) => {
                Ok(done.into_iter().zip(lags).map(|((lease, outcome), lag)| Done { key: lease.key, outcome, lag }).collect())
            }
            Err(why) => Err(Unsettled { leases: done.into_iter().map(|(lease, _)| lease).collect(), why }),
        }
    }

    async fn try_settle(self, done: &[(Lease, Outcome)]) -> Result<Vec<Duration>, NotSettled> {
        let keys = Keys::of(done.iter().map(|(lease, _)| (&lease.key.source, &lease.key.event_id)));
        let tokens: Vec<i64> = done.iter().map(|(lease, _)| lease.token).collect();
        let outcomes: Vec<&str> = done.iter().map(|(_, outcome)| outcome.as_str()).collect();
        let params = [
            (&keys.sources as _, Type::TEXT_ARRAY),
            (&keys.event_ids as _, Type::TEXT_ARRAY),
            (&tokens as _, Type::INT8_ARRAY),
            (&outcomes as _, Type::TEXT_ARRAY),
        ];
        let rows = self.query("settle events", SETTLE, &params).await.map_err(NotSettled::Refused)?;
        if rows.len() != done.len() {
            // Dropped here, and so rolled back: the lost lease's handler must not have written anything.
            return Err(NotSettled::LeaseLost);
        }
        self.transaction.commit().await.map_err(|source| {
            let lost = connection_is_lost(&source);
            let error = LedgerError::Query { operation: "commit", source };
            if lost { NotSettled::CommitUnknown(error) } else { NotSettled::Refused(error) }
        })?;
        let lag_of = |lease: &Lease| {
            let row = rows.iter().find(|row| row.get::<_, &str>("event_id") == lease.key.event_id.as_str());
            let lag_ms: i64 = row.map_or(0, |row| row.get("lag_ms"));
            Duration::from_millis(u64::try_from(lag_ms).unwrap_or(0))
        };
        Ok(done.iter().map(|(lease, _)| lag_of(lease)).collect())
    }
}
