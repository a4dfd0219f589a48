//! What takes data away.

use hookledger_ledger::{PurgeBatch, PurgeFilter, PurgePosition, RetentionPolicy};
use serde::{Deserialize, Serialize};

use crate::place::Place;
use crate::{Command, CommandError};

/// Ledger rows that one [`Prune`] deletes at most.
const PRUNED_MAX: u32 = 10_000;

/// Erases a customer's payloads, or counts them.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Purge {
    pub filter: PurgeFilter,
    pub deletes: bool,
    /// Who asks.
    pub by: String,
    pub after: Option<PurgePosition>,
}

/// Drops what is past retention, as the sweeper does once a day.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Prune {
    pub payload_days: u32,
    /// `None` keeps ledger rows for ever.
    pub ledger_days: Option<u32>,
    /// Who asks.
    pub by: String,
}

#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct PrunedBatch {
    pub partitions_dropped: Vec<String>,
    /// Past their time, and kept because an event in them is not settled.
    pub partitions_held: Vec<String>,
    pub rows: u64,
    /// Whether there may be more rows to delete.
    pub more: bool,
}

impl Command for Purge {
    const NAME: &'static str = "events.purge";
    type Answer = PurgeBatch;
    async fn run(self, place: &mut Place) -> Result<PurgeBatch, CommandError> {
        let detail = format!("asked for by {}", self.by);
        Ok(place.ledger.purge(&self.filter, self.after.as_ref(), self.deletes, &detail).await?)
    }
}

impl Command for Prune {
    const NAME: &'static str = "prune";
    type Answer = PrunedBatch;
    async fn run(self, place: &mut Place) -> Result<PrunedBatch, CommandError> {
        let policy = RetentionPolicy::new(self.payload_days, self.ledger_days)?;
        let pruned = place.ledger.prune(policy, PRUNED_MAX).await?;
        if pruned.rows > 0 || !pruned.partitions_dropped.is_empty() {
            let detail =
                format!("asked for by {}: partitions {:?}, ledger rows {}", self.by, pruned.partitions_dropped, pruned.rows);
            place.ledger.note("pruned", &detail).await?;
        }
        Ok(PrunedBatch {
            more: pruned.rows == u64::from(PRUNED_MAX),
            partitions_dropped: pruned.partitions_dropped,
            partitions_held: pruned.partitions_held,
            rows: pruned.rows,
        })
    }
}
