//! Leasing: the right to process an event for a while.
//!
//! A lease is one commit of its own, before anything is done, so that a crash, a panic, an out-of-memory kill and a timeout all
//! count as an attempt. Its token fences everything after it.

use hookledger_core::{Event, EventRef, Status};
use tokio_postgres::Row;
use tokio_postgres::types::Type;

use crate::error::LedgerError;
use crate::ledger::Ledger;
use crate::rows::{Keys, event_of};

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

/// What is leased, and how, is in `webhook_lease` (`migrations/V1__ledger.sql`).
pub(crate) const LEASE: &str = "
SELECT token, attempt, found_status, wait_s, event_type, account, object_kind, object_id, version, lifecycle, via, received_at_us,
       headers, body
FROM webhook_lease($1::text[], $2::text[], make_interval(secs => $3::float8), $4::int4, $5::bool)";

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
        keys.iter().zip(&answer.rows).map(|(key, row)| grant(key, row, attempts_max, retries)).collect()
    }
}

fn grant(key: &EventRef, row: &Row, attempts_max: i32, retries: bool) -> Result<Grant, LedgerError> {
    if let Some(token) = row.get::<_, Option<i64>>("token") {
        let attempt = u32::try_from(row.get::<_, i32>("attempt")).unwrap_or(u32::MAX);
        return Ok(Grant::Leased(Lease { key: key.clone(), attempt, event: event_of(key, row)?, token }));
    }
    let Some(status) = row.get::<_, Option<&str>>("found_status") else { return Ok(Grant::Unknown) };
    let wait_s = row.get::<_, Option<i32>>("wait_s").unwrap_or(0);
    let attempts: i32 = row.get("attempt");
    let wait = u32::try_from(wait_s).unwrap_or(0);
    Ok(match status.parse()? {
        Status::Settled | Status::DeadLetter => Grant::Settled,
        Status::Processing if wait_s > 0 => Grant::HeldElsewhere { for_s: wait },
        Status::Failed if wait_s > 0 => Grant::NotDue { in_s: wait },
        Status::Claimed | Status::Processing | Status::Failed if attempts > 0 && !retries => Grant::RetryAlone,
        Status::Processing | Status::Failed if attempts >= attempts_max => Grant::Exhausted,
        // It was locked, and is as if it were free by now: somebody is at it.
        Status::Claimed | Status::Processing | Status::Failed => Grant::HeldElsewhere { for_s: 1 },
    })
}
