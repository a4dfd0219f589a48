//! The one transaction in which business rows, version guard and ledger rows commit together.

use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::join;
use hookledger_core::{EventRef, Outcome};
use tokio::time::{Instant, timeout_at};
use tokio_postgres::Row;
use tokio_postgres::types::Type;

use crate::error::{LedgerError, connection_is_lost};
use crate::lease::Lease;
use crate::ledger::{Ledger, Param};
use crate::rows::Keys;
use crate::transaction::Transaction;

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

/// The fence is in `webhook_settle` (`migrations/V1__ledger.sql`).
pub(crate) const SETTLE: &str = "SELECT lag_ms FROM webhook_settle($1::text[], $2::text[], $3::int8[], $4::text[])";

const BEGIN: &str = "begin a transaction";

/// What `webhook_settle` raises where a lease was lost.
const LEASE_LOST: &str = "LL001";

impl Ledger {
    /// For work that is not guarded.
    pub async fn begin(&mut self) -> Result<Work<'_>, LedgerError> {
        let deadline = Instant::now() + self.answer_within();
        let work = self.unbegun(deadline).await?;
        match timeout_at(deadline, work.transaction.begin()).await {
            Ok(begun) => begun.map_err(not_begun)?,
            Err(_) => return Err(LedgerError::NoAnswer { operation: BEGIN }),
        }
        Ok(work)
    }

    /// Of which nothing was sent yet.
    pub(crate) async fn unbegun(&mut self, deadline: Instant) -> Result<Work<'_>, LedgerError> {
        Ok(Work { transaction: Transaction::new(self.client(BEGIN, deadline).await?) })
    }
}

pub(crate) fn not_begun(source: tokio_postgres::Error) -> LedgerError {
    LedgerError::Query { operation: BEGIN, source }
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

    /// Settles every lease and commits, or does nothing of it. One round trip.
    pub async fn settle(self, done: Vec<(Lease, Outcome)>) -> Result<Vec<Done>, Unsettled> {
        match self.try_settle(&done).await {
            Ok(lags) => {
                Ok(done.into_iter().zip(lags).map(|((lease, outcome), lag)| Done { key: lease.key, outcome, lag }).collect())
            }
            Err(why) => Err(Unsettled { leases: done.into_iter().map(|(lease, _)| lease).collect(), why }),
        }
    }

    async fn try_settle(mut self, done: &[(Lease, Outcome)]) -> Result<Vec<Duration>, NotSettled> {
        let keys = Keys::of(done.iter().map(|(lease, _)| (&lease.key.source, &lease.key.event_id)));
        let tokens: Vec<i64> = done.iter().map(|(lease, _)| lease.token).collect();
        let outcomes: Vec<&str> = done.iter().map(|(_, outcome)| outcome.as_str()).collect();
        let params = [
            (&keys.sources as _, Type::TEXT_ARRAY),
            (&keys.event_ids as _, Type::TEXT_ARRAY),
            (&tokens as _, Type::INT8_ARRAY),
            (&outcomes as _, Type::TEXT_ARRAY),
        ];
        let (settled, committed) = {
            let mut settle = Box::pin(self.transaction.query_typed(SETTLE, &params));
            // Sent by this, or refused, and then no COMMIT may follow.
            let at_once = settle.as_mut().now_or_never();
            let commit = self.transaction.batch_execute("COMMIT");
            match at_once {
                Some(Err(source)) => {
                    return Err(NotSettled::Refused(LedgerError::Query { operation: "settle events", source }));
                }
                // A runtime of several threads can have the answer before this one has looked up.
                Some(Ok(rows)) => (Ok(rows), commit.await),
                // Not waiting for the answer: where it is an error, the server makes a ROLLBACK of the COMMIT behind it.
                None => join(settle, commit).await,
            }
        };
        self.transaction.has_ended();
        let rows = settled.map_err(unsettled)?;
        committed.map_err(uncommitted)?;
        Ok(rows.iter().map(|row| Duration::from_millis(u64::try_from(row.get::<_, i64>("lag_ms")).unwrap_or(0))).collect())
    }
}

/// The COMMIT had been sent, so without the server's word for it nothing is known.
fn unsettled(source: tokio_postgres::Error) -> NotSettled {
    match source.as_db_error().map(|error| error.code().code()) {
        Some(LEASE_LOST) => NotSettled::LeaseLost,
        Some(_) => NotSettled::Refused(LedgerError::Query { operation: "settle events", source }),
        None => NotSettled::CommitUnknown(LedgerError::Query { operation: "settle events", source }),
    }
}

fn uncommitted(source: tokio_postgres::Error) -> NotSettled {
    let lost = connection_is_lost(&source);
    let error = LedgerError::Query { operation: "commit", source };
    if lost { NotSettled::CommitUnknown(error) } else { NotSettled::Refused(error) }
}
