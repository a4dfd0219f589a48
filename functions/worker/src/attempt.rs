//! Leased events in one transaction: all of them are settled, or nothing has happened.

use std::time::Duration;

use hookledger_core::HandlerError;
use hookledger_ledger::{Done, Lease, LedgerError, NotSettled, Unsettled};
use tokio::time::timeout;
use tokio_postgres::error::SqlState;

use crate::apply::{Applied, apply_all};
use crate::batch::Worker;

/// How long the handlers of one transaction may take. Twice this, with what is around it, fits the function's time.
const HANDLER_TIMEOUT: Duration = Duration::from_secs(10);

/// An event that is settled, and how.
pub(crate) struct Settled {
    pub(crate) done: Done,
    pub(crate) applied: Applied,
}

pub(crate) struct Failed {
    /// Still ours, as far as we know.
    pub(crate) leases: Vec<Lease>,
    pub(crate) why: Why,
}

pub(crate) enum Why {
    /// Nothing was committed.
    Handler(HandlerError),
    LeaseLost,
    /// The connection broke at the commit.
    CommitUnknown(LedgerError),
}

impl From<NotSettled> for Why {
    fn from(why: NotSettled) -> Self {
        match why {
            NotSettled::LeaseLost => Self::LeaseLost,
            NotSettled::CommitUnknown(error) => Self::CommitUnknown(error),
            NotSettled::Refused(error) => Self::Handler(error.into()),
        }
    }
}

impl Worker {
    pub(crate) async fn attempt(&mut self, leases: Vec<Lease>) -> Result<Vec<Settled>, Failed> {
        let leases = match self.attempt_in_time(leases).await {
            Ok(attempted) => return attempted,
            Err(leases) => leases,
        };
        // The statement that never came back would hold up the next one on this connection.
        self.ledger.disconnect();
        let error = HandlerError::retryable(format!("no end after {} s", HANDLER_TIMEOUT.as_secs()));
        Err(Failed { leases, why: Why::Handler(error) })
    }

    /// An error if the time is up.
    async fn attempt_in_time(&mut self, leases: Vec<Lease>) -> Result<Result<Vec<Settled>, Failed>, Vec<Lease>> {
        let applied = apply_all(&mut self.ledger, self.routes, &self.sources, &self.https, &leases);
        Ok(match timeout(HANDLER_TIMEOUT, applied).await {
            Ok(Ok((work, applied))) => {
                let outcomes = applied.iter().map(|applied| applied.outcome);
                match work.settle(leases.into_iter().zip(outcomes).collect()).await {
                    Ok(done) => Ok(done.into_iter().zip(applied).map(|(done, applied)| Settled { done, applied }).collect()),
                    Err(Unsettled { leases, why }) => Err(Failed { leases, why: why.into() }),
                }
            }
            Ok(Err(error)) => Err(Failed { leases, why: Why::Handler(error) }),
            Err(_) => return Err(leases),
        })
    }
}

/// Whether two transactions were in each other's way.
pub(crate) fn is_contention(reason: &(dyn std::error::Error + 'static)) -> bool {
    let mut errors = std::iter::successors(Some(reason), |error| error.source());
    errors.any(|error| {
        let code = error.downcast_ref::<tokio_postgres::Error>().and_then(tokio_postgres::Error::code);
        code == Some(&SqlState::T_R_DEADLOCK_DETECTED) || code == Some(&SqlState::T_R_SERIALIZATION_FAILURE)
    })
}
