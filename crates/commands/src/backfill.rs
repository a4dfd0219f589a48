//! Teaching the version guard from a business table, batch by batch.

use hookledger_ledger::{BackfillBatch, BackfillFrom};
use serde::{Deserialize, Serialize};

use crate::place::Place;
use crate::{Command, CommandError};

#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Backfill {
    pub from: BackfillFrom,
    pub after: Option<String>,
    pub writes: bool,
    /// Who asks.
    pub by: String,
}

impl Command for Backfill {
    const NAME: &'static str = "object.backfill";
    type Answer = BackfillBatch;
    async fn run(self, place: &mut Place) -> Result<BackfillBatch, CommandError> {
        let batch = place.ledger.backfill(&self.from, self.after.as_deref(), self.writes).await?;
        if self.writes && batch.unguarded + batch.behind > 0 {
            let (table, kind) = (&self.from.table, &self.from.kind);
            let detail = format!(
                "asked for by {}: {kind} from {table}, {} objects new to the guard, {} raised",
                self.by, batch.unguarded, batch.behind
            );
            place.ledger.note("backfilled", &detail).await?;
        }
        Ok(batch)
    }
}
